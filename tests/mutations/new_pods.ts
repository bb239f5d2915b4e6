/** Slips in new pods, recommendations and the condition Limited (L40, L51, L53). */
import type { Mutations } from "../../tools/mutation.ts";

export const NEW_PODS: Mutations = {};
