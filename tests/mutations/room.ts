/** Slips in room, limits of the namespace and pairs (L30 to L35). */
import type { Mutations } from "../../tools/mutation.ts";

export const ROOM: Mutations = {};
