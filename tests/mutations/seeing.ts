/** Slips in seeing sooner (L60, L61). */
import type { Mutations } from "../../tools/mutation.ts";

export const SEEING: Mutations = {};
