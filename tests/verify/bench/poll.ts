/**
 * What one node's poll costs beyond JSON.parse: bytes of a summary of 110 pods x 2 containers in, decisions out, parse
 * included, as the daemon does it: evaluations whose verdict holds are quiet. Both sides run in turns in one process; the
 * ratio of medians counts, not the milliseconds.
 */
import type { TrackedPod } from "../../../lib/daemon/cluster/facts.ts";
import { PodController, PodStates } from "../../../lib/daemon/pods/controller.ts";
import { SummaryReader, SummaryScanner } from "../../../lib/usage/kubelet/scan_summary.ts";
import { container, MI, pod, policy, resizeEntry, resources, side } from "../../support/builders.ts";
import { NO_SURROUNDINGS } from "../../support/evaluations.ts";
import { toUid } from "./cluster.ts";
import { writeSummary } from "./summary.ts";

const PODS = 110;
const POLL_MS = 15_000;
const COOLDOWN_MS = 24 * 3_600_000;
const START = Date.UTC(2026, 10, 20, 12);

export interface PollCost {
  readonly bytes: number;
  readonly parseMs: number;
  /** Bytes in, rows of numbers out. */
  readonly scanMs: number;
  readonly pollMs: number;
  /** The poll's time in that of JSON.parse, and the scan's. */
  readonly ratio: number;
  readonly scanRatio: number;
  readonly evaluations: number;
  /** Of all evaluations. */
  readonly quietShare: number;
}

export function measurePoll(rounds: number): PollCost {
  const encoder = new TextEncoder();
  const bodies = Array.from(
    { length: rounds },
    (_, round) => encoder.encode(writeSummary({ pods: PODS, container: "app", round, at: START + round * POLL_MS })),
  );
  const decoder = new TextDecoder();
  const reader = new SummaryReader(new SummaryScanner());
  const pods = Array.from({ length: PODS }, (_, index) => newPod(index));
  const tracked = new Set(pods.map(({ uid }) => uid));
  // All four sides, as in the contract's example policy.
  const keys = ["cpu.requests", "cpu.limits", "memory.requests", "memory.limits"] as const;
  const sides = keys.map((key) => side(key, { cooldownMs: COOLDOWN_MS }));
  const autoscalers = [policy({ containerName: "app", pollIntervalMs: POLL_MS, cooldownMs: COOLDOWN_MS, sides })];
  const all = pods.map((pod): TrackedPod => ({ pod, autoscalers }));
  const capacity = { cpuMillicores: 16_000, memoryBytes: 64 * 1024 * MI };
  let [now, evaluations, quiet] = [START, 0, 0];
  const controller = new PodController({
    clock: { now: () => now, steady: () => now, monotonic: () => performance.now() },
    states: new PodStates(),
    acquirePermit: () => Promise.resolve(null),
    actuate: () => Promise.resolve({ kind: "withdrawn" }),
    report: Object.assign(() => void evaluations++, { onQuiet: () => void (evaluations++, quiet++) }),
    findSiblings: () => null,
    getContext: () => NOTHING,
    dryRun: true,
    canDecide: () => true,
    findCurrent: (tracked) => tracked,
    surroundings: NO_SURROUNDINGS,
    onError: (_, error) => {
      throw error;
    },
  });

  function scan(body: Uint8Array) {
    const summary = reader.read(body, { tracked });
    if (summary.kind !== "summary") throw new Error(summary.message);
    const { pods, rows } = summary;
    if (rows === undefined) throw new Error("The scanner gave up");
    return { pods, rows };
  }

  function poll(round: number, body: Uint8Array): void {
    const summary = scan(body);
    now = START + round * POLL_MS;
    controller.evaluate(all, ({ pod }) => {
      const usage = summary.pods.get(pod.uid);
      if (usage === undefined) throw new Error(`Pod "${pod.uid}" is missing`);
      return { kind: "usage", usage, clockOffsetMs: 0, capacity };
    }, { rows: summary.rows, clockOffsetMs: 0, capacity });
    summary.pods.clear();
  }

  const times: { parseMs: number; scanMs: number; pollMs: number }[] = [];
  for (const [round, body] of bodies.entries()) {
    const atStart = performance.now();
    JSON.parse(decoder.decode(body));
    const atParsed = performance.now();
    scan(body).pods.clear();
    const atScanned = performance.now();
    poll(round, body);
    const pollMs = performance.now() - atScanned;
    times.push({ parseMs: atParsed - atStart, scanMs: atScanned - atParsed, pollMs });
  }
  // The first half warms up the compiler. Each round has its own ratio, so that a busy moment spoils only its own.
  const warm = times.slice(rounds / 2);
  return {
    bytes: bodies[0]?.length ?? 0,
    parseMs: median(warm.map(({ parseMs }) => parseMs)),
    scanMs: median(warm.map(({ scanMs }) => scanMs)),
    pollMs: median(warm.map(({ pollMs }) => pollMs)),
    ratio: median(warm.map(({ parseMs, pollMs }) => pollMs / parseMs)),
    scanRatio: median(warm.map(({ parseMs, scanMs }) => scanMs / parseMs)),
    evaluations,
    quietShare: quiet / evaluations,
  };
}

const NOTHING = {};

function newPod(index: number) {
  const size = resources({
    "cpu.requests": 100,
    "cpu.limits": 120,
    "memory.requests": 128 * MI,
    "memory.limits": 160 * MI,
  });
  const names = ["app", "proxy"] as const;
  return pod({
    uid: toUid(index),
    name: `pod-${index}`,
    containers: names.map((name) => container({ name, spec: size, reported: size })),
    resizes: [resizeEntry("podfit.app", START - 60_000)],
  });
}

function median(figures: readonly number[]): number {
  return [...figures].sort((a, b) => a - b)[Math.floor(figures.length / 2)] ?? NaN;
}
