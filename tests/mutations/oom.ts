/** Slips in OOM kills and what follows from them (L10 to L14). */
import type { Mutations } from "../../tools/mutation.ts";

export const OOM: Mutations = {};
