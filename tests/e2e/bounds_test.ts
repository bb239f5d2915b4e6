/**
 * Bounds on a real kubelet (C33): no action goes further than the smaller of step and stepPercent, nothing passes max
 * or min, and a side at its bound rests and says so.
 */
import { assert, assertEquals } from "#assert";
import { QUICK_TIMES } from "./support/autoscalers.ts";
import { applyManifests, type PodRef, setLoad, waitFor } from "./support/cluster.ts";
import { findPod, waitForActual } from "./support/pods.ts";
import { scenario } from "./support/needs.ts";
import { type Change, recordPod } from "./support/patches.ts";
import { type Podfit, startPodfit } from "./support/podfit.ts";
import { autoscaler, deployment } from "./support/workloads.ts";

const MI = 1024 ** 2;
/** The letter: memory may go down as soon as it is low. */
const TIMES = { ...QUICK_TIMES, scaleDown: { window: "0s" } };
const THRESHOLDS = { scaleUpThreshold: 80, scaleDownThreshold: 50, targetUtilization: 70 };

scenario("C33 C53 step, stepPercent, min and max hold at every action, up and back down", {
  needs: { images: "load", kubelet: "signed", pods: 2, freeMillicores: 400 },
  async run({ namespace }) {
    await applyManifests(namespace, [
      deployment("memory", { containers: [{ memoryMiB: 200, requests: { memory: "64Mi" } }] }),
      autoscaler("memory", {
        target: { kind: "deployment", name: "memory" },
        containerName: "main",
        policy: { ...TIMES, memory: { requests: THRESHOLDS } },
        bounds: { memory: { requests: { min: "48Mi", max: "120Mi", step: "40Mi", stepPercent: 50 } } },
      }),
      deployment("cpu", { containers: [{ cpuMillicores: 500, requests: { cpu: "100m" } }] }),
      autoscaler("cpu", {
        target: { kind: "deployment", name: "cpu" },
        containerName: "main",
        policy: { ...TIMES, cpu: { requests: THRESHOLDS } },
        bounds: { cpu: { requests: { min: "60m", max: "250m", step: "70m", stepPercent: 60 } } },
      }),
    ]);
    const [memory, cpu] = await Promise.all([findPod(namespace, "memory"), findPod(namespace, "cpu")]);
    await using memoryRecorder = await recordPod(memory);
    await using cpuRecorder = await recordPod(cpu);
    await using podfit = await startPodfit({ namespaces: [namespace] });

    await waitForActual(memory, "memory.requests", { fits: (bytes) => bytes === 120 * MI });
    await waitForActual(cpu, "cpu.requests", { fits: (millicores) => millicores === 250 });
    await Promise.all([
      assertRests(podfit, memory, "memory.requests stays at 120Mi: max leaves no room"),
      assertRests(podfit, cpu, "cpu.requests stays at 250m: max leaves no room"),
    ]);
    await Promise.all([setLoad(memory, { memoryMiB: 10 }), setLoad(cpu, { cpuMillicores: 0 })]);
    await waitForActual(memory, "memory.requests", { fits: (bytes) => bytes === 48 * MI });
    await waitForActual(cpu, "cpu.requests", { fits: (millicores) => millicores === 60 });
    await Promise.all([
      assertRests(podfit, memory, "memory.requests stays at 48Mi: min leaves no room"),
      assertRests(podfit, cpu, "cpu.requests stays at 60m: min leaves no room"),
    ]);

    // 50 % of 64Mi are less than 40Mi, 40Mi less than 50 % of 96Mi, and so on: what the document's rule gives.
    const steps = await memoryRecorder.changes("main", "memory.requests");
    assertEquals(steps.map(({ from, to }) => [toMi(from), toMi(to)]), [[64, 96], [96, 120], [120, 80], [80, 48]]);
    // A sample in which the load changes lies between: the path down is not known, its bounds are.
    const moves = await cpuRecorder.changes("main", "cpu.requests");
    assertEquals(moves.slice(0, 3).map(({ to }) => to), [160, 230, 250]);
    for (const change of moves) assertWithin(change, { min: 60, max: 250, step: 70, stepPercent: 60 });
    assertEquals(moves.at(-1)?.to, 60);
    await podfit.stop();
  },
});

interface Bounds {
  readonly min: number;
  readonly max: number;
  readonly step: number;
  readonly stepPercent: number;
}

function assertWithin({ from, to }: Change, { min, max, step, stepPercent }: Bounds): void {
  const [before, after] = [from ?? 0, to ?? 0];
  const cap = Math.min(step, before * stepPercent / 100);
  // Sizing rounds up to a whole unit.
  assert(Math.abs(after - before) < cap + 1, `${before} -> ${after} is a step of more than ${cap}`);
  assert(after >= min && after <= max, `${before} -> ${after} leaves ${min} to ${max}`);
}

/** It holds, and says at debug level alone which bound keeps it. */
async function assertRests(podfit: Podfit, pod: PodRef, why: string): Promise<void> {
  const decision = await waitFor(`pod "${pod.name}" to rest`, () => {
    const decided = podfit.decisions({ pod });
    const found = decided.find((decision) => decision.reason === "AtBound" && decision.why?.includes(why));
    if (found !== undefined) return Promise.resolve(found);
    throw new Error(`the last decision: ${JSON.stringify(decided.at(-1))}`);
  });
  assertEquals([decision.level, decision.action], ["DEBUG", null]);
}

function toMi(bytes: number | null): number {
  return (bytes ?? 0) / MI;
}
