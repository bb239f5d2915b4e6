/**
 * How do the bytes of metrics.k8s.io become usage by pod? Any program may serve that API, so every value is checked.
 *
 * https://github.com/kubernetes/metrics/blob/v0.36.0/pkg/apis/metrics/v1beta1/types.go
 */
import { parseAmount } from "../../units/quantity.ts";
import type { Resource } from "../../units/resources.ts";
import { parseDuration, parseTime } from "../../units/time.ts";
import { isRecord } from "../../units/untrusted.ts";
import { projectEntries, projectJson, recordShape, type Shape } from "../json/projection.ts";

/** The usage of a container. */
interface ContainerMetrics {
  /** The mean over the window. */
  readonly millicores: number;
  readonly workingSetBytes: number;
}

/** The usage of the containers of a pod. */
export interface PodMetrics {
  readonly namespace: string;
  readonly name: string;
  /** The end of the window: epoch ms by the clock of the node, truncated to whole seconds. */
  readonly at: number;
  readonly windowMs: number;
  readonly containers: ReadonlyMap<string, ContainerMetrics>;
  /** How many containers were left out because of implausible numbers, or 1 for the whole pod. */
  readonly skipped: number;
}

export interface PodMetricsOptions {
  readonly isWanted: (namespace: string, name: string) => boolean;
  /** Epoch ms: points far ahead of it are left out. */
  readonly now: number;
}

/**
 * Parses a PodMetricsList entry by entry, so that the caller may pause in between. Yields each wanted pod, and `null`
 * for any other entry. Throws a SyntaxError if it is not such a list.
 */
export function* parsePodMetricsList(
  bytes: Uint8Array,
  options: PodMetricsOptions,
): Generator<PodMetrics | null, void> {
  const entries = projectEntries(bytes, "items", {
    kind: "list",
    entry: toEntryShape(options.isWanted),
    maxEntries: MAX_PODS,
  });
  while (true) {
    const { done, value } = entries.next();
    if (done !== true) yield value === undefined ? null : toPodMetrics(value, options.now);
    else if (value === null) throw new SyntaxError('it has no list "items"');
    else return;
  }
}

/** Parses one PodMetrics; returns `null` for one without a name. Throws a SyntaxError for invalid JSON. */
export function parsePodMetrics(bytes: Uint8Array, { now }: Pick<PodMetricsOptions, "now">): PodMetrics | null {
  return toPodMetrics(projectJson(bytes, POD).value, now);
}

const MAX_CONTAINERS = 500;

/** Kubernetes supports 150,000 pods: https://kubernetes.io/docs/setup/best-practices/cluster-large/ */
const MAX_PODS = 200_000;

const CONTAINER = recordShape({ name: "value", usage: recordShape({ cpu: "value", memory: "value" }) });

const POD = recordShape({
  metadata: recordShape({ name: "value", namespace: "value" }),
  timestamp: "value",
  window: "value",
  containers: { kind: "list", entry: CONTAINER, maxEntries: MAX_CONTAINERS },
});

function toEntryShape(isWanted: PodMetricsOptions["isWanted"]): Shape {
  return {
    ...POD,
    wanted: {
      field: "metadata",
      isWanted(metadata) {
        // An entry without a name is left out later.
        if (!isRecord(metadata) || !isName(metadata.namespace) || !isName(metadata.name)) return true;
        return isWanted(metadata.namespace, metadata.name);
      },
    },
  };
}

const MAX_LEAD_MS = 3_600_000;

/** A larger window says nothing about the present usage. */
const MAX_WINDOW_MS = 3_600_000;

/** More than any machine has. */
const MAX_MILLICORES = 2 ** 40;

const MAX_BYTES = 2 ** 50;

const MAX_NAME_LENGTH = 253;

function toPodMetrics(entry: unknown, now: number): PodMetrics | null {
  if (!isRecord(entry) || !isRecord(entry.metadata)) return null;
  const { namespace, name } = entry.metadata;
  const at = parseTime(entry.timestamp);
  const window = parseDuration(entry.window);
  const list = entry.containers ?? [];
  if (!isName(namespace) || !isName(name)) return null;
  const containers = new Map<string, ContainerMetrics>();
  const nothing = { namespace, name, at: 0, windowMs: 0, containers, skipped: 1 };
  if (!Array.isArray(list) || at === null || at <= 0 || at > now + MAX_LEAD_MS) return nothing;
  if (!window.ok || window.ms === 0 || window.ms > MAX_WINDOW_MS) return nothing;
  let skipped = 0;
  for (const one of list) {
    const metrics = isRecord(one) && isName(one.name) && !containers.has(one.name) ? toMetrics(one.usage) : null;
    if (metrics === null) skipped++;
    else containers.set(one.name, metrics);
  }
  return { namespace, name, at, windowMs: window.ms, containers, skipped };
}

function toMetrics(usage: unknown): ContainerMetrics | null {
  if (!isRecord(usage)) return null;
  const millicores = parsePlainAmount(usage.cpu, "cpu");
  const workingSetBytes = parsePlainAmount(usage.memory, "memory");
  if (millicores === null || millicores > MAX_MILLICORES) return null;
  if (workingSetBytes === null || workingSetBytes > MAX_BYTES) return null;
  return { millicores, workingSetBytes };
}

/** The forms that metrics-server nearly always writes: `1234567n` and `12Ki`. */
const PLAIN = /^(\d{1,15})(n|u|m|Ki)$/;

const FACTORS: Readonly<Record<string, number>> = { n: 1e6, u: 1e3, m: 1 };

/** Returns millicores, with the fraction that `parseAmount` would round up, or bytes; `null` for another form. */
function parsePlainAmount(value: unknown, resource: Resource): number | null {
  const [, digits, suffix = ""] = typeof value === "string" ? PLAIN.exec(value) ?? [] : [];
  const factor = FACTORS[suffix];
  if (resource === "cpu" && factor !== undefined) return Number(digits) / factor;
  if (resource === "memory" && suffix === "Ki") return Number(digits) * 1024;
  const parsed = parseAmount(value, resource);
  return parsed.ok && parsed.amount >= 0 ? parsed.amount : null;
}

function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= MAX_NAME_LENGTH;
}
