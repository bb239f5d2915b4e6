/** How two sizes of a container differ: the sides, and the words that events, log and status have for it. */
import { formatAmount } from "../units/quantity.ts";
import { resourceOf, type Resources, SIDE_KEYS, type SideKey } from "../units/resources.ts";

/** The sides in which they differ, in the order of SIDE_KEYS. */
export function listChanges(from: Resources, to: Resources): readonly SideKey[] {
  return from === to ? NO_CHANGES : SIDE_KEYS.filter((key) => from[key] !== to[key]);
}

/** Shared, as most sizes that are compared are one. */
const NO_CHANGES: readonly SideKey[] = [];

/** `cpu.requests 50m -> 100m, memory.limits 64Mi -> 96Mi` */
export function describeChange(from: Resources, to: Resources, keys: readonly SideKey[]): string {
  return keys.map((key) => `${key} ${formatSide(key, from[key])} -> ${formatSide(key, to[key])}`).join(", ");
}

/** The amount of a side as it stands in a pod's spec: `50m`, `96Mi`; `none` where the side is absent. */
export function formatSide(key: SideKey, amount: number | null): string {
  return amount === null ? "none" : formatAmount(amount, resourceOf(key));
}
