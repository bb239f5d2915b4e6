/** Replicas are whole and fit in 32 bits, as the API's field does. */

/** The most that the API server takes. */
const MAX_REPLICAS = 2 ** 31 - 1;

/** Rounds up; never -0. */
export function toReplicas(exact: number): number {
  return exact > MAX_REPLICAS ? MAX_REPLICAS : Math.ceil(exact) + 0;
}
