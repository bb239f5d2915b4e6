/** The port of triggers: asks one external trigger for its value now. */
import type { ExternalTrigger, Source } from "../scaled_object/trigger.ts";

/** The kinds that are asked over the network; cron is computed and kubernetes-workload is counted by whoever knows the pods. */
export type AskedSource = Extract<Source, { readonly kind: "metrics-api" | "prometheus" }>;

/**
 * What asking gave. `value` is a double as the source has it, NaN and infinite ones too (R17 rounds it later). `isEmpty`: the source
 * answered, and had no value; KEDA counts those also where they are errors (R93).
 */
export type TriggerAnswer =
  | { readonly kind: "value"; readonly value: number; readonly isEmpty: boolean }
  | { readonly kind: "failed"; readonly message: string; readonly isEmpty: boolean };

/** Parameters of a TriggerAuthentication, resolved (R16); secrets among them are never logged. */
export type Credentials = Readonly<Record<string, string>>;

/** Asks once; resolves within the trigger's timeout and never rejects. */
export type AskTrigger = (
  trigger: ExternalTrigger & { readonly source: AskedSource },
  options: { readonly credentials: Credentials; readonly now: number; readonly signal: AbortSignal },
) => Promise<TriggerAnswer>;
