/** The triggers of a ScaledObject by kind. */
import type { ScaledObject } from "../../scaled_object/scaled_object.ts";
import type { ExternalTrigger } from "../../scaled_object/trigger.ts";

export function listExternal({ triggers }: ScaledObject): readonly ExternalTrigger[] {
  return triggers.filter((trigger) => trigger.kind === "external");
}
