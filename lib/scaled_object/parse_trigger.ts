/** Parses one trigger: what all have, then its metadata by type (R4, R10 to R18). */
import type { Fields } from "../units/fields.ts";
import { quote } from "../units/untrusted.ts";
import { ANY_TEXT, openObject, warnOfUnknown } from "./findings.ts";
import { openMetadata } from "./metadata.ts";
import { toMetricName } from "./metric_name.ts";
import { CRON_KEYS, parseCronSource } from "./parse_cron_source.ts";
import { METRICS_API_KEYS, parseMetricsApiSource } from "./parse_metrics_api_source.ts";
import { parsePrometheusSource, PROMETHEUS_KEYS } from "./parse_prometheus_source.ts";
import { parseResourceTrigger } from "./parse_resource_trigger.ts";
import { parseWorkloadSource, WORKLOAD_KEYS } from "./parse_workload_source.ts";
import type { ParseSource } from "./parsed_source.ts";
import {
  type AuthenticationRef,
  EXTERNAL_TYPES,
  type ExternalTrigger,
  type ExternalType,
  type Trigger,
} from "./trigger.ts";
import { isResourceType, type TriggerContext } from "./trigger_context.ts";

/** Gives the trigger; `null` where it has a problem that leaves nothing to return. Problems are reported to `fields`; never throws. */
export function parseTrigger(fields: Fields, context: TriggerContext): Trigger | null {
  warnOfUnknown(fields, { known: TRIGGER_FIELDS, warnings: context.findings.warnings });
  fields.require(["type", "metadata"]);
  const type = fields.has("type") ? readType(fields) : null;
  const name = fields.get("name") === "" ? null : fields.text("name", ANY_TEXT);
  const isCached = fields.boolean("useCachedMetrics") ?? false;
  if (type === null) return null;
  if (isCached && (isResourceType(type) || type === "cron")) {
    fields.report(
      "useCachedMetrics",
      `Cannot use useCachedMetrics with ${type}: nothing is asked for there, remove it`,
    );
  }
  const authentication = readAuthentication(fields, context);
  if (type === "cpu" || type === "memory") return parseResourceTrigger(fields, { ...context, type, name });
  return parseExternalTrigger(fields, { ...context, type, common: { name, isCached, authentication } });
}

const TRIGGER_FIELDS = ["type", "name", "metadata", "metricType", "useCachedMetrics", "authenticationRef"];
const TYPES = ["cpu", "memory", ...EXTERNAL_TYPES] as const;

const SOURCES: Readonly<Record<ExternalType, { readonly keys: readonly string[]; readonly parse: ParseSource }>> = {
  cron: { keys: CRON_KEYS, parse: parseCronSource },
  "kubernetes-workload": { keys: WORKLOAD_KEYS, parse: parseWorkloadSource },
  "metrics-api": { keys: METRICS_API_KEYS, parse: parseMetricsApiSource },
  prometheus: { keys: PROMETHEUS_KEYS, parse: parsePrometheusSource },
};

function readType(fields: Fields): typeof TYPES[number] | null {
  const given = fields.get("type");
  const type = TYPES.find((known) => known === given);
  if (type !== undefined) return type;
  const instead = "ask for its value by prometheus or metrics-api";
  fields.report("type", `Cannot use trigger type ${quote(given)}: podfit knows ${TYPES.join(", ")}; ${instead}`);
  return null;
}

interface ExternalContext extends TriggerContext {
  readonly type: ExternalType;
  readonly common: Pick<ExternalTrigger, "name" | "isCached" | "authentication">;
}

function parseExternalTrigger(fields: Fields, { type, common, ...context }: ExternalContext): ExternalTrigger | null {
  const metricType = fields.get("metricType") === "" ? null : readMetricType(fields, type);
  const { keys, parse } = SOURCES[type];
  const metadata = openMetadata(fields, { type, keys, warnings: context.findings.warnings });
  if (metadata === null) return null;
  const { namespace, hasFormula, index } = context;
  const parsed = parse(metadata, { namespace, hasFormula, hasAuthentication: common.authentication !== null });
  if (parsed === null) return null;
  const { source, metric, targetMilli, activation } = parsed;
  return {
    kind: "external",
    type,
    index,
    ...common,
    metricName: toMetricName(index, metric),
    metricType: metricType ?? "AverageValue",
    targetMilli,
    activation,
    source,
  };
}

function readMetricType(fields: Fields, type: ExternalType): ExternalTrigger["metricType"] | null {
  if (fields.get("metricType") !== "Utilization") return fields.word("metricType", ["AverageValue", "Value"]);
  fields.report("metricType", `Cannot use metricType Utilization with ${type}: only cpu and memory have a utilization`);
  return null;
}

function readAuthentication(fields: Fields, { findings }: TriggerContext): AuthenticationRef | null {
  const reference = openObject(fields, "authenticationRef", { known: ["name", "kind"], warnings: findings.warnings });
  if (reference === null) return null;
  reference.require(["name"]);
  const name = reference.text("name", ANY_TEXT);
  const hasKind = reference.get("kind") !== "";
  const kind = hasKind ? reference.word("kind", ["TriggerAuthentication", "ClusterTriggerAuthentication"]) : null;
  return name === null ? null : { kind: kind ?? "TriggerAuthentication", name };
}
