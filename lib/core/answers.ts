/**
 * What the API server's answer to a PATCH does to the state (C40, C42, C44, C45): an accepted one starts the cooldown
 * and ends the streaks, a refusal makes its size wait, a conflict waits for the newer pod.
 */
import { type Resource, resourceOf, type SideKey } from "../units/resources.ts";
import type { Action, Answer, Input, Observation, Order, Outcome, Scaled } from "./decision.ts";
import { describeChange } from "./gates.ts";
import type { Notice, NoticeName } from "./reasons.ts";
import type { ContainerState, PodState, Refusal, View } from "./state.ts";
import { tell } from "./told.ts";

const FIRST_WAIT_MS = 30_000;
const LONGEST_WAIT_MS = 10 * 60_000;
const UNSUPPORTED_WAIT_MS = 5 * 60_000;
const RETRY_WAIT_MS = 5_000;

type Answered = Extract<Observation, { kind: "answered" }>;

export function nextAnswered(state: PodState, input: Input, { order, answer }: Answered): Outcome {
  const container = state.containers[order.container] ?? null;
  switch (answer.kind) {
    case "accepted":
      return accept(state, container, { order, now: input.now, pod: input.pod.name, generation: answer.generation });
    case "gone":
      return quiet(state);
    case "conflict":
      return quiet({ ...state, conflict: { resourceVersion: order.resourceVersion, at: input.now } });
    case "refused":
      if (container === null) return quiet(state);
      return refuse(state, container, { order, answer, now: input.now, pod: input.pod.name });
  }
}

interface Accepted {
  readonly order: Order;
  readonly now: number;
  readonly pod: string;
  readonly generation: number | null;
}

/** `container` is `null` when its last contender went while the answer was on its way: it is an action all the same. */
function accept(state: PodState, container: ContainerState | null, accepted: Accepted): Outcome {
  const { order, now, generation } = accepted;
  // An unchanged generation changed nothing: no action (C42).
  if (generation !== null && generation === order.generation) return quiet(state);
  const returnedAt = order.action === "return" ? now : container?.returnedAt ?? null;
  const resized = { resizedAt: now, countsFrom: now, returnedAt, refusals: {} };
  const views: Record<string, View> = {};
  for (const [uid, view] of Object.entries(state.views)) {
    const told = uid === order.policy.uid ? tell(view.told, "block", null) : view.told;
    views[uid] = view.container === order.container ? { ...view, told, streaks: {}, wishSince: null } : view;
  }
  const scaled = order.action === "return" ? null : newScaled(order, order.action, now);
  return {
    ...quiet({
      ...state,
      views,
      containers: container === null
        ? state.containers
        : { ...state.containers, [order.container]: { ...container, ...resized } },
      generation: Math.max(state.generation, generation ?? 0),
      conflict: null,
      command: order.action === "return"
        ? null
        : { ...pickCommand(order), action: order.action, generation: generation ?? 0, at: now },
    }),
    notices: [announce(accepted)],
    scaled,
  };
}

function pickCommand({ container, policy, to }: Order) {
  return { container, autoscaler: policy.uid, to };
}

function newScaled({ policy, from, to, changes }: Order, action: Action, at: number): Scaled {
  const deltas = changes.flatMap((key) => {
    const [before, after] = [from[key], to[key]];
    return before === null || after === null ? [] : [{ key, from: before, to: after }];
  });
  return { policy, action, at, change: describeChange(from, to, changes), deltas };
}

function announce({ order, pod }: Accepted): Notice {
  const change = describeChange(order.from, order.to, order.changes);
  const where = `container "${order.container}" of pod "${pod}"`;
  const autoscaler = order.policy.uid;
  if (order.action === "return") {
    return {
      autoscaler,
      name: "ResizePending",
      message: `Gave up a stuck resize of ${where}: ${change} (${order.why})`,
    };
  }
  const [name, verb]: [NoticeName, string] = order.action === "scaleUp"
    ? ["ScaleUp", "Scaled up"]
    : ["ScaleDown", "Scaled down"];
  return { autoscaler, name, message: `${verb} ${where}: ${change} (${order.why})` };
}

interface Refused {
  readonly order: Order;
  readonly answer: Extract<Answer, { kind: "refused" }>;
  readonly now: number;
  readonly pod: string;
}

function refuse(state: PodState, container: ContainerState, refused: Refused): Outcome {
  const { order, answer, now, pod } = refused;
  const refusals: Partial<Record<Resource, Refusal>> = { ...container.refusals };
  for (const resource of listRefused(order.changes, answer.resources)) {
    refusals[resource] = newRefusal(refused, refusals[resource]);
  }
  const notices: Notice[] = [];
  const view = state.views[order.policy.uid];
  const views = view === undefined || answer.reason === "RetryLater" ? state.views : {
    ...state.views,
    [order.policy.uid]: {
      ...view,
      told: tell(view.told, "block", answer.reason, () => {
        const change = describeChange(order.from, order.to, order.changes);
        const message = `Resize of container "${order.container}" of pod "${pod}" was refused (${answer.reason}): ` +
          `${answer.message}; wanted ${change}`;
        notices.push({ autoscaler: order.policy.uid, name: "ScaleFailed", message });
      }),
    },
  };
  // A refused return waits for its next turn like an accepted one.
  const returnedAt = order.action === "return" ? now : container.returnedAt;
  const containers = { ...state.containers, [order.container]: { ...container, refusals, returnedAt } };
  return { ...quiet({ ...state, containers, views }), notices };
}

/** The changed resources that the refusal names; all changed ones when it names none of them. */
function listRefused(changes: readonly SideKey[], named: readonly Resource[]): ReadonlySet<Resource> {
  const changed = changes.map(resourceOf);
  const both = changed.filter((resource) => named.includes(resource));
  return new Set(both.length > 0 ? both : changed);
}

function newRefusal({ order, answer, now }: Refused, before: Refusal | undefined): Refusal {
  const cause = {
    reason: answer.reason,
    podGeneration: order.generation,
    autoscaler: order.policy.uid,
    autoscalerGeneration: order.policy.generation,
  };
  const isAgain = before !== undefined && isSameCause(before, cause) && now < before.until + LONGEST_WAIT_MS;
  const waitMs = answer.waitMs ?? readOwnWait(answer.reason, isAgain ? before.waitMs : null);
  const action = order.action === "return" ? "scaleDown" : order.action;
  return { ...cause, message: answer.message, until: now + waitMs, waitMs, action, to: order.to };
}

type Cause = Pick<Refusal, "reason" | "podGeneration" | "autoscaler" | "autoscalerGeneration">;

function isSameCause(a: Cause, b: Cause): boolean {
  return a.reason === b.reason && a.podGeneration === b.podGeneration && a.autoscaler === b.autoscaler &&
    a.autoscalerGeneration === b.autoscalerGeneration;
}

function readOwnWait(reason: Refusal["reason"], beforeMs: number | null): number {
  if (reason === "Unsupported") return UNSUPPORTED_WAIT_MS;
  if (beforeMs !== null) return Math.min(beforeMs * 2, LONGEST_WAIT_MS);
  return reason === "RetryLater" ? RETRY_WAIT_MS : FIRST_WAIT_MS;
}

function quiet(state: PodState): Outcome {
  return { state, decisions: [], notices: [], order: null, scaled: null, enacted: null, absurd: 0 };
}
