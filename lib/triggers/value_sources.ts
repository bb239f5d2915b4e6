/** Where the value of each kind of external trigger comes from: cron is computed, pods are counted, the rest is asked (R11 to R14). */
import type { ExternalTrigger } from "../scaled_object/trigger.ts";
import type { Selector } from "../units/selector.ts";
import { isWithinCron } from "../units/cron_next.ts";
import { oneLine } from "../kube/network_error.ts";
import type { AskedSource, AskTrigger, Credentials, TriggerAnswer } from "./trigger_source.ts";

/** Counts the pods of one namespace that match and are neither Succeeded nor Failed, or the distinct nodes that they are on (R12). */
export type CountPods = (
  pods: { readonly namespace: string; readonly selector: Selector; readonly isByNode: boolean },
  signal: AbortSignal,
) => number | Promise<number>;

export interface ValueSources {
  readonly ask: AskTrigger;
  readonly countPods: CountPods;
}

export interface ReadOptions {
  readonly namespace: string;
  readonly credentials: Credentials;
  /** Epoch ms. */
  readonly now: number;
  readonly signal: AbortSignal;
}

/** Resolves always. */
export async function readTrigger(
  trigger: ExternalTrigger,
  { ask, countPods }: ValueSources,
  options: ReadOptions,
): Promise<TriggerAnswer> {
  const { source } = trigger;
  const { namespace, now, signal } = options;
  try {
    switch (source.kind) {
      case "cron":
        return toValueAnswer(isWithinCron(source, { now, timezone: source.timezone }) ? source.desiredReplicas : 0);
      case "kubernetes-workload":
        return toValueAnswer(
          await countPods({ namespace, selector: source.selector, isByNode: source.isByNode }, signal),
        );
      default:
        return await ask(withSource(trigger, source), options);
    }
  } catch (error) {
    const cause = oneLine(error instanceof Error ? error.message : String(error));
    return { kind: "failed", message: `Cannot read trigger "${trigger.metricName}": ${cause}`, isEmpty: false };
  }
}

function withSource(trigger: ExternalTrigger, source: AskedSource): ExternalTrigger & { readonly source: AskedSource } {
  return { ...trigger, source };
}

function toValueAnswer(value: number): TriggerAnswer {
  return { kind: "value", value, isEmpty: false };
}
