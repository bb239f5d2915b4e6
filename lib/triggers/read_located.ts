/** Finds the value of a metrics-api trigger in an answer: JSON by a GJSON path, YAML by a dot path, Prometheus' text by a selector (R13, R15). */
import { parsePlain } from "../runtime/yaml.ts";
import { parseJsonPath, readAtPath } from "../scaled_object/json_path.ts";
import { parseMetricSelector } from "../scaled_object/metric_selector.ts";
import type { MetricsApiSource } from "../scaled_object/trigger.ts";
import { quantityToDouble } from "../units/quantity.ts";
import { isRecord } from "../units/untrusted.ts";
import { readExposition } from "./exposition.ts";
import type { ValueRead } from "./value_read.ts";

/** Reads a number, or a string as a quantity. Never throws. */
export function readLocated(text: string, { format, valueLocation }: Location): ValueRead {
  switch (format) {
    case "json":
      return readJson(text, valueLocation);
    case "yaml":
      return readYaml(text, valueLocation);
    case "prometheus": {
      const parsed = parseMetricSelector(valueLocation);
      return parsed.ok ? readExposition(text, parsed.selector) : { ok: false, cause: parsed.message };
    }
  }
}

type Location = Pick<MetricsApiSource, "format" | "valueLocation">;

function readJson(text: string, valueLocation: string): ValueRead {
  const parsed = parseJsonPath(valueLocation);
  if (!parsed.ok) return { ok: false, cause: parsed.message };
  try {
    return toValue(readAtPath(parsed.path, JSON.parse(text)));
  } catch {
    return { ok: false, cause: "the answer is no JSON; check url and format" };
  }
}

/** More costs whoever parses it too much, and no answer of one value has so much. */
const MAX_YAML_BYTES = 64 * 1024;

function readYaml(text: string, valueLocation: string): ValueRead {
  if (new TextEncoder().encode(text).length > MAX_YAML_BYTES) {
    return { ok: false, cause: "the answer has more than 64 KiB of YAML; ask for less, or for JSON" };
  }
  try {
    const document = parsePlain(text);
    return isRecord(document)
      ? toValue(readDotPath(valueLocation, document))
      : { ok: false, cause: "the answer is no map" };
  } catch {
    return { ok: false, cause: NO_PLAIN_YAML };
  }
}

const NO_PLAIN_YAML =
  "the answer is no YAML of one document, or has anchors, aliases, merge keys or too many lines; check url and format";

/** Ends at the first value that holds no others, even where the path goes on; a list's items are named by their index. */
function readDotPath(path: string, document: unknown): unknown {
  let current = document;
  for (const key of path.split(".")) {
    if (typeof current !== "object" || current === null || !Object.hasOwn(current, key)) return undefined;
    if (Array.isArray(current) && !/^[0-9]+$/.test(key)) return undefined;
    current = Reflect.get(current, key);
    if (typeof current !== "object" || current === null) return current;
  }
  return current;
}

function toValue(found: unknown): ValueRead {
  if (typeof found === "number") return { ok: true, value: found };
  if (typeof found !== "string") {
    return { ok: false, cause: `valueLocation points to ${nameOf(found)}, not to a number or a quantity` };
  }
  const parsed = quantityToDouble(found);
  // Its message would quote the text.
  return parsed.ok ? parsed : { ok: false, cause: "valueLocation points to a text that is no quantity" };
}

function nameOf(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
