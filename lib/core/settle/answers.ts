/**
 * What the API server's answer to a PATCH does to the state (C40, C42, C44, C45): an accepted one starts the cooldown
 * and ends the streaks, a refusal makes its size wait, a conflict waits for the newer pod.
 */
import type { Action } from "../../autoscaler/autoscaler.ts";
import type { Answer, Input, Observation, Outcome, ResizeRequest, Scaled } from "../decision.ts";
import { listChanges } from "../decide_container.ts";
import { describeChange } from "../gate/gates.ts";
import { type Arrived, nextUnconfirmed } from "./unconfirmed.ts";
import type { Notice, NoticeName } from "../reasons.ts";
import { isWaiting, nextAccepted, nextGivenUp, nextRefused } from "./refusals.ts";
import { type ContainerState, NO_STREAKS, type PodState, type View } from "../state.ts";
import { tell } from "../notify/edge.ts";

type Answered = Extract<Observation, { kind: "answered" }>;

/** `accept` for an order whose lost answer turns out to have been one. */
export function nextArrived(state: PodState, { pod }: Input, { order, at }: Arrived): Outcome {
  const container = state.containers[order.container] ?? null;
  return accept(state, container, { order, now: at, pod: pod.name, generation: pod.generation });
}

export function nextAnswered(state: PodState, input: Input, { order, answer }: Answered): Outcome {
  const container = state.containers[order.container] ?? null;
  const pod = input.pod.name;
  switch (answer.kind) {
    case "accepted":
      return accept(state, container, { order, now: input.now, pod, generation: answer.generation });
    case "gone":
    case "conflict":
      // Either way the watch is behind: the newer pod decides, or its end.
      return quiet({ ...state, conflict: { resourceVersion: order.resourceVersion, at: input.now } });
    case "withdrawn":
      // What has changed is on its way as an observation of its own.
      return quiet(state);
    case "lost": {
      const { message } = answer;
      const refusal = { kind: "refused", reason: "RetryLater", message, resources: [], waitMs: null } as const;
      const waiting = { ...state, unconfirmed: nextUnconfirmed(state.unconfirmed, order, input.now) };
      return refuse(waiting, container, { order, answer: refusal, now: input.now, pod });
    }
    case "refused":
      return refuse(state, container, { order, answer, now: input.now, pod });
  }
}

interface Accepted {
  readonly order: ResizeRequest;
  readonly now: number;
  readonly pod: string;
  readonly generation: number | null;
}

/** `container` is `null` when its last contender went while the answer was on its way: it is an action all the same. */
function accept(state: PodState, container: ContainerState | null, accepted: Accepted): Outcome {
  const { order, now, generation } = accepted;
  if (generation !== null && generation === order.generation) return refuse(state, container, unchanged(accepted));
  const isReturn = order.action === "return";
  const before = container?.refusals ?? {};
  const refusals = isReturn ? nextGivenUp(before, order, accepted) : nextAccepted(before, order, generation);
  const revertedAt = isReturn ? now : container?.revertedAt ?? null;
  // A lost answer is folded in late: the server may have taken it, and the new size come into force, since.
  const resizedAt = Math.max(container?.resizedAt ?? now, now);
  const countsFrom = Math.max(container?.countsFrom ?? now, now);
  const resized = { resizedAt, countsFrom, revertedAt, refusals };
  const views: Record<string, View> = {};
  for (const [uid, view] of Object.entries(state.views)) {
    const isOver = uid === order.policy.uid && !isWaiting(refusals, view.told["block"]);
    const told = isOver ? tell(view.told, "block", null) : view.told;
    views[uid] = view.container === order.container ? { ...view, told, streaks: NO_STREAKS, wantedSince: null } : view;
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
      unconfirmed: [],
      command: order.action === "return"
        ? null
        : { ...pickCommand(order), action: order.action, generation: generation ?? 0, at: now },
    }),
    notices: [announce(accepted)],
    scaled,
  };
}

/** No action (C42); and the same PATCH again would change as little. */
function unchanged({ order, now, pod }: Accepted): Refused {
  const message = "the API server accepted it and changed nothing: an admission webhook may put the old size back";
  return { order, now, pod, answer: { kind: "refused", reason: "Invalid", message, resources: [], waitMs: null } };
}

function pickCommand({ container, policy, to }: ResizeRequest) {
  return { container, autoscaler: policy.uid, to };
}

function newScaled({ policy, from, to }: ResizeRequest, action: Action, at: number): Scaled {
  // Fields that only go back to what is in force are no part of the action.
  const moved = listChanges(from, to);
  const deltas = moved.flatMap((key) => {
    const [before, after] = [from[key], to[key]];
    return before === null || after === null ? [] : [{ key, from: before, to: after }];
  });
  return { policy, action, at, change: describeChange(from, to, moved), deltas };
}

function announce({ order, pod }: Accepted): Notice {
  const change = describeChange(order.from, order.to, listChanges(order.from, order.to));
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
  readonly order: ResizeRequest;
  readonly answer: Extract<Answer, { kind: "refused" }>;
  readonly now: number;
  readonly pod: string;
}

function refuse(state: PodState, container: ContainerState | null, refused: Refused): Outcome {
  if (container === null) return quiet(state);
  const { order, answer, pod } = refused;
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
  const refusals = nextRefused(container.refusals, order, refused);
  const containers = { ...state.containers, [order.container]: { ...container, refusals } };
  return { ...quiet({ ...state, containers, views }), notices };
}

function quiet(state: PodState): Outcome {
  return { state, decisions: [], notices: [], request: null, scaled: null, enacted: null, implausible: 0 };
}
