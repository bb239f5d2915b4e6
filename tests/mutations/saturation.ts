/** Slips in demand that a limit hides (L20 to L23). */
import type { Mutations } from "../../tools/mutation.ts";

export const SATURATION: Mutations = {};
