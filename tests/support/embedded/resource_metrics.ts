/**
 * How does a kubelet write `/metrics/resource`?
 * https://kubernetes.io/docs/reference/instrumentation/metrics/
 */
import type { Summary } from "../../../lib/api/summary.ts";
import type { KubeletAnswers } from "../../../lib/embedded/kubelet/kubelet.ts";

/** The content type of the text format of Prometheus. */
const RESOURCE_METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** The text of `/metrics/resource` for what a summary says. */
export function writeResourceMetrics(summary: Summary): string {
  const samples = listSamples(summary);
  const lines: string[] = [];
  for (const [family, { help, type }] of Object.entries(FAMILIES)) {
    const own = samples.filter((sample) => sample.family === family);
    if (own.length === 0) continue;
    lines.push(`# HELP ${family} ${help}`, `# TYPE ${family} ${type}`);
    const series = own.map(({ labels, value, at }) =>
      `${family}${labels} ${formatFloat(value)}${at === null ? "" : ` ${at}`}`
    );
    lines.push(...series.sort());
  }
  return lines.join("\n") + "\n";
}

/** The answer of a kubelet, for those that have `/metrics/resource`. */
export const RESOURCE_METRICS: KubeletAnswers = {
  "/metrics/resource": (machine) =>
    new Response(writeResourceMetrics(machine.computeSummary()), {
      headers: { "content-type": RESOURCE_METRICS_TYPE },
    }),
};

/** A kubelet compresses this page for clients that accept gzip, as metrics-server does, and no other page. */
export function compressMetrics(answer: Response, asked: Headers): Response {
  const isMetrics = answer.headers.get("content-type") === RESOURCE_METRICS_TYPE;
  if (!isMetrics || answer.body === null || !/\bgzip\b/.test(asked.get("accept-encoding") ?? "")) return answer;
  const headers = new Headers(answer.headers);
  headers.set("content-encoding", "gzip");
  return new Response(answer.body.pipeThrough(new CompressionStream("gzip")), { headers });
}

const FAMILIES = {
  container_cpu_usage_seconds_total: {
    help: "[STABLE] Cumulative cpu time consumed by the container in core-seconds",
    type: "counter",
  },
  container_memory_working_set_bytes: {
    help: "[STABLE] Current working set of the container in bytes",
    type: "gauge",
  },
  container_start_time_seconds: {
    help: "[STABLE] Start time of the container since unix epoch in seconds",
    type: "gauge",
  },
  node_cpu_usage_seconds_total: {
    help: "[STABLE] Cumulative cpu time consumed by the node in core-seconds",
    type: "counter",
  },
  node_memory_working_set_bytes: { help: "[STABLE] Current working set of the node in bytes", type: "gauge" },
  pod_cpu_usage_seconds_total: {
    help: "[STABLE] Cumulative cpu time consumed by the pod in core-seconds",
    type: "counter",
  },
  pod_memory_working_set_bytes: { help: "[STABLE] Current working set of the pod in bytes", type: "gauge" },
  resource_scrape_error: {
    help: "[STABLE] 1 if there was an error while getting container metrics, 0 otherwise",
    type: "gauge",
  },
  scrape_error: {
    help: "[ALPHA] (Deprecated since 1.29.0) 1 if there was an error while getting container metrics, 0 otherwise",
    type: "gauge",
  },
} as const;

interface Sample {
  readonly family: keyof typeof FAMILIES;
  /** The labels as they are written, with their braces. */
  readonly labels: string;
  readonly value: number;
  /** Epoch ms; `null` = the time it is asked at. */
  readonly at: number | null;
}

type Usage = Pick<NonNullable<Summary["node"]>, "cpu" | "memory">;

function listSamples({ node = {}, pods = [] }: Summary): readonly Sample[] {
  return [
    ...listUsage("node", "", node),
    ...pods.flatMap(({ podRef = {}, containers = [], ...pod }) => {
      const labels = `namespace="${podRef.namespace}",pod="${podRef.name}"`;
      return [
        ...listUsage("pod", `{${labels}}`, pod),
        ...containers.flatMap(({ name, startTime, ...container }) => {
          const own = `{container="${name}",${labels}}`;
          const value = Date.parse(startTime ?? "") / 1000;
          const started = { family: "container_start_time_seconds", labels: own, value, at: null } as const;
          return [...(value > 0 ? [started] : []), ...listUsage("container", own, container)];
        }),
      ];
    }),
    { family: "resource_scrape_error", labels: "", value: 0, at: null },
    { family: "scrape_error", labels: "", value: 0, at: null },
  ];
}

function listUsage(of: "node" | "pod" | "container", labels: string, { cpu, memory }: Usage): readonly Sample[] {
  const counterNs = cpu?.usageCoreNanoSeconds;
  const workingSetBytes = memory?.workingSetBytes;
  return [
    ...(counterNs === undefined
      ? []
      : [{ family: `${of}_cpu_usage_seconds_total`, labels, value: counterNs / 1e9, at: toMs(cpu?.time) } as const]),
    ...(workingSetBytes === undefined ? [] : [
      { family: `${of}_memory_working_set_bytes`, labels, value: workingSetBytes, at: toMs(memory?.time) } as const,
    ]),
  ];
}

function toMs(time: string | undefined): number | null {
  const ms = Date.parse(time ?? "");
  return Number.isNaN(ms) ? null : ms;
}

/** A number as Go's %g writes it: as few digits as it needs, with an exponent from a million on and below 0.0001. */
function formatFloat(value: number): string {
  if (value === 0) return "0";
  const [digits = "", exponent = "0"] = value.toExponential().split("e");
  if (Number(exponent) >= -4 && Number(exponent) < 6) return String(value);
  return `${digits}e${exponent[0]}${exponent.slice(1).padStart(2, "0")}`;
}
