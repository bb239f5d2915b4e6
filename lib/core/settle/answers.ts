/** What the API server's answer to a PATCH does to the state (C40, C42, C44, C45). */
import type { Input, Observation } from "../decision.ts";
import type { PodState } from "../state.ts";
import type { Refused } from "../resize_request.ts";
import { settleAccepted, type Settled, settleRefused } from "./accepted.ts";
import { nextUnconfirmed } from "./unconfirmed.ts";

type Answered = Extract<Observation, { kind: "answered" }>;

/** An accepted request starts the cooldown, a refused one makes its size wait, a conflict waits for the newer pod. */
export function settleAnswer(state: PodState, { now }: Input, { request, answer }: Answered): Settled {
  switch (answer.kind) {
    case "accepted":
      return settleAccepted(state, { request, at: now, generation: answer.generation });
    case "gone":
    case "conflict":
      // Either way the watch is behind: the newer pod decides, or its end.
      return quiet({ ...state, conflict: { resourceVersion: request.resourceVersion, at: now } });
    case "withdrawn":
      // What has changed is on its way as an observation of its own.
      return quiet(state);
    case "unconfirmed": {
      const { message } = answer;
      const busy: Refused = { kind: "refused", reason: "RetryLater", message, resources: [], waitMs: null };
      const waiting = { ...state, unconfirmed: nextUnconfirmed(state.unconfirmed, request, now) };
      return settleRefused(waiting, { request, answer: busy, now });
    }
    case "refused":
      return settleRefused(state, { request, answer, now });
  }
}

function quiet(state: PodState): Settled {
  return { state, accepted: null, refused: null };
}
