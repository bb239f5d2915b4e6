/** Slips in profiles and what people write (L50, L54). */
import type { Mutations } from "../../tools/mutation.ts";

export const PROFILES: Mutations = {};
