/**
 * Autoscalers for short scenarios: a spec that acts on CPU requests within seconds of a high load and never scales
 * down, and waiting for what podfit says about it.
 */
import { readAutoscaler, waitFor } from "./cluster.ts";
import type { WaitOptions } from "./wait.ts";
import type { AutoscalerJson, Condition } from "./objects.ts";

/** The pods of a workload, or those with labels. */
export type Pods = { readonly target: PodTarget } | { readonly selector: Readonly<Record<string, unknown>> };

export interface PodTarget {
  readonly kind: "deployment" | "statefulset" | "daemonset";
  readonly name: string;
}

export interface QuickOptions {
  readonly containerName?: string;
  readonly cooldown?: string;
  readonly after?: "running" | "containerReady" | "podReady";
  /** The letter: a sample of before the new size counts for nothing (L60). */
  readonly throttling?: "measure" | "ignore";
  /** Bounds of the CPU request; `max` makes the number of resizes known, `step` spreads one rise over several. */
  readonly max?: string;
  readonly step?: string;
}

/** The times of a policy that acts on each sample, as soon as it may. */
export const QUICK_TIMES = { pollInterval: "5s", consecutiveSamples: 1, cooldown: "5s", delay: "0s" };

/**
 * Up at 60 % of the request, aiming at 50 %. On a busy machine a load gets a fraction of what it wants: give it six
 * times its request, and what it gets is still too much for it.
 */
export function quickSpec(pods: Pods, options: QuickOptions = {}): Readonly<Record<string, unknown>> {
  const { containerName = "main", cooldown = "5s", after = "containerReady", throttling = "measure", ...bounds } =
    options;
  return {
    ...pods,
    containerName,
    policy: {
      ...QUICK_TIMES,
      cooldown,
      after,
      cpu: { throttling, requests: { scaleUpThreshold: 60, scaleDownThreshold: 0, targetUtilization: 50 } },
    },
    ...(Object.keys(bounds).length === 0 ? {} : { bounds: { cpu: { requests: bounds } } }),
  };
}

/** What a condition has to look like; a message has to contain the text. */
export type Wanted = Pick<Condition, "status"> & Partial<Pick<Condition, "reason" | "message">>;

/** Waits until all these conditions of an autoscaler, by type, are so at once. */
export function waitForConditions(
  { namespace, name }: { readonly namespace: string; readonly name: string },
  wanted: Readonly<Record<string, Wanted>>,
  options: WaitOptions = {},
): Promise<AutoscalerJson> {
  return waitFor(`conditions ${JSON.stringify(wanted)} of "${name}"`, async () => {
    const autoscaler = await readAutoscaler(namespace, name);
    const conditions = autoscaler.status?.conditions ?? [];
    const isSo = Object.entries(wanted).every(([type, { status, reason, message = "" }]) =>
      conditions.some((condition) =>
        condition.type === type && condition.status === status && (reason ?? condition.reason) === condition.reason &&
        condition.message?.includes(message)
      )
    );
    if (isSo) return autoscaler;
    throw new Error(
      `seen: ${JSON.stringify(conditions.map(({ type, status, reason }) => `${type}=${status}/${reason}`))}`,
    );
  }, options);
}

/** Waits until the status shows this resize, e.g. `cpu.requests 100m -> 200m`; it follows within a second or two. */
export function waitForLastChange(
  { namespace, name }: { readonly namespace: string; readonly name: string },
  change: string,
  { timeoutMs = 15_000 }: WaitOptions = {},
): Promise<AutoscalerJson> {
  return waitFor(`the status of "${name}" to show ${change}`, async () => {
    const autoscaler = await readAutoscaler(namespace, name);
    const { lastScaleResourceChange: seen = "nothing" } = autoscaler.status ?? {};
    if (seen === change) return autoscaler;
    throw new Error(`seen: ${seen}`);
  }, { timeoutMs });
}
