/** The triggers of a ScaledObject by kind, in the order of the manifest. */
import type { ScaledObject } from "./scaled_object.ts";
import type { ExternalTrigger, ResourceTrigger } from "./trigger.ts";

/** Those whose value is asked for elsewhere. */
export function listExternalTriggers({ triggers }: Pick<ScaledObject, "triggers">): readonly ExternalTrigger[] {
  return triggers.filter((trigger) => trigger.kind === "external");
}

/** Those that look at pods. */
export function listResourceTriggers({ triggers }: Pick<ScaledObject, "triggers">): readonly ResourceTrigger[] {
  return triggers.filter((trigger) => trigger.kind === "resource");
}
