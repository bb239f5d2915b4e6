/**
 * What the scale bench prints: a line per size, the growth from each to the next, metrics-server beside it, and whether
 * the goals are met. Pure, so that what is committed as a result is what a test has seen.
 */

import type { Punctuality } from "./scale_world.ts";

export interface Cost {
  /** Within the window. */
  readonly cpuSeconds: number;
  /** Mean of the window. */
  readonly rssMiB: number;
  readonly peakMiB: number;
}

export interface SizeResult {
  readonly nodes: number;
  readonly pods: number;
  readonly windowSeconds: number;
  /** Of pods, in the window. */
  readonly resizes: number;
  /** The time before the window, since all pods are tracked. */
  readonly warmUp: {
    readonly seconds: number;
    readonly podfit: Cost;
    readonly metricsServer: Cost | null;
  };
  /** Of the event loop, the longest within the window. */
  readonly blockMs: number;
  /** Of the readings of nodes, within the window; `null` = not measured. */
  readonly punctuality: Punctuality | null;
  /** What ScaledObjects cost; `null` = there are none. */
  readonly replicas: ReplicaFigures | null;
  readonly podfit: Cost;
  /** On the same nodes at the same time; `null` = not measured. */
  readonly metricsServer: Cost | null;
}

export interface ReplicaFigures {
  /** Passes of both halves, with the time of the fold alone. */
  readonly evaluations: number;
  readonly meanMs: number;
  readonly above5Ms: number;
  readonly writes: number;
}

interface RatioGoal {
  readonly fromNodes: number;
  readonly cpu: number;
  readonly memory: number;
}

export interface Report {
  readonly text: string;
  /** One line each. */
  readonly missed: readonly string[];
}

/** CPU per pod from 3,000 to 30,000 pods. */
const GROWTH_GOAL = 1.2;
/** Beside metrics-server, for sizes of at least so many nodes. The first that fits counts. */
const RATIO_GOALS: readonly RatioGoal[] = [
  { fromNodes: 1000, cpu: 1, memory: 0.5 },
  { fromNodes: 100, cpu: 1.2, memory: 1 },
];
/** A pass of one ScaledObject, and a block of the event loop. */
const PASS_GOAL_MS = 5;
const BLOCK_GOAL_MS = 50;
/** Of all readings. */
const LATE_GOAL = 0.01;

/** Smallest first. Goals of growth are for a step that ends at 1,000 nodes or more. */
export function writeReport(results: readonly SizeResult[]): Report {
  const rows = results.flatMap((result) => [
    toRow(result, "podfit", result.podfit),
    ...(result.metricsServer === null ? [] : [toRow(result, "metrics-server", result.metricsServer)]),
  ]);
  const growths = results.slice(1).map((result, index) => toGrowth(results[index] ?? result, result));
  const ratios = results.flatMap((result) => toRatio(result) ?? []);
  const lines = [
    ...HEAD,
    ...rows.map((row) => `| ${row.join(" | ")} |`),
    "",
    ...growths.map(({ from, to, cpu, memory }) =>
      `${from} to ${to} nodes: CPU per pod x ${cpu.toFixed(2)}, memory per pod x ${memory.toFixed(2)}` +
      (to >= 1000 ? ` (goal: CPU at most ${GROWTH_GOAL})` : "")
    ),
    ...ratios.map(({ nodes, cpu, memory, goal }) =>
      `${nodes} nodes, podfit to metrics-server: CPU ${cpu.toFixed(2)}, memory ${memory.toFixed(2)}` +
      (goal === null ? "" : ` (goals: at most ${goal.cpu.toFixed(1)} and ${goal.memory.toFixed(1)})`)
    ),
    ...(ratios.length === 0 ? ["metrics-server: not measured"] : []),
    ...results.flatMap((result) => [toWarmUp(result), toBlock(result)]),
    ...results.flatMap(toReplicas),
  ];
  const missed = [
    ...results.flatMap(({ nodes, replicas }) => {
      if (replicas === null) return [];
      const isSlow = replicas.above5Ms > 0 || replicas.evaluations === 0;
      return isSlow ? [`passes of ScaledObjects at ${nodes} nodes`] : [];
    }),
    ...results.filter(({ blockMs }) => blockMs >= BLOCK_GOAL_MS).map(({ nodes }) => `longest block at ${nodes} nodes`),
    ...results.filter(({ punctuality }) => computeLateShare(punctuality) >= LATE_GOAL)
      .map(({ nodes }) => `late readings at ${nodes} nodes`),
    ...growths.filter(({ to, cpu }) => to >= 1000 && cpu > GROWTH_GOAL).map(({ to }) => `CPU per pod at ${to} nodes`),
    ...ratios.flatMap(({ nodes, cpu, memory, goal }) =>
      goal === null ? [] : [
        ...(cpu > goal.cpu ? [`CPU beside metrics-server at ${nodes} nodes`] : []),
        ...(memory > goal.memory ? [`memory beside metrics-server at ${nodes} nodes`] : []),
      ]
    ),
  ];
  return { text: lines.join("\n"), missed };
}

const COLUMNS = [
  "nodes",
  "pods",
  "process",
  "CPU s/min",
  "CPU per node (m)",
  "CPU per pod (m)",
  "memory MiB",
  "peak MiB",
  "KiB per node",
  "KiB per pod",
];
const HEAD = [`| ${COLUMNS.join(" | ")} |`, `|${COLUMNS.map(() => "---|").join("")}`];

function toRow({ nodes, pods, windowSeconds }: SizeResult, name: string, cost: Cost): readonly string[] {
  const millicores = (cost.cpuSeconds / windowSeconds) * 1000;
  const kib = cost.rssMiB * 1024;
  return [
    String(nodes),
    String(pods),
    name,
    ((cost.cpuSeconds / windowSeconds) * 60).toFixed(2),
    (millicores / nodes).toFixed(3),
    (millicores / pods).toFixed(4),
    cost.rssMiB.toFixed(1),
    cost.peakMiB.toFixed(1),
    (kib / nodes).toFixed(0),
    (kib / pods).toFixed(1),
  ];
}

function toWarmUp({ nodes, windowSeconds, resizes, warmUp }: SizeResult): string {
  const perMinute = ({ cpuSeconds }: Cost) => `${((cpuSeconds / warmUp.seconds) * 60).toFixed(2)} CPU s/min`;
  const other = warmUp.metricsServer === null ? "" : `, metrics-server ${perMinute(warmUp.metricsServer)}`;
  return `${nodes} nodes: ${((resizes / windowSeconds) * 60).toFixed(1)} resizes/min in the window; warm-up of ` +
    `${warmUp.seconds.toFixed(0)} s before it: podfit ${perMinute(warmUp.podfit)}${other}`;
}

function toReplicas({ nodes, replicas }: SizeResult): readonly string[] {
  if (replicas === null) return [];
  const { evaluations, meanMs, above5Ms, writes } = replicas;
  return [
    `${nodes} nodes: ${evaluations} passes of ScaledObjects, ${
      meanMs.toFixed(3)
    } ms each, ${above5Ms} above ${PASS_GOAL_MS} ms (goal: none); ${writes} writes`,
  ];
}

function toBlock({ nodes, blockMs, punctuality }: SizeResult): string {
  const block = `${nodes} nodes: longest block of the event loop ${
    blockMs.toFixed(1)
  } ms (goal: below ${BLOCK_GOAL_MS})`;
  if (punctuality === null) return block;
  const percent = (computeLateShare(punctuality) * 100).toFixed(2);
  return `${block}; ${percent} % of ${punctuality.readings} readings more than a second late (goal: below ${
    LATE_GOAL * 100
  } %)`;
}

/** 0 where nothing was measured. */
function computeLateShare(punctuality: Punctuality | null): number {
  return punctuality === null ? 0 : punctuality.late / Math.max(1, punctuality.readings);
}

function toGrowth(before: SizeResult, after: SizeResult) {
  const cpuPerPod = ({ podfit, pods, windowSeconds }: SizeResult) => podfit.cpuSeconds / windowSeconds / pods;
  const memoryPerPod = ({ podfit, pods }: SizeResult) => podfit.rssMiB / pods;
  return {
    from: before.nodes,
    to: after.nodes,
    cpu: cpuPerPod(after) / cpuPerPod(before),
    memory: memoryPerPod(after) / memoryPerPod(before),
  };
}

function toRatio({ nodes, podfit, metricsServer }: SizeResult) {
  if (metricsServer === null) return null;
  return {
    nodes,
    cpu: podfit.cpuSeconds / metricsServer.cpuSeconds,
    memory: podfit.rssMiB / metricsServer.rssMiB,
    goal: RATIO_GOALS.find(({ fromNodes }) => nodes >= fromNodes) ?? null,
  };
}
