/**
 * What of a ScaledObject is KEDA's, and what is podfit's, if KEDA measures and podfit decides.
 *
 * The adoption record is an annotation. It keeps what KEDA's HPA asked of each trigger, because the HPA is deleted when
 * the object is paused for KEDA.
 */
import type { AdoptedMetric, Adoption, AdoptionRecord } from "../../model/scaled_object.ts";
import { FNV_START, hashText } from "../../units/hash.ts";
import { MAX_MILLI } from "../../units/numbers.ts";
import { parseMilli } from "../../units/quantity.ts";
import { isRecord, quote } from "../../units/untrusted.ts";

/** `"true"` = podfit sets the replicas of this ScaledObject. Clauses: M1. */
export const SELECTED = "podfit.dev/scale";

/** The adoption record. Clauses: M4. */
export const KEDA_METRICS = "podfit.dev/keda-metrics";

/** `podfit` or `keda`: who measures the triggers that both can measure. Clauses: M10. */
export const MEASURED_BY = "podfit.dev/metrics";

/** KEDA neither sets replicas nor keeps its HPA. Clauses: M2. */
export const KEDA_PAUSED = "autoscaling.keda.sh/paused";

/** Returns whether podfit sets the replicas of this object, which may be of any shape. Clauses: M1. */
export function isSelected(object: unknown): boolean {
  return findAnnotation(object, SELECTED) === "true";
}

function findAnnotation(object: unknown, key: string): unknown {
  const metadata = isRecord(object) ? object["metadata"] : null;
  const annotations = isRecord(metadata) ? metadata["annotations"] : null;
  return isRecord(annotations) && Object.hasOwn(annotations, key) ? annotations[key] : null;
}

const RECORD_VERSION = 1;

/** Far more than 50 triggers need. */
const MAX_RECORD_CHARACTERS = 32 * 1024;

/** As many as an object may have triggers. */
const MAX_METRICS = 50;

/** The name becomes a part of a path. */
const METRIC_NAME = /^[!-.0-~]{1,253}$/;

type ParsedRecord =
  | { readonly ok: true; readonly record: AdoptionRecord }
  | { readonly ok: false; readonly problem: string };

/** Parses the annotation. Never throws. Clauses: M4, M23. */
export function parseAdoptionRecord(text: unknown): ParsedRecord {
  if (typeof text !== "string") return refuse("must be a string");
  if (text.length > MAX_RECORD_CHARACTERS) return refuse(`is longer than ${MAX_RECORD_CHARACTERS} characters`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return refuse("is not JSON");
  }
  if (!isRecord(value) || value["version"] !== RECORD_VERSION) return refuse(`must have version ${RECORD_VERSION}`);
  const { triggers, metrics } = value;
  if (typeof triggers !== "string" || !/^[0-9a-f]{16}$/.test(triggers)) return refuse("must have a hash of triggers");
  if (!Array.isArray(metrics) || metrics.length > MAX_METRICS) {
    return refuse(`must have at most ${MAX_METRICS} metrics`);
  }
  const parsed = metrics.map(parseMetric);
  const known = parsed.filter((one) => one !== null);
  if (known.length < parsed.length) {
    return refuse(`has an entry that is no metric: ${quote(metrics[parsed.indexOf(null)])}`);
  }
  return { ok: true, record: { triggers, metrics: known } };
}

function refuse(cause: string): ParsedRecord {
  return { ok: false, problem: `annotation ${KEDA_METRICS} ${cause}` };
}

function parseMetric(value: unknown): AdoptedMetric | null {
  if (!isRecord(value)) return null;
  const { trigger, name, type, target } = value;
  const index = trigger === "formula" ? null : trigger;
  const isIndex = index === null || (Number.isInteger(index) && Number(index) >= 0 && Number(index) < MAX_METRICS);
  if (!isIndex || typeof name !== "string" || !METRIC_NAME.test(name)) return null;
  if (type !== "AverageValue" && type !== "Value") return null;
  const amount = parseMilli(target);
  if (!amount.ok || amount.milli <= 0n || amount.milli > MAX_MILLI) return null;
  return { index: index === null ? null : Number(index), name, metricType: type, targetMilli: amount.milli };
}

/** Returns the text of the annotation. Clauses: M4. */
export function formatAdoptionRecord({ triggers, metrics }: AdoptionRecord): string {
  return JSON.stringify({
    version: RECORD_VERSION,
    triggers,
    metrics: metrics.map(({ index, name, metricType, targetMilli }) => ({
      trigger: index ?? "formula",
      name,
      type: metricType,
      target: `${targetMilli}m`,
    })),
  });
}

/** An external metric of an HPA, as the API has it. */
export interface HpaMetric {
  readonly name: string;
  readonly type: string;
  /** A quantity. */
  readonly target: string;
}

/**
 * Returns the record of the HPA that KEDA made. A metric whose name has no index is the result of the formula. Metrics
 * that cannot be used are left out. Clauses: M4.
 */
export function toAdoptionRecord(metrics: readonly HpaMetric[], triggersHash: string): AdoptionRecord {
  const known = metrics.map(toRecorded).filter((metric) => metric !== null);
  return { triggers: triggersHash, metrics: known.slice(0, MAX_METRICS) };
}

/** `null` = it cannot be used. */
function toRecorded({ name, type, target }: HpaMetric): AdoptedMetric | null {
  return parseMetric({ trigger: findTriggerIndex(name) ?? "formula", name, type, target });
}

/** `null` for the result of the formula. */
function findTriggerIndex(metricName: string): number | null {
  const index = /^s([0-9]{1,3})-/.exec(metricName)?.[1];
  return index === undefined ? null : Number(index);
}

/**
 * Returns `no usable metric of trigger 1 ("kafka")` or the like; `null` = the metrics of KEDA's HPA can be those of these triggers:
 * one usable metric for each trigger but cpu and memory, or one of the right type for the formula. Only the scaler knows the rest
 * of a name, the target, and the type: some scalers of KEDA ignore the `metricType` of their trigger. Clauses: M6.
 */
export function findMisfit(spec: unknown, metrics: readonly HpaMetric[]): string | null {
  const { triggers, advanced } = isRecord(spec) ? spec : {};
  const modifiers = isRecord(advanced) && isRecord(advanced["scalingModifiers"]) ? advanced["scalingModifiers"] : {};
  const wanted = typeof modifiers["formula"] === "string" && modifiers["formula"] !== ""
    ? [{ index: null, type: modifiers["metricType"] || "AverageValue", of: "the formula" }]
    : (Array.isArray(triggers) ? triggers : []).flatMap((one, index) => {
      const type = isRecord(one) ? one["type"] : null;
      const of = `trigger ${index} (${quote(type)})`;
      return type === "cpu" || type === "memory" ? [] : [{ index, type: null, of }];
    });
  const has = ({ name, type }: HpaMetric, one: typeof wanted[number]) =>
    findTriggerIndex(name) === one.index && (one.type === null || one.type === type);
  const usable = metrics.filter((metric) => toRecorded(metric) !== null);
  for (const one of wanted) {
    const count = usable.filter((metric) => has(metric, one)).length;
    if (count === 0) return `no usable metric of ${one.of}`;
    if (count > 1) return `${count} metrics of ${one.of}, and podfit can use one`;
  }
  const extra = metrics.find((metric) => !wanted.some((one) => has(metric, one)));
  return extra === undefined ? null : `the metric ${quote(extra.name)}, which is of no trigger`;
}

/** Returns 16 hexadecimal digits that change with the triggers or the formula. Any shape is accepted. Clauses: M5. */
export function hashTriggers(spec: unknown): string {
  const { triggers = null, advanced = null } = isRecord(spec) ? spec : {};
  const modifiers = isRecord(advanced) ? advanced["scalingModifiers"] ?? null : null;
  const text = toSortedJson([triggers, modifiers]);
  return [FNV_START, 0x01234567].map((start) => hashText(text, start).toString(16).padStart(8, "0")).join("");
}

/** The API server may give the keys of a map in another order. */
function toSortedJson(value: unknown): string {
  return JSON.stringify(value, (_, one) => {
    if (!isRecord(one)) return one;
    return Object.fromEntries(Object.keys(one).toSorted().map((key) => [key, one[key]]));
  });
}

/** What the parser of triggers needs to know. */
export interface AdoptedTriggers {
  readonly record: AdoptionRecord | null;
  readonly problem: string | null;
  readonly isStale: boolean;
  /** Of the annotation; `null` = podfit measures what it can. */
  readonly measuredBy: "podfit" | "keda" | null;
}

/** Reads the annotations about adoption from an object of any shape. Clauses: M4, M5, M10. */
export function parseAdoptedTriggers(object: unknown): AdoptedTriggers & { readonly triggersHash: string } {
  const triggersHash = hashTriggers(isRecord(object) ? object["spec"] : null);
  const text = findAnnotation(object, KEDA_METRICS);
  const parsed = text === null || text === undefined ? null : parseAdoptionRecord(text);
  const record = parsed?.ok === true ? parsed.record : null;
  const by = findAnnotation(object, MEASURED_BY);
  return {
    triggersHash,
    record,
    problem: parsed?.ok === false ? parsed.problem : null,
    isStale: record !== null && record.triggers !== triggersHash,
    measuredBy: by === "podfit" || by === "keda" ? by : null,
  };
}

/** Returns what is known of the adoption; `needsKeda`: KEDA measures at least one trigger. */
export function toAdoption(
  { triggersHash, record, problem, isStale }: ReturnType<typeof parseAdoptedTriggers>,
  { isKedaPaused, needsKeda }: { readonly isKedaPaused: boolean; readonly needsKeda: boolean },
): Adoption {
  return {
    isKedaPaused,
    triggersHash,
    record,
    problem,
    lacksRecord: needsKeda && record === null && problem === null,
    isStale: needsKeda && isStale,
  };
}
