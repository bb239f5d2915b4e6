/** Checks the valueLocation of a metrics-api trigger, whose language depends on the format (R13, R15). */
import { parseJsonPath } from "./json_path.ts";
import { parseMetricSelector } from "./metric_selector.ts";
import type { MetricsApiSource } from "./trigger.ts";

/** Says in a sentence what is wrong with a location; `null` when nothing is. Never throws. */
export function findLocationFault(location: string, format: MetricsApiSource["format"]): string | null {
  const parsed = PARSERS[format](location);
  return parsed.ok ? null : parsed.message;
}

type Parse = (location: string) => { readonly ok: true } | { readonly ok: false; readonly message: string };

/** Keys with dots between them need no check: no key is refused. */
const PARSERS: Readonly<Record<MetricsApiSource["format"], Parse>> = {
  json: parseJsonPath,
  prometheus: parseMetricSelector,
  yaml: () => ({ ok: true }),
};
