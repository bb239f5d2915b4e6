/**
 * The patch that brings a pod's status in the API to what its kubelet says: conditions of others stay, and what the
 * kubelet no longer says goes. Readiness gates are conditions of others that Ready waits for.
 * https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-readiness-gate
 */
import type { Pod, PodCondition } from "../../api/kubernetes.ts";
import { formatTime } from "../../units/time.ts";
import type { PodStatus } from "../model/state.ts";
import { isObject, isSame, type Json, type JsonObject } from "../json.ts";

/** What a status is compared with. */
export interface StatusContext {
  /** The pod as the API had it last. */
  readonly pod: Pod;
  /** The status that was written last, which a watch may not have brought back yet; `null` for none. */
  readonly written: PodStatus | null;
  readonly now: number;
}

/** `null` when the API has it so already. */
export function toStatusPatch(status: PodStatus, { pod, written, now }: StatusContext): JsonObject | null {
  const next = toGated(status, { pod, written, now });
  const { conditions = [], ...rest } = next;
  const known = pod.status ?? {};
  if (written !== null && isSame(toJson(next), toJson(written)) && isThere(next, known)) return null;
  const gone = OWN.filter((type) =>
    [known, written].some((one) => one?.conditions?.some((condition) => condition.type === type)) &&
    !conditions.some((condition) => condition.type === type)
  );
  const before = { ...objectOf(known), ...objectOf(written) };
  const patch = toDifference(before, objectOf(rest));
  return {
    metadata: { uid: pod.metadata?.uid ?? "" },
    status: {
      ...patch,
      "$setElementOrder/conditions": conditions.map(({ type }) => ({ type })),
      conditions: [
        ...conditions.map((one) => ({ ...readGone(one, [known, written]), ...objectOf(one) })),
        ...gone.map((type) => ({ $patch: "delete", type })),
      ],
    },
  };
}

/** The conditions with Ready as the pod's readiness gates make it. */
export function toGated(status: PodStatus, { pod, written, now }: StatusContext): PodStatus {
  const closed = (pod.spec?.readinessGates ?? []).flatMap(({ conditionType }) => {
    const found = pod.status?.conditions?.find(({ type }) => type === conditionType);
    if (found?.status === "True") return [];
    return found === undefined
      ? [`corresponding condition of pod readiness gate "${conditionType}" does not exist.`]
      : [`the status of pod readiness gate "${conditionType}" is not "True", but ${found.status}`];
  });
  if ((pod.spec?.readinessGates ?? []).length === 0) return status;
  const conditions = (status.conditions ?? []).map((condition): PodCondition => {
    if (condition.type !== "Ready") return condition;
    const { reason: _reason, message: _message, ...bare } = condition;
    const next = condition.status !== "True" || closed.length === 0
      ? condition
      : { ...bare, status: "False", reason: "ReadinessGatesNotReady", message: closed.join(", ") };
    const old = written?.conditions?.find(({ type }) => type === "Ready");
    const since = old?.status === next.status ? old.lastTransitionTime : undefined;
    return { ...next, lastTransitionTime: since ?? formatTime(now) };
  });
  return { ...status, conditions };
}

/** Conditions that are the kubelet's. */
const OWN = [
  "PodResizePending",
  "PodResizeInProgress",
  "PodReadyToStartContainers",
  "Initialized",
  "Ready",
  "ContainersReady",
  "PodScheduled",
];

/** The parts of a status that are not the kubelet's. */
const OTHERS = ["conditions", "nominatedNodeName"];

/** A merge patch from one object to the other; lists are replaced. */
function toDifference(before: JsonObject, after: JsonObject): JsonObject {
  const patch: JsonObject = {};
  for (const [key, value] of Object.entries(after)) {
    const old = before[key];
    if (isSame(old, value)) continue;
    patch[key] = isObject(value) && isObject(old) ? toDifference(old, value) : value;
  }
  for (const key of Object.keys(before)) if (!(key in after) && !OTHERS.includes(key)) patch[key] = null;
  return patch;
}

/** A condition that is True again has no reason any more. */
function readGone(condition: PodCondition, before: readonly (PodStatus | null)[]): JsonObject {
  const old = before.flatMap((one) => one?.conditions?.filter(({ type }) => type === condition.type) ?? []);
  const keys = (["reason", "message"] as const).filter((key) => condition[key] === undefined);
  return Object.fromEntries(keys.filter((key) => old.some((one) => one[key] !== undefined)).map((key) => [key, null]));
}

/** Somebody else may have written over it. */
function isThere(next: PodStatus, known: PodStatus): boolean {
  return next.phase === known.phase && next.observedGeneration === known.observedGeneration &&
    OWN.every((type) => {
      const [one, other] = [next, known].map(({ conditions }) => conditions?.find((each) => each.type === type));
      return one?.status === other?.status;
    });
}

function objectOf(value: unknown): JsonObject {
  const json = toJson(value);
  return isObject(json) ? json : {};
}

function toJson(value: unknown): Json {
  return JSON.parse(JSON.stringify(value ?? null));
}
