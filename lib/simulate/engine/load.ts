/** What containers want, whatever they are given: the loads that a simulation runs on. */

/** What one container wants in one second. */
export interface Wanted {
  readonly cpuMillicores: number;
  readonly workingSetBytes: number;
  /** Page cache as far as the memory limit lets it grow, bytes; none where it is left out. */
  readonly pageCacheBytes?: number;
}

/** The load of one container. */
export interface Load {
  /** How long it is; beyond it the last second goes on. */
  readonly seconds: number;
  /** What is wanted from that whole second since the start on, for a second. Never throws; the same for the same second. */
  at(second: number): Wanted;
}

/** The loads of a pod by container name. A container without one idles. */
export type Loads = Readonly<Record<string, Load>>;

/** What a container without a load uses: next to nothing. */
export const IDLE: Load = {
  seconds: 0,
  at: () => IDLE_USE,
};

const IDLE_USE: Wanted = Object.freeze({ cpuMillicores: 1, workingSetBytes: 4 * 2 ** 20 });

/** Own properties only: a container may be named `constructor`. */
export function findLoad(loads: Loads, container: string): Load {
  return Object.hasOwn(loads, container) ? loads[container] ?? IDLE : IDLE;
}

/** What one of several pods wants that share the CPU of a load; of memory each has all of it. */
export function toShare(wanted: Wanted, share: number): Wanted {
  return share === 1 ? wanted : { ...wanted, cpuMillicores: wanted.cpuMillicores * share };
}
