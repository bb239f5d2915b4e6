/** From the records of a ScaledObject and its pods to why a workload has its number of pods. */
import type { ReplicasReport } from "../../core/replicas/report.ts";
import type { PodLine, ScaledObjectLine } from "../../record/line.ts";
import type { ContainerExplanation, PodSummary, WorkloadExplanation } from "./explanation.ts";
import { type ExplainOptions, explainPod } from "./explain_pod.ts";
import { listReplicaNeeds } from "./replica_needs.ts";
import { resourceOf } from "../../units/resources.ts";
import { formatAge, formatAgo, formatPercent, formatSize } from "./say.ts";
import { describeTarget, nameTarget } from "./targets.ts";

export interface WorkloadOptions extends ExplainOptions {
  /** The newest lines of the workload's pods. */
  readonly pods: readonly PodLine[];
}

/** A workload of which only the pods are sized. */
export interface PlainWorkload extends WorkloadOptions {
  readonly namespace: string;
  /** `deployment/web` */
  readonly target: string;
}

/** The same of a workload whose number of pods is nobody's of podfit's. */
export function explainPlainWorkload(
  { namespace, target, now, pods, unknown = [] }: PlainWorkload,
): WorkloadExplanation {
  const [, name = target] = target.split("/");
  const at = Math.max(...pods.map(({ record: { input } }) => input.now));
  const answer =
    `${target} has the number of pods that somebody else gave it, as podfit has no ScaledObject for it; the ` +
    `sizes of ${pods.length} of its pods are podfit's.`;
  return {
    kind: "workload",
    namespace,
    name,
    answer,
    at,
    now,
    unknown,
    target,
    ...NOTHING_COMPUTED,
    pods: pods.map((line) => summarizePod(line, now)),
  };
}

const NOTHING_COMPUTED = {
  replicas: null,
  desired: null,
  minReplicas: null,
  maxReplicas: null,
  idleReplicas: null,
  reason: null,
  message: "",
  need: null,
  stabilized: null,
  triggers: [],
  behavior: null,
  needs: [],
  isScaleInPending: false,
  conditions: {},
  writes: [],
  next: [],
} as const;

/** Lines of one ScaledObject, oldest first; `null` without any. */
export function explainWorkload(
  lines: readonly ScaledObjectLine[],
  options: WorkloadOptions,
): WorkloadExplanation | null {
  const newest = lines.at(-1);
  if (newest === undefined) return null;
  const { now, pods, unknown = [] } = options;
  const { namespace, name, record: { input, outcome: { state } } } = newest;
  const object = input.object.scaledObject;
  const report = findReport(lines);
  const explained = {
    kind: "scaledObject",
    namespace,
    name,
    at: input.now,
    now,
    unknown,
    target: nameTarget(newest) ?? "unknown",
    replicas: readReplicas(lines),
    desired: report?.desired ?? null,
    minReplicas: object?.minReplicas ?? null,
    maxReplicas: object?.maxReplicas ?? null,
    idleReplicas: object?.idleReplicas ?? null,
    reason: report?.reason ?? null,
    message: report?.message ?? "",
    need: report?.need ?? null,
    stabilized: report?.stabilized ?? null,
    triggers: (report?.triggers ?? []).map((one) => ({
      ...one,
      target: describeTarget(
        object?.triggers.find(({ index, kind }) =>
          index === one.index && (kind === "resource" || one.type !== "composite")
        ),
      ),
    })),
    behavior: object?.behavior ?? null,
    needs: state.history?.needs ?? [],
    isScaleInPending: state.isScaleInPending,
    conditions: state.conditions,
    writes: listWrites(lines),
    pods: pods.map((line) => summarizePod(line, now)),
  } as const;
  const next = listReplicaNeeds({ ...explained, state, cooldownMs: object?.cooldownMs ?? 0 });
  return { ...explained, next, answer: answerWorkload(explained, lines[0]?.since ?? now) };
}

/** Of the newest tick, else of the newest poll; polls alone say nothing of a proposal. */
function findReport(lines: readonly ScaledObjectLine[]): ReplicasReport | null {
  const reports = lines.flatMap(({ record: { outcome: { report } } }) => report ?? []);
  return reports.findLast(({ half }) => half === "tick") ?? reports.at(-1) ?? null;
}

function readReplicas(lines: readonly ScaledObjectLine[]): number | null {
  for (const { record: { input: { observation } } } of lines.toReversed()) {
    if (observation.kind === "answered" && observation.answer.kind === "accepted") return observation.answer.replicas;
    if ("scale" in observation && observation.scale !== null) return observation.scale.replicas;
  }
  return null;
}

/** The newest first. */
function listWrites(lines: readonly ScaledObjectLine[]): WorkloadExplanation["writes"] {
  return lines.flatMap(({ record: { input: { now, observation } } }) => {
    if (observation.kind !== "answered" || observation.answer.kind !== "accepted") return [];
    const { from, message, reason } = observation.write;
    const why = `${reason}: ${message.replace(/^New size: \d+; reason: /, "")}`;
    return [{ at: now, from: from.replicas, to: observation.answer.replicas, why }];
  }).slice(-MOST).reverse();
}

const MOST = 5;

function summarizePod(line: PodLine, now: number): PodSummary {
  const { name, record: { input: { pod } } } = line;
  const explained = explainPod([line], { now });
  const containers = explained?.containers.map((one) => summarizeContainer(one, now)) ?? [];
  const answer = containers.length === 0 ? explained?.answer ?? name : `${name}  ${containers.join(" | ")}`;
  return { name, isReady: pod.ready?.status === "True", answer };
}

/** `main cpu.requests 243m at 48 %; resized 14s ago; InBand: inside the thresholds` */
function summarizeContainer({ name, sides, resizedAt, decision }: ContainerExplanation, now: number): string {
  const sizes = sides.filter(({ isManaged }) => isManaged).map(({ key, size, usedPercent }) =>
    `${key} ${formatSize(size, resourceOf(key))} at ${formatPercent(usedPercent)}`
  );
  const resized = resizedAt === null ? "never resized" : `resized ${formatAge(now - resizedAt)} ago`;
  return `${name} ${sizes.join(", ")}; ${resized}; ${decision.reason}: ${decision.message}`;
}

type Answered = Pick<
  WorkloadExplanation,
  "target" | "name" | "replicas" | "writes" | "reason" | "message" | "desired" | "conditions" | "now" | "triggers"
>;

function answerWorkload(one: Answered, since: number): string {
  const { target, replicas, writes: [last], now } = one;
  const has = replicas === null
    ? `${target} has a number of pods that is not known`
    : `${target} has ${countReplicas(replicas)}`;
  const origin = last === undefined
    ? `${has}, which podfit has not changed in the ${formatAge(now - since)} of its records`
    : `${has} because podfit went ${last.from} -> ${last.to} ${formatAgo(last.at, now)} (${last.why})`;
  return `${origin}; ${explainPresent(one)}.`;
}

function explainPresent({ replicas, desired, reason, message, conditions: { Ready, Paused } }: Answered): string {
  if (Paused?.status === "True") return `it is paused: ${Paused.message}`;
  if (Ready?.status === "False") return `it is left alone (${Ready.reason}): ${Ready.message}`;
  if (reason === null) return message === "" ? "nothing has been computed yet" : message;
  if (desired !== null && desired !== replicas) return `${desired} are wanted (${reason}): ${message}`;
  return `it stays (${reason}): ${message}`;
}

export function countReplicas(count: number): string {
  return `${count} ${count === 1 ? "replica" : "replicas"}`;
}
