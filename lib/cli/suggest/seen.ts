/** What was seen of loads: levels that policies are made of, and that reasons name. */
import type { Load } from "../../simulate/engine/load.ts";

/** Levels of one resource: the share of the seconds in which it was at most that, and the most. */
export interface Levels {
  readonly half: number;
  readonly most95: number;
  readonly most99: number;
  readonly max: number;
}

export interface Seen {
  /** Of all loads together. */
  readonly seconds: number;
  readonly pods: number;
  /** Millicores. */
  readonly cpu: Levels;
  /** Bytes. */
  readonly memory: Levels;
}

/** So many seconds are looked at, at equal distances. */
const MOST_READ = 200_000;

export function readSeen(loads: readonly Load[]): Seen {
  const seconds = loads.reduce((sum, load) => sum + load.seconds, 0);
  const stride = Math.max(1, Math.ceil(seconds / MOST_READ));
  const [cpu, memory]: [number[], number[]] = [[], []];
  for (const load of loads) {
    for (let second = 0; second <= load.seconds; second += stride) {
      const { cpuMillicores, workingSetBytes } = load.at(second);
      cpu.push(cpuMillicores);
      memory.push(workingSetBytes);
    }
  }
  return { seconds, pods: loads.length, cpu: toLevels(cpu), memory: toLevels(memory) };
}

function toLevels(amounts: number[]): Levels {
  const sorted = Float64Array.from(amounts).sort();
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  return { half: at(0.5), most95: at(0.95), most99: at(0.99), max: sorted.at(-1) ?? 0 };
}
