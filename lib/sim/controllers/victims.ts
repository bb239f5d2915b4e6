/**
 * Which pods of a ReplicaSet go when it has too many: ActivePodsWithRanks of pkg/controller/controller_utils.go in
 * Kubernetes 1.36, whose ages count as powers of two and whose last word is the UID.
 */
import { type JsonObject, listAt, numberAt, textAt } from "../json.ts";
import { uidOf } from "./cache.ts";
import { findCondition, isReady } from "./context.ts";

/** The pods that go first. `related`: the active pods of all ReplicaSets of the same Deployment. */
export function chooseVictims(
  pods: readonly JsonObject[],
  { count, related, now }: { readonly count: number; readonly related: readonly JsonObject[]; readonly now: number },
): readonly JsonObject[] {
  if (count >= pods.length) return pods;
  const onNode = Map.groupBy(related, nodeOf);
  const ranked = pods.map((pod): Ranked => ({ pod, neighbours: onNode.get(nodeOf(pod))?.length ?? 0 }));
  return ranked.sort((a, b) => compare(a, b, now)).slice(0, count).map(({ pod }) => pod);
}

const DELETION_COST = "controller.kubernetes.io/pod-deletion-cost";
const PHASES = ["Pending", "Unknown", "Running"];

interface Ranked {
  readonly pod: JsonObject;
  /** How many of the related pods are on its node. */
  readonly neighbours: number;
}

function compare(one: Ranked, other: Ranked, now: number): number {
  const [a, b] = [one.pod, other.pod];
  const bound = Number(nodeOf(a) !== "") - Number(nodeOf(b) !== "");
  if (bound !== 0) return bound;
  const phase = PHASES.indexOf(textAt(a, "status", "phase")) - PHASES.indexOf(textAt(b, "status", "phase"));
  if (phase !== 0) return phase;
  const ready = Number(isReady(a)) - Number(isReady(b));
  if (ready !== 0) return ready;
  const cost = readCost(a) - readCost(b);
  if (cost !== 0) return cost;
  if (one.neighbours !== other.neighbours) return other.neighbours - one.neighbours;
  const [readyA, readyB] = [readReadyTime(a), readReadyTime(b)];
  if (readyA !== readyB) return compareAges(one, other, [now - readyA, now - readyB]);
  for (const read of [readRestarts, readSidecarRestarts]) {
    const restarts = read(b) - read(a);
    if (restarts !== 0) return restarts;
  }
  const [createdA, createdB] = [a, b].map((pod) => Date.parse(textAt(pod, "metadata", "creationTimestamp")));
  return createdA === createdB ? 0 : compareAges(one, other, [now - (createdA ?? 0), now - (createdB ?? 0)]);
}

/** The younger goes first, but ages between the same powers of two, in nanoseconds, are alike. */
function compareAges(one: Ranked, other: Ranked, [a, b]: readonly [number, number]): number {
  const difference = toPower(a) - toPower(b);
  if (difference !== 0) return difference;
  return uidOf(one.pod) < uidOf(other.pod) ? -1 : 1;
}

function toPower(ageMs: number): number {
  return ageMs > 0 ? Math.trunc(Math.log2(ageMs * 1e6)) : -1;
}

function nodeOf(pod: JsonObject): string {
  return textAt(pod, "spec", "nodeName");
}

function readCost(pod: JsonObject): number {
  const text = textAt(pod, "metadata", "annotations", DELETION_COST);
  return /^(0|-?[1-9]\d*)$/.test(text) && Number(text) === (Number(text) | 0) ? Number(text) : 0;
}

/** 0 for a pod that is not ready. */
function readReadyTime(pod: JsonObject): number {
  return isReady(pod) ? Date.parse(textAt(findCondition(pod, "Ready") ?? {}, "lastTransitionTime")) : 0;
}

function readRestarts(pod: JsonObject): number {
  return readMost(listAt(pod, "status", "containerStatuses"));
}

function readSidecarRestarts(pod: JsonObject): number {
  const sidecars = listAt(pod, "spec", "initContainers").filter(({ restartPolicy }) => restartPolicy === "Always");
  const names = new Set(sidecars.map((one) => textAt(one, "name")));
  return readMost(listAt(pod, "status", "initContainerStatuses").filter((one) => names.has(textAt(one, "name"))));
}

function readMost(statuses: readonly JsonObject[]): number {
  return Math.max(0, ...statuses.map((status) => numberAt(status, "restartCount") ?? 0));
}
