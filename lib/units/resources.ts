/** The four amounts of a container that an in-place resize may change: requests and limits of cpu and memory. */

export type Resource = "cpu" | "memory";
export type Side = "requests" | "limits";
/** One of the four amounts, e.g. `cpu.requests`. */
export type SideKey = `${Resource}.${Side}`;
/** A container's size: integer millicores for cpu, bytes for memory; `null` for an absent request or limit. */
export type Resources = Readonly<Record<SideKey, number | null>>;

/** All four, in the order in which they are listed everywhere. */
export const SIDE_KEYS: readonly SideKey[] = ["cpu.requests", "cpu.limits", "memory.requests", "memory.limits"];

/** The size of a container without requests and limits. */
export const NO_RESOURCES: Resources = {
  "cpu.requests": null,
  "cpu.limits": null,
  "memory.requests": null,
  "memory.limits": null,
};

/** The granularity of a resize: 1 millicore, 1 MiB in bytes (contract C33). */
export const UNIT: Readonly<Record<Resource, number>> = { cpu: 1, memory: 1024 * 1024 };

/** Gives the resource of a side: `cpu` of `cpu.requests`. */
export function resourceOf(key: SideKey): Resource {
  return key.startsWith("cpu") ? "cpu" : "memory";
}

/** Gives the half of a side without its resource: `requests` of `cpu.requests`. */
export function sideOf(key: SideKey): Side {
  return key.endsWith("requests") ? "requests" : "limits";
}

/** Gives the other side of its resource: `cpu.limits` of `cpu.requests`. */
export function partnerOf(key: SideKey): SideKey {
  return PARTNERS[key];
}

const PARTNERS: Readonly<Record<SideKey, SideKey>> = {
  "cpu.requests": "cpu.limits",
  "cpu.limits": "cpu.requests",
  "memory.requests": "memory.limits",
  "memory.limits": "memory.requests",
};

/** Says whether two sizes agree in all four amounts. */
export function isSameSize(a: Resources, b: Resources): boolean {
  return a === b || SIDE_KEYS.every((key) => a[key] === b[key]);
}

/** Amounts of cpu and memory: what is asked for, or left. */
export interface Amounts {
  readonly cpuMillicores: number;
  readonly memoryBytes: number;
}
