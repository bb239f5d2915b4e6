/** What a pod uses now, as the metrics API would tell the HPA controller (R21 to R24). */
import { SILENCE_MS } from "../observe/silence.ts";
import type { PodFacts } from "../pod/pod_facts.ts";
import type { PodMetric } from "./pod_reading.ts";
import type { PodRates } from "./rates.ts";

/** Which metric of which pod, and when. */
export interface MetricQuery {
  readonly pod: PodFacts;
  readonly type: "cpu" | "memory";
  /** `null` = the sum of the pod. */
  readonly container: string | null;
  readonly now: number;
}

/**
 * `null` = the pod is missing (R23): a container that runs has no sample yet, or none for so long, or its counter fell. The time and
 * the window are the whole pod's, also of one container's metric: those of the container whose sample ends first (R22).
 */
export function readMetric(rates: PodRates | null, { pod, type, container, now }: MetricQuery): PodMetric | null {
  let [milli, isFound] = [0n, false];
  let first: { readonly at: number; readonly windowMs: number } | null = null;
  for (const { name, kind, runningAt } of pod.containers) {
    if (kind === "init" || runningAt === null) continue;
    const own = rates !== null && Object.hasOwn(rates.containers, name) ? rates.containers[name] : undefined;
    if (own === undefined || own.rate === null || Math.abs(now - own.seenAt) >= SILENCE_MS) return null;
    const { at, rate: { nanocores, windowMs } } = own;
    if (first === null || at < first.at) first = { at, windowMs };
    if (container !== null && container !== name) continue;
    isFound = true;
    milli += type === "cpu" ? toMillicores(nanocores) : toMilliBytes(own.workingSetBytes);
  }
  return isFound && first !== null ? { milli, ...first } : null;
}

/** Rounded up, as Quantity.MilliValue does: each container by itself. */
function toMillicores(nanocores: number): bigint {
  return (BigInt(nanocores) + 999_999n) / 1_000_000n;
}

function toMilliBytes(bytes: number): bigint {
  return BigInt(Math.trunc(bytes)) * 1000n;
}
