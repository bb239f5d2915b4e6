/** Do a ScaledObject and an autoscaler of the same pods work against each other (R80 to R82)? */
import type { Autoscaler } from "../../../autoscaler/autoscaler.ts";
import { listResourceTriggers } from "../../../scaled_object/list_triggers.ts";
import type { ScaledObject } from "../../../scaled_object/scaled_object.ts";
import type { ResourceTrigger } from "../../../scaled_object/trigger.ts";
import type { Relation } from "../finding.ts";
import type { Known } from "../known.ts";
import { listAutoscalers, listScaledObjects, type Look, toScaledSubject, toWorkloadKind } from "./look.ts";

/** One finding for each trigger. */
export function checkCoupling({ known }: Look): readonly Relation[] {
  return listScaledObjects(known).flatMap((object) =>
    listResourceTriggers(object).filter(isLive).flatMap((trigger) => {
      const rival = findCoupled(known, { object, trigger });
      return rival === null ? [] : [toRelation(object, trigger, rival)];
    })
  );
}

/** Gives the autoscaler that owns the requests which the trigger goes by; `null` where none does. */
export function findCoupled(known: Known, coupled: Coupled): Autoscaler | null {
  return listAutoscalers(known).find((one) => isCoupled(one, coupled)) ?? null;
}

/** Only `live` goes by a request that podfit moves: what a pod was born with stays. */
function isLive({ target, baseline }: ResourceTrigger): boolean {
  return target.kind === "Utilization" && baseline?.kind === "live";
}

/** A trigger of an object. */
export interface Coupled {
  readonly object: ScaledObject;
  readonly trigger: ResourceTrigger;
}

function isCoupled(autoscaler: Autoscaler, { object, trigger }: Coupled): boolean {
  const { namespace, target, containerName, isWildcard, mode } = autoscaler;
  const isTarget = target?.name === object.target.name && target.kind === toWorkloadKind(object.target.kind);
  const isContainer = isWildcard || trigger.container === null || trigger.container === containerName;
  return namespace === object.namespace && isTarget && isContainer && mode === "apply" &&
    autoscaler.sides.some(({ key }) => key === `${trigger.type}.requests`);
}

function toRelation(object: ScaledObject, { index, type }: ResourceTrigger, { name }: Autoscaler): Relation {
  return {
    of: toScaledSubject(object),
    level: "warning",
    rule: "replicas-fight",
    path: `spec.triggers[${index}].metadata.baseline`,
    message:
      `baseline live goes by the ${type} requests that autoscaler "${name}" moves: each resize changes the number of pods, and ` +
      "each change of that the size, until one of them is at its bound: remove baseline, or set it to born or to an amount",
  };
}
