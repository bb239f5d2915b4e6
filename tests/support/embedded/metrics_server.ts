/**
 * How does the embedded cluster serve metrics.k8s.io? It reads `/metrics/resource` of each kubelet every 15 s.
 * https://github.com/kubernetes-sigs/metrics-server/blob/v0.9.0/pkg/storage/pod.go
 */
import type { Extension, ExtensionParts } from "../../../lib/embedded/cluster.ts";
import { type JsonObject, objectAt } from "../../../lib/embedded/json.ts";
import type { ClusterNode } from "../../../lib/embedded/node.ts";
import { notFound } from "../../../lib/embedded/server/refusal.ts";
import { formatDuration, formatTime } from "../../../lib/units/time.ts";

/** A metrics-server for the nodes of the moment. */
export function createMetricsServer({ nodes, store, clock, token }: ExtensionParts): Extension {
  let points: ReadonlyMap<string, PodPoints> = new Map();

  async function scrape(node: ClusterNode, signal: AbortSignal): Promise<readonly ResourcePoint[]> {
    using timeout = clock.timeout(TIMEOUT_MS);
    const { host, port } = node.place;
    const headers: HeadersInit = token === null ? {} : { authorization: `Bearer ${token}` };
    try {
      const both = AbortSignal.any([signal, timeout.signal]);
      const request = new Request(`https://${host}:${port}/metrics/resource`, { headers, signal: both });
      const response = await node.handle(request);
      const text = await response.text();
      return response.ok ? parseResourcePoints(text) : [];
    } catch {
      // A node that does not answer has no usage, as long as it does not.
      return [];
    }
  }

  function findPod(namespace: string, name: string): JsonObject | null {
    const found = points.get(`${namespace}/${name}`);
    const pod = store().collection("/pods").get(namespace, name);
    return found === undefined || pod === null ? null : toPodMetrics(found, pod.object, clock.now());
  }

  return {
    async run(signal) {
      while (!signal.aborted) {
        const read = await Promise.all([...nodes.values()].map((node) => scrape(node, signal)));
        points = nextPoints(points, read.flat());
        await clock.sleep(RESOLUTION_MS, signal).catch(() => {});
      }
    },
    answer({ group, version, plural, namespace, name }) {
      if (group !== GROUP || version !== "v1beta1" || plural !== "pods") return null;
      const head = (kind: string) => ({ kind, apiVersion: `${GROUP}/${version}` });
      if (name !== "") {
        const one = findPod(namespace ?? "", name);
        if (one === null) throw notFound({ group, plural: "podmetrics", kind: "" }, `${namespace}/${name}`);
        return { ...head("PodMetrics"), ...one };
      }
      const items = [...points.values()].filter((pod) => namespace === null || pod.namespace === namespace)
        .flatMap((pod) => findPod(pod.namespace, pod.name) ?? []);
      return { ...head("PodMetricsList"), metadata: {}, items };
    },
  };
}

const GROUP = "metrics.k8s.io";

const RESOLUTION_MS = 15_000;

const TIMEOUT_MS = 10_000;

/** The age, in ms, from which a container has a rate since its start. */
const FRESH_MS = 10_000;

interface PodPoints {
  readonly namespace: string;
  readonly name: string;
  /** The newest, and the one before it where there is one. */
  readonly containers: readonly { readonly last: ResourcePoint; readonly before: ResourcePoint | null }[];
}

function nextPoints(
  before: ReadonlyMap<string, PodPoints>,
  read: readonly ResourcePoint[],
): ReadonlyMap<string, PodPoints> {
  const next = new Map<string, PodPoints>();
  for (const [key, own] of Map.groupBy(read, ({ namespace, pod }) => `${namespace}/${pod}`)) {
    const [{ namespace, pod: name } = { namespace: "", pod: "" }] = own;
    const known = before.get(key)?.containers ?? [];
    const containers = own.map((last) => {
      const same = known.find((one) => one.last.container === last.container);
      return { last, before: findBefore(last, same) };
    });
    next.set(key, { namespace, name, containers });
  }
  return next;
}

function findBefore(last: ResourcePoint, known: PodPoints["containers"][number] | undefined): ResourcePoint | null {
  const ageMs = last.at - last.startedAt;
  if (ageMs < RESOLUTION_MS && ageMs >= FRESH_MS) return { ...last, at: last.startedAt, cpuNs: 0 };
  // Another instance began after the point that is known.
  if (known === undefined || last.startedAt >= known.last.at) return null;
  if (last.at > known.last.at) return known.last;
  return known.before !== null && known.before.at < last.at ? known.before : null;
}

function toPodMetrics(
  { namespace, name, containers }: PodPoints,
  pod: JsonObject,
  now: number,
): JsonObject | null {
  const rates = containers.flatMap(({ last, before }) => before === null ? [] : [{ last, before }]);
  const [earliest] = rates.toSorted((a, b) => a.last.at - b.last.at);
  if (earliest === undefined || rates.length < containers.length) return null;
  const { labels } = objectAt(pod, "metadata");
  return {
    metadata: { name, namespace, creationTimestamp: formatTime(now), ...(labels === undefined ? {} : { labels }) },
    timestamp: formatTime(earliest.last.at),
    window: formatDuration(earliest.last.at - earliest.before.at),
    containers: rates.map(({ last, before }) => {
      const nanoCores = Math.max(0, Math.floor((last.cpuNs - before.cpuNs) / (last.at - before.at) * 1000));
      return {
        name: last.container,
        usage: { cpu: formatNanos(nanoCores), memory: formatBytes(last.workingSetBytes) },
      };
    }),
  };
}

/** The largest unit without a fraction, as Quantity has it: `5m`, `1230u`, `1234567n`. */
function formatNanos(nanos: number): string {
  if (nanos === 0) return "0";
  const [unit, suffix] = ([[1e9, ""], [1e6, "m"], [1e3, "u"]] as const).find(([one]) => nanos % one === 0) ?? [1, "n"];
  return `${nanos / unit}${suffix}`;
}

function formatBytes(bytes: number): string {
  const units = [[2 ** 30, "Gi"], [2 ** 20, "Mi"], [2 ** 10, "Ki"]] as const;
  const [unit, suffix] = (bytes === 0 ? undefined : units.find(([one]) => bytes % one === 0)) ?? [1, ""];
  return `${bytes / unit}${suffix}`;
}

/** A container at one time. */
interface ResourcePoint {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  /** Epoch ms. */
  readonly startedAt: number;
  readonly at: number;
  readonly cpuNs: number;
  readonly workingSetBytes: number;
}

/** Gives the containers of which all is there that a point needs; zeros of one that has ended are none. */
function parseResourcePoints(text: string): readonly ResourcePoint[] {
  const found = new Map<string, Partial<Record<string, ParsedLine>>>();
  for (const [, family = "", labels = "", value, at] of text.matchAll(SAMPLE_LINE)) {
    found.set(labels, { ...found.get(labels), [family]: { value: Number(value), at: Number(at ?? NaN) } });
  }
  return [...found].flatMap(([labels, { cpu_usage_seconds_total: cpu, memory_working_set_bytes: memory, ...rest }]) => {
    const { start_time_seconds: start } = rest;
    const [, container = "", namespace = "", pod = ""] = LABELS.exec(labels) ?? [];
    if (cpu === undefined || memory === undefined || cpu.value === 0 || memory.value === 0) return [];
    return [{
      namespace,
      pod,
      container,
      startedAt: 1000 * (start?.value ?? 0),
      at: cpu.at,
      cpuNs: Math.round(cpu.value * 1e9),
      workingSetBytes: memory.value,
    }];
  });
}

interface ParsedLine {
  readonly value: number;
  /** Epoch ms. */
  readonly at: number;
}

const SAMPLE_LINE = /^container_(\w+)\{([^}]*)\} (\S+)(?: (\d+))?$/gm;

const LABELS = /^container="([^"]*)",namespace="([^"]*)",pod="([^"]*)"$/;
