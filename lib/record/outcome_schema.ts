/** The shape of the fold's outcome, as a schema: the compiler holds it against the type. */
import * as v from "valibot";
import type { Decision, Outcome } from "../core/decision.ts";
import { HOLD_REASONS, type Notice, type NoticeName, NOTICES } from "../core/reasons.ts";
import { action, blockReason, flag, number, request, resizeReason, resources, side, text } from "./schemas.ts";
import { stateSchema } from "./state_schema.ts";

const decision: v.GenericSchema<unknown, Decision> = v.variant("kind", [
  v.strictObject({ kind: v.literal("hold"), reason: v.picklist(HOLD_REASONS), message: text }),
  v.strictObject({
    kind: v.literal("blocked"),
    action,
    reason: blockReason,
    message: text,
    until: v.exactOptional(number),
  }),
  v.strictObject({
    kind: v.literal("resize"),
    action,
    reason: v.exactOptional(resizeReason),
    from: resources,
    to: resources,
  }),
  v.strictObject({ kind: v.literal("revert"), reason: blockReason, from: resources, to: resources }),
]);

const notice: v.GenericSchema<unknown, Notice> = v.strictObject({
  autoscaler: text,
  name: v.picklist(Object.keys(NOTICES) as NoticeName[]),
  message: text,
});

/** Accepts what `decide` returns, and nothing else. */
export const outcomeSchema: v.GenericSchema<unknown, Outcome> = v.strictObject({
  state: stateSchema,
  decisions: v.array(v.strictObject({
    autoscaler: text,
    container: text,
    decision,
    candidates: v.array(side),
    isNewSample: flag,
  })),
  notices: v.array(notice),
  request: v.nullable(request),
  scaled: v.nullable(v.strictObject({
    autoscaler: text,
    container: text,
    action,
    at: number,
    change: text,
    deltas: v.array(v.strictObject({ key: side, from: number, to: number })),
  })),
  enacted: v.nullable(v.strictObject({ autoscaler: text, action, tookMs: number })),
  implausible: number,
});
