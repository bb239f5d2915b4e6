/** The one sentence that answers "why is this pod this size?" */
import type { ContainerExplanation, PodExplanation, TrialExplanation } from "./explanation.ts";
import { formatMove } from "./next.ts";
import { formatAge, formatAgo } from "./say.ts";

type Pod = Pick<PodExplanation, "name" | "now" | "since" | "containers" | "unknown" | "resize">;

/** `others`: what was said of contenders that do not decide. */
export function answerPod(pod: Pod, others: readonly string[]): string {
  const one = chooseContainer(pod);
  if (one === null) {
    const [why = "no PodResourceAutoscaler is about a container of it"] = others;
    return `${pod.name} has the size that it was given: podfit does not size it, because ${why}.`;
  }
  const who = pod.containers.length > 1 ? `${pod.name}, container ${one.name},` : pod.name;
  return `${who} ${explainOrigin(one, pod)}; ${explainPresent(one, pod)}.`;
}

/** The one that something stands in the way of, or else the last resized. */
function chooseContainer({ containers }: Pod): ContainerExplanation | null {
  const held = containers.find(({ decision: { kind } }) => kind === "blocked" || kind === "resize");
  const [last = null] = containers.toSorted((a, b) => (b.resizedAt ?? 0) - (a.resizedAt ?? 0));
  return held ?? last;
}

function explainOrigin(
  { resizes, resizedAt, mode, sides }: ContainerExplanation,
  { now, since, unknown, resize }: Pod,
): string {
  const last = resizes.find(({ refused }) => refused === null);
  if (last !== undefined && last.tookMs === null && resize !== null) {
    const asked = `podfit asked for ${last.change} ${formatAgo(last.at, now)}, seeing ${last.why}`;
    return `has the size from before: ${asked}, and that is ${STANDS[resize.kind] ?? resize.kind}: ${resize.message}`;
  }
  if (last !== undefined) {
    const did = last.action === "revert" ? "gave up a stuck resize," : "changed";
    return `has this size because podfit ${did} ${last.change} ${formatAgo(last.at, now)}, seeing ${last.why}`;
  }
  if (mode === "recommend") {
    return `has the size that it was given, as its autoscaler only recommends${listAdvised(sides)}`;
  }
  if (resizedAt !== null) return `was last resized ${formatAgo(resizedAt, now)}, before these records begin`;
  if (unknown.length > 0) return "has the size of its template, or one that it was given before";
  return `has the size of its template, as podfit has not resized it in the ${formatAge(now - since)} of its records`;
}

function listAdvised(sides: ContainerExplanation["sides"]): string {
  const other = sides.flatMap(({ key, actual, size }) =>
    actual === null || size === null || actual === size ? [] : `${key} ${formatMove(key, actual, size)}`
  );
  return other.length === 0 ? "" : `: ${other.join(", ")}`;
}

/** Where a resize stands. */
const STANDS: Readonly<Record<string, string>> = { inProgress: "in progress", error: "in error" };

function explainPresent({ decision, trials, mode }: ContainerExplanation, { unknown }: Pod): string {
  const wanted = trials.find(({ isWanted }) => isWanted);
  const { kind, reason, message } = decision;
  const would = mode === "recommend" ? "it is recommended to" : "it would";
  if (kind === "resize") {
    return unknown.length > 0
      ? `a podfit that ran would let it go ${describe(wanted)}`
      : `it is to go ${describe(wanted)} now`;
  }
  if (kind === "blocked") return `${would} go ${describe(wanted)}, but ${reason}: ${message}`;
  return `it stays (${reason}): ${message}`;
}

function describe(trial: TrialExplanation | undefined): string {
  if (trial === undefined) return "elsewhere";
  const sides = trial.sides.filter(({ from, to }) => from !== to).map(({ key, from, to }) =>
    `${key} ${formatMove(key, from, to)}`
  );
  return sides.length === 0 ? trial.direction : `${trial.direction} (${sides.join(", ")})`;
}
