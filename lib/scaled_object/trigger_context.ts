/** What the parser of a trigger may look at beside the trigger. */
import type { Findings } from "./findings.ts";

export interface TriggersContext {
  readonly namespace: string;
  readonly findings: Findings;
  /** A formula stands for the external triggers: then some need no target (R60). */
  readonly hasFormula: boolean;
}

export interface TriggerContext extends TriggersContext {
  /** The trigger's place in spec.triggers. */
  readonly index: number;
}

/** Says whether a trigger is about the pods of the target, and nothing beside. */
export function isResourceType(type: unknown): boolean {
  return type === "cpu" || type === "memory";
}
