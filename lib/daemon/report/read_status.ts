/**
 * What an autoscaler's stored status still says: which condition changed when, and the last scale action. An older
 * definition, or somebody's hand, may have left anything there; what is no good is as if it were absent, and the next
 * status replaces it (C8, C51).
 */
import type { AutoscalerStatus, Condition } from "../../autoscaler/conditions.ts";
import type { Action } from "../../autoscaler/autoscaler.ts";

import { isRecord } from "../../units/untrusted.ts";

/** What of a stored status can be used. Never throws. */
export function readStatus(stored: unknown): AutoscalerStatus {
  if (!isRecord(stored)) return {};
  const { conditions, lastScaleTime, lastScaleAction, lastScaleResourceChange } = stored;
  return {
    conditions: Array.isArray(conditions) ? conditions.filter(isCondition) : [],
    ...(isTime(lastScaleTime) && isAction(lastScaleAction) && {
      lastScaleTime,
      lastScaleAction,
      lastScaleResourceChange: typeof lastScaleResourceChange === "string" ? lastScaleResourceChange : "",
    }),
  };
}

/** As far as the next status is made of it. */
function isCondition(value: unknown): value is Condition {
  return isRecord(value) && typeof value.type === "string" && typeof value.status === "string" &&
    isTime(value.lastTransitionTime);
}

/** As the API server writes it; Date.parse alone takes far more. */
function isTime(value: unknown): value is string {
  return typeof value === "string" && TIME.test(value) && !Number.isNaN(Date.parse(value));
}

function isAction(value: unknown): value is Action {
  return value === "scaleUp" || value === "scaleDown";
}

const TIME = /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.][0-9]{1,9})?(?:Z|[+-][0-9]{2}:[0-9]{2})$/;
