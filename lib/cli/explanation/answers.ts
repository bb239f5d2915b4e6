/**
 * The first line of `podfit explain`: the size or the replicas now, what podfit wants, what blocks it and until when.
 *
 * The second line, the origin, says where the present size comes from. Reasons are written as plain words, with the
 * name that conditions, events and metrics use in brackets.
 */
import { REPLICAS_MEANINGS, SIZE_MEANINGS } from "../../model/meanings/reasons.ts";
import { PASSING_REASONS } from "../../model/reasons.ts";
import { resourceOf } from "../../units/resources.ts";
import { formatAge, formatAgo, formatClock, formatCount, formatSize, formatWait } from "../terminal/numbers.ts";
import type {
  ContainerExplanation,
  PodExplanation,
  ResizeExplanation,
  TrialExplanation,
  WorkloadExplanation,
} from "./explanation.ts";

/** The two sentences above the details. `origin` is empty where nothing is known of it. */
interface Answer {
  readonly answer: string;
  readonly origin: string;
}

type Pod = Pick<PodExplanation, "name" | "now" | "since" | "containers" | "unknown" | "resize">;

/** `others`: messages of matching autoscalers that do not decide. */
export function formatPodAnswer(pod: Pod, others: readonly string[]): Answer {
  const one = chooseContainer(pod);
  if (one === null) {
    const [why = "no PodResourceAutoscaler is about a container of it"] = others;
    return { answer: `${pod.name} keeps the size that it was given. podfit does not size it: ${why}.`, origin: "" };
  }
  const who = pod.containers.length > 1 ? `${pod.name}, container ${one.name},` : pod.name;
  const sizes = one.sides.filter(({ isManaged }) => isManaged)
    .map(({ key, actual }) => `${key} ${formatSize(actual, resourceOf(key))}`);
  const origin = one.mode === "recommend" ? "" : formatOrigin(one, pod);
  return { answer: `${who} has ${sizes.join(", ")}. ${formatPresent(one, pod)}`, origin };
}

/** The container with a blocker, else the last resized one. */
function chooseContainer({ containers }: Pod): ContainerExplanation | null {
  const held = containers.find(({ decision: { kind } }) => kind === "blocked" || kind === "resize");
  const [last = null] = containers.toSorted((a, b) => (b.resizedAt ?? 0) - (a.resizedAt ?? 0));
  return held ?? last;
}

function formatPresent(one: ContainerExplanation, { unknown, now }: Pod): string {
  const { decision, trials, mode, next: { earliest } } = one;
  if (mode === "recommend") return `podfit recommends ${listAdvised(one)}, and resizes nothing (mode recommend).`;
  switch (decision.kind) {
    case "revert":
      return "podfit takes back a resize that is stuck.";
    case "resize": {
      const free = trials.find(({ isWanted, gates }) => isWanted && gates.every(({ passes }) => passes));
      const when = unknown.length > 0
        ? "A running podfit would resize it now."
        : "Nothing blocks it: it is resized now.";
      return `podfit wants ${listWanted(one, free)}. ${when}`;
    }
  }
  const { reason } = decision;
  const wanted = trials.find(({ isWanted }) => isWanted);
  if (wanted === undefined) {
    return `podfit wants no change${PASSING_REASONS.has(reason) ? " yet" : ""}: ${
      SIZE_MEANINGS[reason].means
    } (${reason}).`;
  }
  const failed = wanted.gates.filter(({ passes }) => !passes);
  // What has no end says more than a cooldown that ends before it.
  const endless = earliest === null ? failed.filter(({ until }) => until === null) : [];
  const all = [...endless.flatMap((one) => one.reason ?? []), reason, ...failed.flatMap((one) => one.reason ?? [])];
  const reasons = [...new Set(all)].slice(0, MAX_REASONS);
  const why = reasons.map((one) => `${SIZE_MEANINGS[one].means} (${one})`).join("; ");
  return `podfit wants ${listWanted(one, wanted)}. ${formatBlock(earliest, now)}: ${why}.`;
}

/** More would hide the answer; the details have all. */
const MAX_REASONS = 2;

/** `until`: `null` where time alone does not end it. */
function formatBlock(until: number | null, now: number): string {
  if (until === null) return "Blocked, with no known end";
  if (until <= now) return "Blocked until the next sample";
  return `Blocked until ${formatClock(until, now)} (in ${formatWait(until - now)})`;
}

/** The size that a trial leads to, or what usage asks for where every field is at its bound. */
function listWanted({ sides }: ContainerExplanation, trial: TrialExplanation | undefined): string {
  if (trial === undefined) return "another size";
  const moved = trial.sides.filter(({ from, to }) => from !== to);
  const isAlone = sides.filter(({ isManaged }) => isManaged).length === 1;
  const shown = moved.length > 0 ? moved : trial.sides.map((side) => ({ ...side, to: side.wanted }));
  return shown.map(({ key, to }) => `${isAlone ? "" : `${key} `}${formatSize(to, resourceOf(key))}`).join(", ");
}

function listAdvised({ sides }: ContainerExplanation): string {
  const other = sides.flatMap(({ key, actual, size }) =>
    actual === null || size === null || actual === size ? [] : `${key} ${formatSize(size, resourceOf(key))}`
  );
  return other.length === 0 ? "no other size" : other.join(", ");
}

function formatOrigin(one: ContainerExplanation, { now, since, unknown, resize }: Pod): string {
  const { resizes, resizedAt } = one;
  const last = resizes.find(({ refused }) => refused === null);
  const other = findResizeByOthers(one, since);
  if (other !== null) {
    const before = last === undefined
      ? ""
      : ` Before that, podfit ${describeAction(last)} ${formatAgo(last.at, now)}: ${last.why}.`;
    return `It was last resized ${formatAgo(other.at, now)}, by another client than podfit ` +
      `(field manager ${other.client}).${before}`;
  }
  if (last !== undefined && last.tookMs === null && resize !== null) {
    const state = RESIZE_STATES[resize.kind] ?? resize.kind;
    return `It has the size from before: podfit asked for ${last.change} ${
      formatAgo(last.at, now)
    }, because ${last.why}. ` +
      `That resize is ${state}: ${resize.message}.`;
  }
  if (last !== undefined) {
    return `It has this size because podfit ${describeAction(last)} ${formatAgo(last.at, now)}: ${last.why}.`;
  }
  if (resizedAt !== null) return `It was last resized ${formatAgo(resizedAt, now)}, before these records begin.`;
  if (unknown.length > 0) return "It has the size of its template, or one that it was given before.";
  return `It has the size of its template: podfit has not resized it in the ${formatAge(now - since)} of its records.`;
}

function describeAction({ action, change }: ResizeExplanation): string {
  return `${action === "revert" ? "took back a stuck resize," : "changed"} ${change}`;
}

/**
 * Returns the last resize, where it is another client's: newer than podfit's last one and than the beginning of the
 * records.
 */
export function findResizeByOthers(
  { resizes, resizedAt, otherClient }: Pick<ContainerExplanation, "resizes" | "resizedAt" | "otherClient">,
  since: number,
): { readonly at: number; readonly client: string } | null {
  const after = resizes.find(({ refused }) => refused === null)?.at ?? since;
  return resizedAt === null || otherClient === null || resizedAt <= after
    ? null
    : { at: resizedAt, client: otherClient };
}

/** How far a resize is. */
const RESIZE_STATES: Readonly<Record<string, string>> = { inProgress: "in progress", error: "in error" };

type Workload = Pick<
  WorkloadExplanation,
  "target" | "replicas" | "writes" | "reason" | "message" | "desired" | "conditions" | "now" | "need" | "blockedUntil"
>;

/** `since`: the beginning of the records, epoch ms. */
export function formatWorkloadAnswer(one: Workload, since: number): Answer {
  const { target, replicas, writes: [last], now } = one;
  const has = replicas === null ? "an unknown number of replicas" : formatCount(replicas, "replica");
  const origin = last === undefined
    ? `podfit has not changed the number of replicas in the ${formatAge(now - since)} of its records.`
    : `podfit changed the number of replicas ${last.from} -> ${last.to} ${formatAgo(last.at, now)}: ${last.why}.`;
  return { answer: `${target} has ${has}. ${formatReplicas(one)}`, origin };
}

function formatReplicas(one: Workload): string {
  const { replicas, desired, reason, message, need, blockedUntil, now, conditions } = one;
  const { PodfitScaling, Ready = PodfitScaling, Paused } = conditions;
  if (Paused?.status === "True") return `It is paused: ${Paused.message}.`;
  if (Ready?.status === "False") {
    const does = Ready.reason === "RecordStale" ? "podfit does not lower its replicas" : "podfit does not scale it";
    return `${does}: ${Ready.message} (${Ready.reason}).`;
  }
  if (reason === null) return message === "" ? "Nothing has been computed yet." : `${message}.`;
  const why = `${REPLICAS_MEANINGS[reason].means} (${reason})`;
  if (desired !== null && desired !== replicas) {
    const asked = need === null || need === desired ? "" : `; the triggers ask for ${need}`;
    return `podfit wants ${desired}: ${why}${asked}.`;
  }
  if (need === null || need === replicas) {
    return blockedUntil === null
      ? `podfit wants no other number: ${why}.`
      : `podfit wants fewer. ${formatBlock(blockedUntil, now)}: ${why}.`;
  }
  return `The triggers ask for ${need}. ${formatBlock(blockedUntil, now)}: ${why}.`;
}
