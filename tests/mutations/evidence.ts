/** Slips in scale-downs and their evidence (L1 to L7). */
import type { Mutations } from "../../tools/mutation.ts";

export const EVIDENCE: Mutations = {};
