/** The reason of a notice and what more is known of it, found in the evaluation that the notice comes from. */
import { describeChange } from "../../core/changes.ts";
import { isStuck, readResizeStatus, STUCK_REASONS } from "../../core/pod/resize_status.ts";
import { BLOCK_NOTICE, type Notice } from "../../core/reasons.ts";
import { findContainerState } from "../../core/state.ts";
import { listAllRefusals, type Refusal } from "../../core/settle/refusal.ts";
import { type Evaluation, findOwner } from "../../daemon/report/sink.ts";

/** A notice in short. */
export interface Explanation {
  /** A reason of the contract's list, or the whole message of a notice that has none. */
  readonly text: string;
  /** In words; empty where the text says it all. */
  readonly why: string;
}

/** Says of `evaluation.outcome.notices` what each is about, without reading its message. */
export function explainNotice(notice: Notice, evaluation: Evaluation): Explanation {
  return explainRefusal(notice, evaluation) ?? explainStuck(notice, evaluation) ?? explainBlock(notice, evaluation) ??
    { text: notice.message, why: "" };
}

/** A request that the API server refused, or accepted without changing the pod: both make its size wait. */
function explainRefusal({ name }: Notice, { input: { observation }, outcome }: Evaluation): Explanation | null {
  if (observation.kind !== "answered" || name !== "ScaleFailed") return null;
  const { request } = observation;
  const refusals = listAllRefusals(findContainerState(outcome.state, request.container)?.refusals ?? {});
  const newest = refusals.reduce<Refusal | null>((a, b) => a === null || b.until > a.until ? b : a, null);
  return newest &&
    {
      text: newest.reason,
      why: `${newest.message}; wanted ${describeChange(request.from, request.to, request.changes)}`,
    };
}

function explainStuck({ name }: Notice, { input, outcome }: Evaluation): Explanation | null {
  if (input.observation.kind === "answered" || name !== "ResizePending") return null;
  const status = readResizeStatus(input.pod, outcome.state, input.now);
  return isStuck(status) ? { text: STUCK_REASONS[status.kind], why: status.message } : null;
}

function explainBlock(notice: Notice, evaluation: Evaluation): Explanation | null {
  for (const decided of evaluation.outcome.decisions) {
    const { decision } = decided;
    if (decision.kind !== "blocked" || BLOCK_NOTICE[decision.reason] !== notice.name) continue;
    if (findOwner(evaluation, decided)?.uid !== notice.autoscaler) continue;
    return { text: decision.reason, why: decision.message };
  }
  return null;
}
