/**
 * The four amounts of a container that an in-place resize may change, as integers:
 * millicores for cpu, bytes for memory. `null` = the request or limit is absent.
 */

export type Resource = "cpu" | "memory";
export type Side = "requests" | "limits";
export type SideKey = `${Resource}.${Side}`;
export type Resources = Readonly<Record<SideKey, number | null>>;

export const SIDE_KEYS: readonly SideKey[] = ["cpu.requests", "cpu.limits", "memory.requests", "memory.limits"];

export const NO_RESOURCES: Resources = {
  "cpu.requests": null,
  "cpu.limits": null,
  "memory.requests": null,
  "memory.limits": null,
};

/** The smallest step a resize takes: 1 millicore, 1 MiB (contract C33). */
export const UNIT: Readonly<Record<Resource, number>> = { cpu: 1, memory: 1024 * 1024 };

export function resourceOf(key: SideKey): Resource {
  return key.startsWith("cpu") ? "cpu" : "memory";
}

export function sideOf(key: SideKey): Side {
  return key.endsWith("requests") ? "requests" : "limits";
}

export function isSameSize(a: Resources, b: Resources): boolean {
  return SIDE_KEYS.every((key) => a[key] === b[key]);
}
