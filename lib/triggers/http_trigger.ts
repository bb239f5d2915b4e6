/**
 * Asks a prometheus or metrics-api trigger for its value: sends the request within the timeout, and parses the answer
 * to one number.
 *
 * The answer is a Prometheus API response, or JSON, YAML or Prometheus text.
 */
import type { ExternalTrigger, MetricsApiSource } from "../model/scaled_object.ts";
import { findAtPath, parseJsonPath } from "../resources/scaled_object/json_path.ts";
import { parseMetricSelector } from "../resources/scaled_object/metric_selector.ts";
import type { Clock } from "../runtime/clock.ts";
import { parseGoFloat } from "../units/numbers.ts";
import { quantityToDouble } from "../units/quantity.ts";
import { isRecord } from "../units/untrusted.ts";
import { parseExposition } from "./exposition.ts";
import { adviseOnStatus, describeFailure, fetchText, type SendToTrigger } from "./http_client.ts";
import { resolveAuth, toTriggerRequest } from "./request.ts";
import type { AnswerWork, AskTrigger, HttpTriggerSource, TriggerAnswer, ValueResult } from "./value.ts";
import { findExcess, MAX_PLAIN_MARKS, parsePlain } from "../runtime/yaml.ts";

interface AskTriggerOptions {
  readonly clock: Pick<Clock, "timeout">;
  readonly send: SendToTrigger;
  /** podfit's version, for the User-Agent. */
  readonly version: string;
  /** Larger answers are failures. */
  readonly maxAnswerBytes?: number;
}

/** The default of `--max-trigger-answer`. A page with the metrics of one process is smaller, as one series is. */
export const DEFAULT_MAX_ANSWER_BYTES = 128 * 1024;

/**
 * The returned function always resolves: a failed query is a failed answer, which says why and names no secret.
 * Clauses: R13, R14, R15.
 */
export function createAskTrigger(options: AskTriggerOptions): AskTrigger<HttpTriggerSource> {
  const { maxAnswerBytes = DEFAULT_MAX_ANSWER_BYTES } = options;
  return async (trigger, asked) => {
    const { credentials, now, signal, namespace = "", isNodeAddress = () => false, work = UNCOUNTED } = asked;
    const resolved = resolveAuth(trigger.source, credentials);
    if (!resolved.ok) return failTrigger(trigger, resolved.cause);
    const { auth } = resolved;
    const built = toTriggerRequest(trigger.source, { auth, now, userAgent: `podfit/${options.version}` });
    if (!built.ok) return failTrigger(trigger, built.cause);
    const { ca, isTlsUnverified } = auth;
    using timeout = options.clock.timeout(trigger.source.timeoutMs);
    try {
      const got = await fetchText(built.request, {
        send: options.send,
        accepts: (status) => isAnswer(trigger.source, status),
        limitBytes: maxAnswerBytes,
        onBytes: work.countBytes,
        signal: AbortSignal.any([signal, timeout.signal]),
        ca,
        isTlsUnverified,
        namespace,
        isNodeAddress,
      });
      if (!got.ok) return failTrigger(trigger, got.cause);
      if (isAnswer(trigger.source, got.status)) return await work.run(() => toTriggerAnswer(trigger, got.text));
      return failTrigger(trigger, `it answered ${got.status}${adviseOnStatus(got.status)}`);
    } catch (error) {
      if (signal.aborted) return failTrigger(trigger, "stopped before it answered");
      const seconds = trigger.source.timeoutMs / 1000;
      if (timeout.signal.aborted) {
        return failTrigger(trigger, `no answer within ${seconds} s; make it faster, or raise timeout`);
      }
      return failTrigger(trigger, describeFailure(error));
    }
  };
}

const UNCOUNTED: AnswerWork = { run: (job) => Promise.resolve(job()), countBytes: () => {} };

type AskedTrigger = ExternalTrigger & { readonly source: HttpTriggerSource };

function isAnswer({ kind }: HttpTriggerSource, status: number): boolean {
  return kind === "metrics-api" ? status === 200 : status >= 200 && status <= 299;
}

function toTriggerAnswer(trigger: AskedTrigger, text: string): TriggerAnswer {
  const parsed: ValueResult & { readonly isEmpty?: boolean } = trigger.source.kind === "prometheus"
    ? parsePrometheusAnswer(text, trigger.source)
    : parseLocatedValue(text, trigger.source);
  const { isEmpty = false } = parsed;
  return parsed.ok
    ? { kind: "value", value: parsed.value, isEmpty }
    : { ...failTrigger(trigger, parsed.cause), isEmpty };
}

function failTrigger({ metricName, source }: AskedTrigger, cause: string): Extract<TriggerAnswer, { kind: "failed" }> {
  const address = source.kind === "prometheus" ? source.serverAddress : source.url;
  return {
    kind: "failed",
    message: `Cannot read trigger "${metricName}" from ${toSafeAddress(address)}: ${cause}`,
    isEmpty: false,
  };
}

/** Without user, password, query and fragment, which may contain secrets. */
function toSafeAddress(address: string): string {
  const url = URL.parse(address);
  return url === null || !/^https?:$/.test(url.protocol) ? "its address" : `"${url.origin}${url.pathname}"`;
}

/** `isEmpty`: no series, or none with a value. */
type PrometheusValue = ValueResult & { readonly isEmpty: boolean };

/**
 * Returns the value of an instant query. Quotes nothing of the text. Never throws.
 * https://prometheus.io/docs/prometheus/latest/querying/api/#instant-queries
 * Clauses: R14.
 */
export function parsePrometheusAnswer(text: string, { ignoresNullValues }: PrometheusOptions): PrometheusValue {
  const series = parseSeries(text);
  if (series === null) {
    return failPrometheus("the answer is not a list of series; the query must give an instant vector, not a scalar");
  }
  const [first, second] = series;
  if (second !== undefined) return failPrometheus("the query gave several series; aggregate them to one");
  if (first === undefined || first.length === 0) {
    if (ignoresNullValues) return { ok: true, value: 0, isEmpty: true };
    return { ok: false, cause: "the query gave no value, and ignoreNullValues is false", isEmpty: true };
  }
  if (first.length === 1) return failPrometheus("the query gave a time without a value");
  const value = toSampleValue(first[1]);
  if (value === null) return failPrometheus("the value of the series is not a number");
  if (Number.isFinite(value)) return { ok: true, value, isEmpty: false };
  if (ignoresNullValues) return { ok: true, value: 0, isEmpty: false };
  return failPrometheus("the query gave NaN or an infinite value, and ignoreNullValues is false");
}

interface PrometheusOptions {
  readonly ignoresNullValues: boolean;
}

function failPrometheus(cause: string): PrometheusValue {
  return { ok: false, cause, isEmpty: false };
}

/** Returns the value of each series, which is [time, value]; `null` if Go's decoder would fail. */
function parseSeries(text: string): readonly (readonly unknown[])[] | null {
  const answer = parseJson(text);
  const body = answer === null ? {} : answer;
  if (!isRecord(body) || !isStringOrAbsent(body["status"])) return null;
  const answered = body["data"] ?? {};
  if (!isRecord(answered) || !isStringOrAbsent(answered["resultType"])) return null;
  const result = answered["result"] ?? [];
  if (!Array.isArray(result)) return null;
  const series = result.map(parseOneSeries);
  return series.includes(null) ? null : series.filter((one) => one !== null);
}

function parseOneSeries(element: unknown): readonly unknown[] | null {
  const one = element ?? {};
  if (!isRecord(one) || !isRecord(one["metric"] ?? {})) return null;
  const value = one["value"] ?? [];
  return Array.isArray(value) ? value : null;
}

/** Returns `undefined` for a text that is not JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isStringOrAbsent(value: unknown): boolean {
  return value === undefined || value === null || typeof value === "string";
}

/** A null value is -1, as in KEDA. */
function toSampleValue(value: unknown): number | null {
  if (value === null) return -1;
  return typeof value === "string" ? parseGoFloat(value) : null;
}

/** Reads a number, or a string as a quantity. Never throws. Clauses: R13, R15. */
export function parseLocatedValue(text: string, { format, valueLocation }: Location): ValueResult {
  switch (format) {
    case "json":
      return findInJson(text, valueLocation);
    case "yaml":
      return findInYaml(text, valueLocation);
    case "prometheus": {
      const parsed = parseMetricSelector(valueLocation);
      return parsed.ok ? parseExposition(text, parsed.selector) : { ok: false, cause: parsed.message };
    }
  }
}

type Location = Pick<MetricsApiSource, "format" | "valueLocation">;

function findInJson(text: string, valueLocation: string): ValueResult {
  const parsed = parseJsonPath(valueLocation);
  if (!parsed.ok) return { ok: false, cause: parsed.message };
  try {
    return toLocatedValue(findAtPath(parsed.path, JSON.parse(text)));
  } catch {
    return { ok: false, cause: "the answer is not JSON; check url and format" };
  }
}

/** A larger text costs too much to parse, and an answer with one value is smaller. */
const MAX_YAML_BYTES = 16 * 1024;

const TOO_MUCH_YAML =
  "the answer has more than 16 KiB of YAML, more than 1000 lines, fields and values, or long lines that begin with " +
  "many spaces; ask for less, or use format json";

function findInYaml(text: string, valueLocation: string): ValueResult {
  const isTooLong = new TextEncoder().encode(text).length > MAX_YAML_BYTES;
  if (isTooLong || findExcess(text, MAX_PLAIN_MARKS) !== null) return { ok: false, cause: TOO_MUCH_YAML };
  try {
    const document = parsePlain(text);
    return isRecord(document)
      ? toLocatedValue(findAtDotPath(valueLocation, document))
      : { ok: false, cause: "the answer is not a map" };
  } catch {
    return { ok: false, cause: NO_PLAIN_YAML };
  }
}

const NO_PLAIN_YAML =
  "the answer is not one YAML document, or has anchors, aliases or merge keys; check url and format";

/**
 * Stops at the first value that is not a list or a map, even if the path continues. Items of a list are named by their
 * index.
 */
function findAtDotPath(path: string, document: unknown): unknown {
  let current = document;
  for (const key of path.split(".")) {
    if (typeof current !== "object" || current === null || !Object.hasOwn(current, key)) return undefined;
    if (Array.isArray(current) && !/^[0-9]+$/.test(key)) return undefined;
    current = Reflect.get(current, key);
    if (typeof current !== "object" || current === null) return current;
  }
  return current;
}

function toLocatedValue(found: unknown): ValueResult {
  if (typeof found === "number") return { ok: true, value: found };
  if (typeof found !== "string") {
    return { ok: false, cause: `valueLocation points to ${nameOf(found)}, not to a number or a quantity` };
  }
  const parsed = quantityToDouble(found);
  // The message would quote the text.
  return parsed.ok ? parsed : { ok: false, cause: "valueLocation points to a text that is not a quantity" };
}

function nameOf(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
