/** Parses triggers of cpu and memory (R10): a share of what the pods ask for, or an amount per pod. */
import type { Fields } from "../units/fields.ts";
import { parseGoInteger } from "../units/go_numbers.ts";
import { parseMilli } from "../units/quantity.ts";
import { quote } from "../units/untrusted.ts";
import { type Metadata, openMetadata } from "./metadata.ts";
import type { Baseline, ResourceTarget, ResourceTrigger } from "./trigger.ts";
import type { TriggerContext } from "./trigger_context.ts";

export interface ResourceContext extends TriggerContext {
  readonly type: ResourceTrigger["type"];
  readonly name: string | null;
}

/** Gives the trigger; `null` where it has no target. Problems are reported to `fields`; never throws. */
export function parseResourceTrigger(
  fields: Fields,
  { type, name, index, findings }: ResourceContext,
): ResourceTrigger | null {
  const metadata = openMetadata(fields, { type, keys: KEYS, warnings: findings.warnings });
  if (metadata === null) return null;
  if (metadata.has("type")) {
    metadata.report("type", "Cannot use type in metadata: KEDA 2.18 removed it, write metricType beside metadata");
  }
  if (fields.has("authenticationRef")) {
    metadata.warn("authenticationRef", `Cannot use authenticationRef: ${type} asks nobody, it has no effect`);
  }
  const target = parseResourceTarget(fields, metadata);
  const baseline = parseBaseline(metadata);
  if (baseline !== null && target?.kind === "AverageValue") {
    metadata.warn("baseline", "Cannot use baseline: AverageValue looks at no request, it has no effect");
  }
  const container = metadata.text("containerName");
  return target === null ? null : { kind: "resource", type, index, name, container, target, baseline };
}

const KEYS = ["type", "value", "containerName", "baseline"];

function parseResourceTarget(fields: Fields, metadata: Metadata): ResourceTarget | null {
  const value = metadata.requiredText("value");
  if ((fields.get("metricType") ?? "") === "") {
    fields.report("metricType", 'Missing field "metricType": must be Utilization or AverageValue');
    return null;
  }
  const metricType = fields.word("metricType", ["Utilization", "AverageValue"]);
  if (metricType === null || value === null) return null;
  if (metricType === "Utilization") {
    const percent = parseGoInteger(value, 32);
    if (percent !== null && percent >= 1n) return { kind: "Utilization", percent: Number(percent) };
    metadata.report(
      "value",
      `Cannot use ${quote(value)} as value: must be an integer percentage, 1 or more, such as "60"`,
    );
    return null;
  }
  const milli = parsePositive(metadata, "value");
  return milli === null ? null : { kind: "AverageValue", milli };
}

function parseBaseline(metadata: Metadata): Baseline | null {
  const text = metadata.text("baseline");
  if (text === null) return null;
  if (text === "born" || text === "live") return { kind: text };
  const milli = parsePositive(metadata, "baseline");
  return milli === null ? null : { kind: "amount", milli };
}

/** Gives thousandths of a core or byte. */
function parsePositive(metadata: Metadata, key: "value" | "baseline"): bigint | null {
  const text = metadata.text(key);
  const parsed = parseMilli(text);
  const words = key === "baseline" ? "; or write born or live" : "";
  if (!parsed.ok) metadata.report(key, `${parsed.message}${words}`);
  else if (parsed.milli <= 0n) {
    metadata.report(key, `Cannot use ${quote(text)} as ${key}: must be greater than 0${words}`);
  } else return parsed.milli;
  return null;
}
