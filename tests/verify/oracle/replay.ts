/**
 * Runs a course through podfit's own way from pods to replicas: the API's pods are read as the daemon reads them, their requests added up, each
 * metric proposes, the tick half decides, and what it writes is noted. Gives what the HPA would show.
 */
import type { Pod } from "../../../lib/api/kubernetes.ts";
import { countReadyPods } from "../../../lib/horizontal/replica_calculator.ts";
import type { Conditions, ScalingHistory } from "../../../lib/model/replicas_state.ts";
import { toRescaled } from "../../../lib/horizontal/conditions.ts";
import { recordRescale } from "../../../lib/horizontal/behavior.ts";
import { computeDesiredReplicas, type ScalingOutcome } from "../../../lib/horizontal/scaling_loop.ts";
import { parsePod } from "../../../lib/daemon/cluster/parse_pod.ts";
import {
  type Course,
  type CoursePod,
  type CourseResult,
  type CourseTick,
  EPOCH,
  type HpaSpec,
  type TickResult,
} from "./course.ts";
import { proposeMetric } from "./propose_metric.ts";
import { toBehavior } from "./to_behavior.ts";

/** Called with what each tick came to, for those who look closer than at the result. */
export type OnTick = (outcome: ScalingOutcome) => void;

export async function replay(course: Course, onTick: OnTick = () => {}): Promise<CourseResult> {
  let state: CourseState = { history: null, replicas: course.replicas, conditions: {} };
  let { spec } = course;
  const ticks: TickResult[] = [];
  for (const one of course.ticks) {
    spec = one.spec ?? spec;
    const before = one.replicas ?? state.replicas;
    const outcome = await runTick({ ...state, replicas: before }, one, spec);
    onTick(outcome);
    state = settle({ ...state, replicas: before }, outcome, { one, spec });
    ticks.push({
      after: state.replicas,
      wrote: state.replicas !== before,
      conditions: toHpaConditions(state.conditions),
    });
  }
  return { id: course.id, ticks };
}

interface CourseState {
  readonly history: ScalingHistory | null;
  readonly replicas: number;
  readonly conditions: Conditions;
}

async function runTick({ history, replicas }: CourseState, one: CourseTick, spec: HpaSpec): Promise<ScalingOutcome> {
  const now = EPOCH + one.at;
  const behavior = toBehavior(spec);
  const pods = one.pods.map((pod) => parsePod(toApiPod(pod)));
  const scale = { replicas, statusReplicas: one.status ?? replicas, readyPods: countReadyPods(pods) };
  const proposals = await Promise.all(
    spec.metrics.map((metric, index) => proposeMetric(metric, { index, one, pods, now, behavior, ...scale })),
  );
  const { minReplicas = 1, maxReplicas } = spec;
  const bounds = { minReplicas, maxReplicas };
  return computeDesiredReplicas(history, { now, replicas, ...bounds, behavior, propose: () => proposals });
}

/** What is written is accepted, unless the tick says that it is refused. */
function settle(
  state: CourseState,
  { history, desired, conditions: found }: ScalingOutcome,
  { one, spec }: { readonly one: CourseTick; readonly spec: HpaSpec },
): CourseState {
  const conditions = { ...state.conditions, ...found };
  if (desired === state.replicas) return { ...state, history, conditions };
  if (one.refused) {
    const AbleToScale = { status: "False", reason: "FailedUpdateScale", message: "" } as const;
    return { ...state, history, conditions: { ...conditions, AbleToScale } };
  }
  const rescale = { from: state.replicas, to: desired, now: EPOCH + one.at, behavior: toBehavior(spec) };
  return {
    history: recordRescale(history, rescale),
    replicas: desired,
    conditions: { ...conditions, AbleToScale: toRescaled(desired) },
  };
}

/** KEDA mirrors ScalingActive as HPAActive, with two words of its own (R91). */
function toHpaConditions({ HPAActive, AbleToScale, ScalingLimited }: Conditions): TickResult["conditions"] {
  const shown: Record<string, string> = {};
  if (AbleToScale !== undefined) shown["AbleToScale"] = `${AbleToScale.status}/${AbleToScale.reason}`;
  if (ScalingLimited !== undefined) shown["ScalingLimited"] = `${ScalingLimited.status}/${ScalingLimited.reason}`;
  if (HPAActive !== undefined) {
    const { status, reason } = HPAActive;
    shown["ScalingActive"] = MIRRORED[`${status}/${reason}`] ?? `${status}/${reason}`;
  }
  return shown;
}

const MIRRORED: Readonly<Record<string, string>> = {
  "True/HPAActive": "True/ValidMetricFound",
  "True/ScalingDisabled": "False/ScalingDisabled",
};

/** As the API server would show it. */
export function toApiPod(pod: CoursePod): Pod {
  const { name, phase, start, ready, readyAt, containers, init, resources, overhead } = pod;
  const time = (at: number) => new Date(EPOCH + at).toISOString();
  return {
    metadata: { name, namespace: "n", uid: name, ...(pod.deleting ? { deletionTimestamp: time(0) } : {}) },
    spec: {
      containers: containers.map((one) => ({ ...one })),
      ...(init === undefined ? {} : { initContainers: init.map((one) => ({ ...one })) }),
      ...(resources === undefined ? {} : { resources }),
      ...(overhead === undefined ? {} : { overhead }),
    },
    status: {
      phase,
      ...(start === undefined ? {} : { startTime: time(start) }),
      ...(ready === undefined
        ? {}
        : { conditions: [{ type: "Ready", status: ready, lastTransitionTime: time(readyAt) }] }),
    },
  };
}
