/** A summary as a kubelet 1.36 writes it under ?only_cpu_and_memory=true, with one space of indentation. */
import { formatTime } from "../../../lib/units/time.ts";
import { MI } from "../../support/builders.ts";
import { toUid } from "./cluster.ts";

export interface SummarySize {
  readonly pods: number;
  /** Name of each pod's tracked container; a second one, "proxy", stands beside it. */
  readonly container: string;
  /** Counters grow from round to round. */
  readonly round: number;
  readonly at: number;
}

export function writeSummary({ pods, container, round, at }: SummarySize): string {
  const time = formatTime(at);
  const startTime = formatTime(Date.UTC(2026, 10, 20));
  const list = Array.from({ length: pods }, (_, index) => ({
    podRef: { name: `pod-${index}`, namespace: "bench", uid: toUid(index) },
    startTime,
    containers: [container, "proxy"].map((name) => ({ name, startTime, ...newUsage(time, round, index) })),
    ...newUsage(time, round, index),
  }));
  const node = { nodeName: "node1", systemContainers: [], startTime, ...newUsage(time, round, pods) };
  return JSON.stringify({ node, pods: list }, null, 1);
}

function newUsage(time: string, round: number, index: number) {
  // As podfit leaves its pods: inside the thresholds. Each tenth has a wish that its cooldown blocks. Memory drifts.
  const usageNanoCores = index % 10 === 0 ? 95_000_000 : 68_000_000 + index * 10_000;
  const workingSetBytes = 90 * MI + (round * 4096) % MI;
  const memory = { usageBytes: workingSetBytes + 10 * MI, workingSetBytes, rssBytes: workingSetBytes - 5 * MI };
  return {
    cpu: { time, usageNanoCores, usageCoreNanoSeconds: (round + 1) * 15 * usageNanoCores, psi: newPressure(round) },
    memory: { time, availableBytes: 90304512, ...memory, pageFaults: 11630, majorPageFaults: 12, psi: newPressure(0) },
    swap: { time, swapAvailableBytes: 134217728, swapUsageBytes: 0 },
  };
}

function newPressure(round: number) {
  const times = { total: round * 1234567, avg10: 0.12 * (round % 3), avg60: 0.05, avg300: 0 };
  return { full: times, some: times };
}
