/** What the status says of the target (R6). */
import type { Target } from "../../scaled_object/scaled_object.ts";
import { splitApiVersion } from "./notify/words.ts";

/** status.scaleTargetGVKR. */
export interface TargetGvkr {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly resource: string;
}

export function toTargetGvkr({ apiVersion, kind }: Target, resource: string): TargetGvkr {
  return { ...splitApiVersion(apiVersion), kind, resource };
}

/** The plural of kinds that need no discovery; of others a guess, which discovery replaces. */
export function nameResource({ kind }: Target): string {
  return `${kind.toLowerCase()}s`;
}
