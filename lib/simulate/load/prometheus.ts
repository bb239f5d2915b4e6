/**
 * How does the answer of a Prometheus range query become a load?
 * The usage is at most what the limit allowed: where CPU was throttled, the demand was higher.
 * https://prometheus.io/docs/prometheus/latest/querying/api/#range-queries
 */
import { isRecord, quote } from "../../units/untrusted.ts";
import { type FetchLoads, listSeen, type NamedLoad, type Points, toLoad } from "../load.ts";

export interface PrometheusRange {
  /** http or https, with what comes before `/api/v1`. */
  readonly url: string;
  /** A selector of cAdvisor's series (`{namespace="shop"}`), or an expression that gives CPU cores by container. */
  readonly query: string;
  /** Gives bytes by container; of a selector podfit makes it. */
  readonly memoryQuery?: string;
  /** Epoch ms. */
  readonly from: number;
  readonly to: number;
}

/** Sends a GET and reads its answer, with a limit for time and size. Rejects without an answer. */
export type GetText = (url: string) => Promise<{ readonly status: number; readonly text: string }>;

/**
 * What Prometheus itself allows for one series: https://github.com/prometheus/prometheus/blob/main/web/api/v1/api.go
 */
const MAX_POINTS = 11_000;

const MIN_STEP_SECONDS = 5;

const MAX_SERIES = 64;

export const MAX_ANSWER_BYTES = 32 * 2 ** 20;

/** Resolves to one load for each container, by name. Never rejects. */
export async function fetchPrometheusLoads(range: PrometheusRange, get: GetText): Promise<FetchLoads> {
  const { cpu, memory } = toQueries(range);
  const readCpu = await fetchQuery(cpu, range, get);
  if (!readCpu.ok) return readCpu;
  const readMemory = memory === null ? { ok: true as const, series: NO_SERIES } : await fetchQuery(memory, range, get);
  if (!readMemory.ok) return readMemory;
  const names = [...new Set([...readCpu.series.keys(), ...readMemory.series.keys()])].sort();
  if (names.length === 0) return refuse(cpu, "it gives no series in that time; try it in Prometheus' own page");
  const loads = names.map((name): NamedLoad => {
    const cores = readCpu.series.get(name) ?? [];
    const points = {
      cpu: cores.map(([second, value]) => [second, value * 1000] as const),
      memory: readMemory.series.get(name) ?? [],
    };
    return { pod: null, container: name === "" ? null : name, load: toLoad(points), seen: listSeen(points) };
  });
  return { ok: true, loads };
}

/** By container; the empty name is that of a series without one. */
type Series = ReadonlyMap<string, Points>;

const NO_SERIES: Series = new Map();

type Asked = { readonly ok: true; readonly series: Series } | { readonly ok: false; readonly message: string };

/** The mean over pods, as each is resized by its own usage. */
function toQueries({ query, memoryQuery }: PrometheusRange) {
  if (!query.trim().startsWith("{")) return { cpu: query, memory: memoryQuery ?? null };
  const inner = query.trim().replace(/^\{/, "").replace(/\}$/, "").replace(/,\s*$/, "").trim();
  const selector = `{${inner === "" ? "" : `${inner},`}container!="",container!="POD"}`;
  return {
    cpu: `avg by (container) (rate(container_cpu_usage_seconds_total${selector}[1m]))`,
    memory: memoryQuery ?? `avg by (container) (container_memory_working_set_bytes${selector})`,
  };
}

async function fetchQuery(query: string, { url, from, to }: PrometheusRange, get: GetText): Promise<Asked> {
  const target = URL.parse(`${url.replace(/\/+$/, "")}/api/v1/query_range`);
  if (target === null || !/^https?:$/.test(target.protocol)) {
    return { ok: false, message: `Cannot ask Prometheus at ${quote(url)}: write its http or https URL` };
  }
  const seconds = Math.max(0, (to - from) / 1000);
  const step = Math.max(MIN_STEP_SECONDS, Math.ceil(seconds / (MAX_POINTS - 1)));
  const parameters = { query, start: `${from / 1000}`, end: `${to / 1000}`, step: `${step}` };
  for (const [name, value] of Object.entries(parameters)) target.searchParams.set(name, value);
  try {
    const { status, text } = await get(target.href);
    return parseSeries(text, { query, status });
  } catch (error) {
    return refuse(query, error instanceof Error ? error.message : String(error));
  }
}

interface AnswerContext {
  readonly query: string;
  readonly status: number;
}

function parseSeries(text: string, { query, status }: AnswerContext): Asked {
  if (text.length > MAX_ANSWER_BYTES) return refuse(query, "the answer has more than 32 MiB; ask for less");
  const body = parseJson(text);
  if (!isRecord(body)) return refuse(query, `status ${status}, and the answer is no JSON: is it Prometheus' address?`);
  if (body["status"] !== "success") {
    const said = typeof body["error"] === "string" ? `: ${quote(body["error"])}` : "";
    return refuse(query, `Prometheus answers status ${status}${said}`);
  }
  const data = isRecord(body["data"]) ? body["data"] : {};
  const result = data["result"];
  if (data["resultType"] !== "matrix" || !Array.isArray(result)) {
    return refuse(query, "the answer is no matrix; the query has to give an instant vector");
  }
  if (result.length > MAX_SERIES) return refuse(query, `it gives ${result.length} series; aggregate them by container`);
  const series = new Map<string, Points>();
  for (const one of result) {
    const { container, points } = parseOneSeries(one);
    if (series.has(container)) {
      return refuse(query, `it gives several series of container ${quote(container)}; write avg by (container) (...)`);
    }
    if (points.length > 0) series.set(container, points);
  }
  return { ok: true, series };
}

/** Points that are not numbers are left out: the line goes on over them. */
function parseOneSeries(one: unknown): { readonly container: string; readonly points: Points } {
  const { metric, values } = isRecord(one) ? one : {};
  const container = isRecord(metric) && typeof metric["container"] === "string" ? metric["container"] : "";
  if (!Array.isArray(values)) return { container, points: [] };
  const points: (readonly [number, number])[] = [];
  for (const pair of values.slice(0, MAX_POINTS)) {
    if (!Array.isArray(pair)) continue;
    const [at, text] = pair;
    const value = typeof text === "string" && text !== "" ? Number(text) : NaN;
    const isLater = typeof at === "number" && at > (points.at(-1)?.[0] ?? -Infinity);
    if (isLater && Number.isFinite(value)) points.push([at, Math.max(0, value)]);
  }
  return { container, points };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function refuse(query: string, cause: string): { readonly ok: false; readonly message: string } {
  return { ok: false, message: `Cannot read a load by query ${quoteQuery(query)}: ${cause}` };
}

/** Longer than quote() shows: a query is read by who wrote it. */
function quoteQuery(query: string): string {
  return JSON.stringify(query.length > 300 ? `${query.slice(0, 300)}...` : query);
}
