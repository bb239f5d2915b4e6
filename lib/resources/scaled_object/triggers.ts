/**
 * Parses the list of triggers of a ScaledObject, and what triggers of every type have in common.
 *
 * The parser of each type is in another file.
 */
import {
  type AuthenticationRef,
  COMPOSITE_METRIC_NAME,
  EXTERNAL_TYPES,
  type ExternalTrigger,
  type ExternalType,
  type Formula,
  type Trigger,
} from "../../model/scaled_object.ts";
import { formatProblems } from "../../model/reasons.ts";
import { ANY_TEXT, Fields, openObject, warnOfUnknown } from "../../units/fields.ts";
import { parseJsonNumber } from "../../units/numbers.ts";
import { addProblem, isRecord, type Problem, quote } from "../../units/untrusted.ts";
import { ACTIVATION_PARAMETERS } from "../../api/keda_activation.ts";
import { isMetricsApiType, METRIC_SOURCES } from "./metric_triggers.ts";
import { METRICS_API_KEYS, parseMetricsApiSource, parsePrometheusSource, PROMETHEUS_KEYS } from "./http_triggers.ts";
import type { AdoptedTriggers } from "./adoption.ts";
import {
  CRON_KEYS,
  OBJECT_KEYS,
  parseCronSource,
  parseObjectSource,
  parseResourceTrigger,
  parseWorkloadSource,
  WORKLOAD_KEYS,
} from "./local_triggers.ts";
import {
  isResourceType,
  openMetadata,
  type ParsedSource,
  type ParseSource,
  type TriggerContext,
  type TriggersContext,
} from "./metadata.ts";

interface ParsedTriggers {
  readonly triggers: readonly Trigger[];
  /** The type of each trigger that has one, valid or not. */
  readonly types: readonly string[];
  /** The names of the external triggers that a formula may use. */
  readonly names: readonly string[];
  readonly hasCached: boolean;
}

/** All of them are queried at once, every 15 s. */
const MAX_TRIGGERS = 50;

/**
 * Returns the triggers, and what is known of those that have no type. Problems are reported to `spec`; those of single
 * triggers only if no trigger is without. Never throws.
 * Clauses: R4.
 */
export function parseTriggers(spec: Fields, context: TriggersContext): ParsedTriggers {
  const list = spec.get("triggers") ?? [];
  if (!Array.isArray(list) || (list.length === 0 && spec.has("triggers"))) {
    spec.report(
      "triggers",
      `Cannot use ${Array.isArray(list) ? "an empty list" : quote(list)} as triggers: must be a list of at least one`,
    );
  }
  if (Array.isArray(list) && list.length > MAX_TRIGGERS) {
    spec.report(
      "triggers",
      `Cannot use ${list.length} triggers: must be at most ${MAX_TRIGGERS}, split the object or add up in a query`,
    );
  }
  const entries = (Array.isArray(list) ? list.slice(0, MAX_TRIGGERS) : []).map((value, index) =>
    spec.entry("triggers", { index, value })
  );
  const opened = entries.filter((fields) => fields !== null);
  reportDuplicateNames(opened);
  const mistakes: Problem[] = [];
  const triggers = entries.flatMap((fields, index) => {
    const trigger = fields === null ? null : parseMeasured(fields, { ...context, mistakes, index });
    return trigger === null ? [] : [trigger];
  });
  const hasGood = triggers.some((one) => one.kind === "resource" || one.source.kind !== "invalid");
  for (const problem of mistakes) {
    if (hasGood) context.mistakes.push(problem);
    else spec.add(problem);
  }
  return {
    triggers,
    types: opened.map((fields) => fields.get("type")).filter((type) => typeof type === "string"),
    names: opened.filter((fields) => !isResourceType(fields.get("type"))).map(nameOf).filter((name) => name !== null),
    hasCached: opened.some((fields) => fields.get("useCachedMetrics") === true),
  };
}

/** Reports each trigger that has the name of an earlier one. */
function reportDuplicateNames(triggers: readonly Fields[]): void {
  const first = new Map<string, Fields>();
  for (const fields of triggers) {
    const name = nameOf(fields);
    const other = name === null ? undefined : first.get(name);
    if (name !== null && other === undefined) first.set(name, fields);
    if (other !== undefined) {
      fields.report(
        "name",
        `Cannot use name ${quote(name)} twice: ${other.path} has it, a formula could not tell them apart`,
      );
    }
  }
}

function nameOf(fields: Fields): string | null {
  const name = fields.get("name");
  return typeof name === "string" && name !== "" ? name : null;
}

/**
 * Returns the trigger as podfit measures it, or, if podfit cannot, as KEDA does. A problem is reported only where KEDA
 * has no part in the object, or the annotation says that podfit measures. Clauses: M10.
 */
function parseMeasured(fields: Fields, context: TriggerContext): Trigger | null {
  const { adopted, index } = context;
  const type = fields.get("type");
  const isOwn = isResourceType(type) || isMetricsApiType(type);
  if (adopted === null || adopted.measuredBy === "podfit" || isOwn) return parseTrigger(fields, context);
  const isServedByKeda = adopted.record?.metrics.some((one) => one.index === index) === true && !adopted.isStale;
  if (adopted.measuredBy === null) {
    const problems: Problem[] = [];
    const warnings: Problem[] = [];
    const again = new Fields(fields.values, { path: fields.path, problems });
    const trigger = parseTrigger(again, { ...context, findings: { problems, warnings }, mistakes: problems });
    // KEDA may read the object already, and podfit perhaps not.
    const isKedas = isServedByKeda && type === "kubernetes-resource";
    if (trigger?.kind === "external" && problems.length === 0 && !isKedas) {
      context.findings.warnings.push(...warnings);
      return { ...trigger, isServedByKeda };
    }
  }
  return parseKedaTrigger(fields, { ...context, adopted });
}

/** Returns a trigger whose metric, target and type are those of the record. Clauses: M4, M5, M12. */
function parseKedaTrigger(
  fields: Fields,
  { adopted, index }: TriggerContext & { readonly adopted: NonNullable<TriggerContext["adopted"]> },
): ExternalTrigger | null {
  fields.require(["type"]);
  const type = fields.text("type", ANY_TEXT);
  if (type === null) return null;
  return {
    kind: "external",
    type,
    index,
    name: nameOf(fields),
    isCached: fields.get("useCachedMetrics") === true,
    activation: findActivation(type, fields.get("metadata")),
    ...measureByKeda(adopted, index, {
      name: toMetricName(index, type),
      metricType: "AverageValue",
      targetMilli: null,
    }),
  };
}

interface KedaMeasure extends Pick<ExternalTrigger, "metricType" | "targetMilli"> {
  readonly name: string;
}

type MeasuredFields = "authentication" | "isServedByKeda" | "metricName" | "metricType" | "targetMilli" | "source";

/** Returns what the record says of one metric, or `otherwise`. `index` is `null` for the result of a formula. */
function measureByKeda(
  adopted: NonNullable<TriggersContext["adopted"]>,
  index: number | null,
  otherwise: KedaMeasure,
): Pick<ExternalTrigger, MeasuredFields> {
  const metrics = adopted.record?.metrics.filter((one) => one.index === index) ?? [];
  const [{ name: metricName, metricType, targetMilli } = otherwise] = metrics;
  return {
    authentication: null,
    isServedByKeda: true,
    metricName,
    metricType,
    targetMilli,
    source: { kind: "keda", object: adopted.object, problem: findRecordProblem(adopted, metrics.length) },
  };
}

/** Says why KEDA cannot be asked for a trigger with so many metrics in the record; `null` = it can. */
function findRecordProblem({ record, problem, isStale }: AdoptedTriggers, metrics: number): string | null {
  if (problem !== null) return `${problem}; run "podfit adopt" again`;
  if (record === null) return 'no record says what KEDA asks for it; run "podfit adopt"';
  if (isStale) return 'the triggers have changed since the object was adopted; run "podfit adopt" again';
  if (metrics === 0) return 'the record has no metric of this trigger; run "podfit release" and then "podfit adopt"';
  if (metrics === 1) return null;
  return `KEDA has ${metrics} metrics for it, and podfit can use one; give this object back with "podfit release"`;
}

/** Returns the value above which a trigger is active: of several parameters the first that is given. Clauses: M12. */
function findActivation(type: string, metadata: unknown): number {
  const parameters = ACTIVATION_PARAMETERS.get(type) ?? [];
  for (const [name] of parameters) {
    const given = isRecord(metadata) && Object.hasOwn(metadata, name) ? metadata[name] : null;
    const value = typeof given === "string" ? parseJsonNumber(given.trim()) : null;
    if (value !== null) return value;
  }
  return parameters[0]?.[1] ?? 0;
}

/**
 * With a formula KEDA computes the result, so all external triggers become one metric, unless podfit measures each of
 * them. Clauses: M4.
 */
export function toKedaFormula(
  triggers: readonly Trigger[],
  { formula, adopted }: { readonly formula: Formula | null; readonly adopted: TriggersContext["adopted"] },
): { readonly triggers: readonly Trigger[]; readonly formula: Formula | null } {
  const isKedas = triggers.some((one) => one.kind === "external" && one.source.kind === "keda");
  if (adopted === null || formula === null || !isKedas) return { triggers, formula };
  const first = triggers.find(({ kind }) => kind === "external");
  const { metricType, targetMilli } = formula;
  const composite: ExternalTrigger = {
    kind: "external",
    type: "composite",
    index: first?.index ?? 0,
    name: null,
    isCached: false,
    activation: formula.activationTarget,
    ...measureByKeda(adopted, null, { name: COMPOSITE_METRIC_NAME, metricType, targetMilli }),
  };
  const others = triggers.filter((one) => one.kind === "resource" || one.source.kind === "invalid");
  return { triggers: [...others, composite], formula: null };
}

/**
 * Returns the trigger; `null` if its type is not known. Problems of the type, the name and useCachedMetrics are reported
 * to `fields`. Those of the rest make the trigger fail, and are added to the mistakes. Never throws.
 * Clauses: R4, R10, R11, R12, R13, R14, R15, R16, R17, R18.
 */
function parseTrigger(fields: Fields, context: TriggerContext): Trigger | null {
  warnOfUnknown(fields, { known: TRIGGER_FIELDS, warnings: context.findings.warnings });
  fields.require(["type"]);
  const type = fields.has("type") ? parseType(fields) : null;
  const name = fields.get("name") === "" ? null : fields.text("name", ANY_TEXT);
  const isCached = fields.boolean("useCachedMetrics") ?? false;
  if (type === null) return null;
  if (isMetricsApiType(type) && !context.usesMetricsApis) {
    fields.report(
      "type",
      `Cannot use trigger type ${type}: this podfit may not ask the metrics APIs; ` +
        "set --metrics-apis, or metricsApis.enabled in the chart, which grants the rights too",
    );
  }
  if (isCached && (isResourceType(type) || type === "cron")) {
    fields.report(
      "useCachedMetrics",
      `Cannot use useCachedMetrics with ${type}: nothing is asked for there, remove it`,
    );
  }
  const problems: Problem[] = [];
  const own = new Fields(fields.values, { path: fields.path, problems });
  own.require(["metadata"]);
  const authentication = parseAuthenticationRef(own, context);
  const common = { name, isCached, authentication };
  const trigger = type === "cpu" || type === "memory"
    ? parseResourceTrigger(own, { ...context, type, name })
    : parseExternalTrigger(own, { ...context, type, common });
  if (trigger !== null && problems.length === 0) return trigger;
  for (const problem of problems) addProblem(context.mistakes, problem);
  const failing = trigger?.kind === "external"
    ? trigger
    : toExternalTrigger(NOTHING_KNOWN, { ...context, type, common });
  return { ...failing, source: { kind: "invalid", problem: formatProblems(problems) } };
}

const NOTHING_KNOWN = { metric: "", targetMilli: null, activation: 0 };

const TRIGGER_FIELDS = ["type", "name", "metadata", "metricType", "useCachedMetrics", "authenticationRef"];

const TYPES = ["cpu", "memory", ...EXTERNAL_TYPES] as const;

const SOURCES: Readonly<Record<ExternalType, { readonly keys: readonly string[]; readonly parse: ParseSource }>> = {
  cron: { keys: CRON_KEYS, parse: parseCronSource },
  "kubernetes-resource": { keys: OBJECT_KEYS, parse: parseObjectSource },
  "kubernetes-workload": { keys: WORKLOAD_KEYS, parse: parseWorkloadSource },
  "metrics-api": { keys: METRICS_API_KEYS, parse: parseMetricsApiSource },
  prometheus: { keys: PROMETHEUS_KEYS, parse: parsePrometheusSource },
  ...METRIC_SOURCES,
};

function parseType(fields: Fields): typeof TYPES[number] | null {
  const given = fields.get("type");
  const type = TYPES.find((known) => known === given);
  if (type !== undefined) return type;
  const instead = "ask for its value by prometheus or metrics-api";
  fields.report("type", `Cannot use trigger type ${quote(given)}: podfit knows ${TYPES.join(", ")}; ${instead}`);
  return null;
}

interface ExternalContext<Type = ExternalType> extends TriggerContext {
  readonly type: Type;
  readonly common: Pick<ExternalTrigger, "name" | "isCached" | "authentication">;
}

function parseExternalTrigger(fields: Fields, context: ExternalContext): ExternalTrigger | null {
  const { type, common, namespace, hasFormula } = context;
  const metricType = fields.get("metricType") === "" ? null : parseMetricType(fields, type);
  const { keys, parse } = SOURCES[type];
  const metadata = openMetadata(fields, { type, keys, warnings: context.findings.warnings });
  if (metadata === null) return null;
  const parsed = parse(metadata, { namespace, hasFormula, hasAuthentication: common.authentication !== null });
  const trigger = toExternalTrigger(parsed, context);
  return { ...trigger, metricType: metricType ?? trigger.metricType, source: parsed.source ?? trigger.source };
}

function toExternalTrigger(
  { metric, targetMilli, activation }: Omit<ParsedSource, "source">,
  { type, index, common }: ExternalContext<Trigger["type"]>,
): ExternalTrigger {
  return {
    kind: "external",
    type,
    index,
    ...common,
    isServedByKeda: false,
    metricName: toMetricName(index, metric === "" ? type : metric),
    metricType: "AverageValue",
    targetMilli,
    activation,
    source: { kind: "invalid", problem: "" },
  };
}

function parseMetricType(fields: Fields, type: ExternalType): ExternalTrigger["metricType"] | null {
  const given = fields.get("metricType");
  if (given === "Value" && type === "pods-metric") {
    fields.report(
      "metricType",
      "Cannot use metricType Value with pods-metric: it is an average of the pods, as in an HPA",
    );
    return null;
  }
  if (given !== "Utilization") return fields.word("metricType", ["AverageValue", "Value"]);
  fields.report("metricType", `Cannot use metricType Utilization with ${type}: only cpu and memory have a utilization`);
  return null;
}

function parseAuthenticationRef(fields: Fields, { findings }: TriggerContext): AuthenticationRef | null {
  const reference = openObject(fields, "authenticationRef", { known: ["name", "kind"], warnings: findings.warnings });
  if (reference === null) return null;
  reference.require(["name"]);
  const name = reference.text("name", ANY_TEXT);
  const hasKind = reference.get("kind") !== "";
  const kind = hasKind ? reference.word("kind", ["TriggerAuthentication", "ClusterTriggerAuthentication"]) : null;
  return name === null ? null : { kind: kind ?? "TriggerAuthentication", name };
}

/** Returns the name of an external metric, such as `s0-prometheus`. Clauses: R18. */
export function toMetricName(index: number, metric: string): string {
  return `s${index}-${metric.replace(/[/.:%()]/g, "-")}`;
}
