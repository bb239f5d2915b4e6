/** For how many samples in a row a container has been short of what it wants: what is remembered of it (R84, R85). */
import type { Resource, SideKey } from "../../units/resources.ts";

/** Counts of samples in a row; plain JSON. */
export interface Shortage {
  /** Usage was at the limit in force. */
  readonly atLimit: Readonly<Record<Resource, number>>;
  /** CPU was at its limit, or measured as held back by it (L20). */
  readonly clipped: number;
  /** By request: a scale-up with a full streak was held by what does not pass by itself. */
  readonly held: Readonly<Partial<Record<SideKey, number>>>;
}

/** Shared, so that a container that lacks nothing costs no memory for it. */
export const NO_SHORTAGE: Shortage = Object.freeze({
  atLimit: Object.freeze({ cpu: 0, memory: 0 }),
  clipped: 0,
  held: Object.freeze({}),
});
