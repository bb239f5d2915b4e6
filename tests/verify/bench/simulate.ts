/** How many decisions a second one core comes to in a simulation: the fold, the model of the node and the scores. */
import { cpuUsage } from "node:process";
import { simulate } from "../../../lib/simulate/simulate.ts";
import type { Load } from "../../../lib/simulate/load.ts";
import { container, MI, pod, resources } from "../../support/builders.ts";
import { autoscalerOf } from "../../simulate/runs.ts";

export interface SimulationSpeed {
  readonly policy: string;
  /** Half of the evaluations or more find a proposal that waits: each is sized, and taken through the gates, anew. */
  readonly isWaiting: boolean;
  readonly decisions: number;
  /** By the time of the CPU that the fastest of the runs took, collecting garbage included: others use the machine, too. */
  readonly decisionsPerSecond: number;
}

const SECONDS = 14 * 86_400;
const RUNS = 5;

/** 14 days of a pod whose load goes up and down with the day and is uneven within each minute, under each policy. */
export function measureSimulations(): readonly SimulationSpeed[] {
  const load = newLoad();
  const size = resources({
    "cpu.requests": 500,
    "cpu.limits": 1000,
    "memory.requests": 256 * MI,
    "memory.limits": 512 * MI,
  });
  const facts = pod({ containers: [container({ spec: size })] });
  return POLICIES.map(({ policy, spec, isWaiting }) => {
    const options = {
      autoscalers: [autoscalerOf(spec)],
      pod: facts,
      loads: { main: load },
      seed: "1",
      seconds: SECONDS,
    };
    let [decisions, leastMs] = [0, Infinity];
    for (let run = 0; run < RUNS; run++) {
      const atStart = readCpuMs();
      ({ decisions } = simulate(options));
      leastMs = Math.min(leastMs, readCpuMs() - atStart);
    }
    return { policy, isWaiting, decisions, decisionsPerSecond: decisions / leastMs * 1000 };
  });
}

function readCpuMs(): number {
  const { user, system } = cpuUsage();
  return (user + system) / 1000;
}

function newLoad(): Load {
  const wanted = Array.from({ length: 86_400 }, (_, second) => ({
    cpuMillicores: 600 - 500 * Math.cos(second / 86_400 * 2 * Math.PI) + 40 * Math.sin(second / 7),
    workingSetBytes: 200 * MI,
  }));
  const none = { cpuMillicores: 0, workingSetBytes: 0 };
  return { seconds: SECONDS, at: (second) => wanted[second % wanted.length] ?? none };
}

const EXAMPLE = JSON.parse(Deno.readTextFileSync(new URL("../quality/policies/example.json", import.meta.url)));
const POLICIES = [
  { policy: "the profile balanced", spec: { profile: "balanced" }, isWaiting: false },
  { policy: "the document's example", spec: EXAMPLE, isWaiting: true },
];
