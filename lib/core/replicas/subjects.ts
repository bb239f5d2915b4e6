/** What the tick half asks for proposals: each trigger, or where there is a formula its one value beside the cpu and memory triggers (R61). */
import type { Formula } from "../../scaled_object/formula.ts";
import { listResourceTriggers } from "../../scaled_object/list_triggers.ts";
import type { ScaledObject } from "../../scaled_object/scaled_object.ts";
import type { ResourceTrigger, Trigger } from "../../scaled_object/trigger.ts";
import { COMPOSITE_NAME } from "./composite.ts";

export type Subject = Trigger | { readonly kind: "composite"; readonly formula: Formula };

/** In the order of the triggers, the formula last. */
export function listSubjects(object: ScaledObject): readonly Subject[] {
  const { triggers, formula } = object;
  if (formula === null) return triggers;
  return [...listResourceTriggers(object), { kind: "composite", formula }];
}

/** As the HPA controller calls its metric. */
export function nameSubject(subject: Subject): string {
  switch (subject.kind) {
    case "resource":
      return nameResource(subject);
    case "external":
      return `external metric ${subject.metricName}`;
    case "composite":
      return `external metric ${COMPOSITE_NAME}`;
  }
}

function nameResource({ type, container, target }: ResourceTrigger): string {
  const what = container === null ? `${type} resource` : `${type} container resource`;
  return target.kind === "Utilization" ? `${what} utilization (percentage of request)` : what;
}
