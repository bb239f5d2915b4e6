/**
 * Reads what Prometheus' query API answers, as KEDA does (R14): a field that is missing is an empty one, one of the wrong type is an error.
 * https://prometheus.io/docs/prometheus/latest/querying/api/#instant-queries
 */
import { parseGoFloat } from "../units/go_numbers.ts";
import { isRecord } from "../units/untrusted.ts";
import type { ValueRead } from "./value_read.ts";

/** `isEmpty`: no series, or none with a value. */
export type PrometheusRead = ValueRead & { readonly isEmpty: boolean };

/** Quotes nothing of the text. Never throws. */
export function readPrometheusAnswer(text: string, { ignoresNullValues }: PrometheusOptions): PrometheusRead {
  const series = readSeries(text);
  if (series === null) {
    return fail("the answer is no list of series; the query has to give an instant vector, not a scalar");
  }
  const [first, second] = series;
  if (second !== undefined) return fail("the query gave several series; aggregate them to one");
  if (first === undefined || first.length === 0) {
    if (ignoresNullValues) return { ok: true, value: 0, isEmpty: true };
    return { ok: false, cause: "the query gave no value, and ignoreNullValues is false", isEmpty: true };
  }
  if (first.length === 1) return fail("the query gave a time without a value");
  const value = toValue(first[1]);
  if (value === null) return fail("the value of the series is no number");
  if (Number.isFinite(value)) return { ok: true, value, isEmpty: false };
  if (ignoresNullValues) return { ok: true, value: 0, isEmpty: false };
  return fail("the query gave NaN or an infinite value, and ignoreNullValues is false");
}

interface PrometheusOptions {
  readonly ignoresNullValues: boolean;
}

function fail(cause: string): PrometheusRead {
  return { ok: false, cause, isEmpty: false };
}

/** The value of each series, which is [time, value]; `null` where Go's decoder would fail. */
function readSeries(text: string): readonly (readonly unknown[])[] | null {
  const answer = parseJson(text);
  const body = answer === null ? {} : answer;
  if (!isRecord(body) || !isStringOrAbsent(body["status"])) return null;
  const answered = body["data"] ?? {};
  if (!isRecord(answered) || !isStringOrAbsent(answered["resultType"])) return null;
  const result = answered["result"] ?? [];
  if (!Array.isArray(result)) return null;
  const series = result.map(readOneSeries);
  return series.includes(null) ? null : series.filter((one) => one !== null);
}

function readOneSeries(element: unknown): readonly unknown[] | null {
  const one = element ?? {};
  if (!isRecord(one) || !isRecord(one["metric"] ?? {})) return null;
  const value = one["value"] ?? [];
  return Array.isArray(value) ? value : null;
}

/** `undefined` for what is no JSON: no field of ours can be that. */
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
function toValue(value: unknown): number | null {
  if (value === null) return -1;
  return typeof value === "string" ? parseGoFloat(value) : null;
}
