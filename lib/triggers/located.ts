/**
 * Which number of a text is the value of a trigger? The text is JSON, YAML or Prometheus text, and the trigger says where
 * in it the value is.
 *
 * A metrics-api trigger has the text from a server, and a kubernetes-resource trigger from a ConfigMap or a Secret. So no
 * message quotes it.
 */
import type { MetricsApiSource, ObjectSource } from "../model/scaled_object.ts";
import { findAtPath, parseJsonPath } from "../resources/scaled_object/json_path.ts";
import { parseMetricSelector } from "../resources/scaled_object/metric_selector.ts";
import { findExcess, MAX_PLAIN_MARKS, parsePlain } from "../runtime/yaml.ts";
import { parseGoFloat, parseGoInteger } from "../units/numbers.ts";
import { quantityToDouble } from "../units/quantity.ts";
import { isRecord } from "../units/untrusted.ts";
import { parseExposition } from "./exposition.ts";
import type { Result, ValueResult } from "./value.ts";

/** Reads a number, or a string as a quantity. Never throws. Clauses: R13, R15. */
export function parseLocatedValue(text: string, { format, valueLocation }: Location): ValueResult {
  switch (format) {
    case "json":
      return then(findInJson(text, valueLocation), toLocatedValue);
    case "yaml":
      return then(findInYaml(text, valueLocation), toLocatedValue);
    case "prometheus": {
      const parsed = parseMetricSelector(valueLocation);
      return parsed.ok ? parseExposition(text, parsed.selector) : { ok: false, cause: parsed.message };
    }
  }
}

type Location = Pick<MetricsApiSource, "format" | "valueLocation">;

/** A value of any kind; `undefined` = there is nothing. */
type FoundResult = Result<{ found: unknown }>;

function then(result: FoundResult, convert: (found: unknown) => ValueResult): ValueResult {
  return result.ok ? convert(result.found) : result;
}

function findInJson(text: string, valueLocation: string): FoundResult {
  const parsed = parseJsonPath(valueLocation);
  if (!parsed.ok) return { ok: false, cause: parsed.message };
  try {
    return { ok: true, found: findAtPath(parsed.path, JSON.parse(text)) };
  } catch {
    return { ok: false, cause: "it is not JSON; check format and where it comes from" };
  }
}

/** A larger text costs too much to parse, and an answer with one value is smaller. */
const MAX_YAML_BYTES = 16 * 1024;

const TOO_MUCH_YAML =
  "it has more than 16 KiB of YAML, more than 1000 lines, fields and values, or long lines that begin with many spaces; " +
  "ask for less, or use format json";

function findInYaml(text: string, valueLocation: string): FoundResult {
  const isTooLong = new TextEncoder().encode(text).length > MAX_YAML_BYTES;
  if (isTooLong || findExcess(text, MAX_PLAIN_MARKS) !== null) return { ok: false, cause: TOO_MUCH_YAML };
  try {
    const document = parsePlain(text);
    return isRecord(document)
      ? { ok: true, found: findAtDotPath(valueLocation, document) }
      : { ok: false, cause: "it is not a map" };
  } catch {
    return { ok: false, cause: NO_PLAIN_YAML };
  }
}

const NO_PLAIN_YAML =
  "it is not one YAML document, or has anchors, aliases or merge keys; check format and where it comes from";

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
  return toQuantityValue(found, "valueLocation points to a text that is not a quantity");
}

/** The message of the parser would quote the text. */
function toQuantityValue(text: string, cause: string): ValueResult {
  const parsed = quantityToDouble(text);
  return parsed.ok ? parsed : { ok: false, cause };
}

function nameOf(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** Larger texts are failures: all triggers wait while one is parsed. */
const MAX_ENTRY_CHARACTERS = 128 * 1024;

/**
 * Returns the value of a kubernetes-resource trigger from the text of its key. Never throws.
 * https://github.com/kedacore/keda/blob/v2.21.0/pkg/scalers/kubernetes_resource_scaler.go
 * Clauses: R97.
 */
export function parseEntryValue(text: string, source: EntryFormat): ValueResult {
  const { format, valueLocation, valueType } = source;
  if (text.length > MAX_ENTRY_CHARACTERS) return { ok: false, cause: "the text of its key has more than 128 KiB" };
  switch (format) {
    case "number":
      return valueType === "quantity"
        ? toQuantityValue(text, "its text is not a quantity")
        : scanNumber(text, valueType);
    case "json":
      return then(findInJson(text, valueLocation), (found) => convertJson(found, valueType));
    case "yaml":
      return then(findInYaml(text, valueLocation), (found) => {
        if (typeof found !== "string" || valueType === "quantity") return toLocatedValue(found);
        return scanNumber(found, "float64");
      });
  }
}

type EntryFormat = Pick<ObjectSource, "format" | "valueLocation" | "valueType">;

function convertJson(found: unknown, valueType: EntryFormat["valueType"]): ValueResult {
  if (valueType !== "int64") return toLocatedValue(found);
  return typeof found === "number"
    ? { ok: true, value: Math.trunc(found) }
    : { ok: false, cause: `valueLocation points to ${nameOf(found)}, not to a number` };
}

/** As fmt.Sscanf of Go: blanks before the number are skipped, and what follows it is not read. */
function scanNumber(text: string, valueType: "float64" | "int64"): ValueResult {
  const token = SCANNED[valueType].exec(text)?.[1] ?? "";
  const value = valueType === "float64" ? parseGoFloat(token) : parseGoInteger(token, 64);
  return value === null ? { ok: false, cause: `its text does not begin with ${NUMBERS[valueType]}` } : {
    ok: true,
    value: Number(value),
  };
}

const SCANNED = {
  float64: /^[^\S\r\n]*((?![+-]?0x)[+-]?(?:nan|inf|[0-9]*(?:\.[0-9]*)?(?:[ep][+-]?[0-9]*)?)(?![0-9_ep]))/i,
  int64: /^[^\S\r\n]*([+-]?[0-9]+)/,
} as const;

const NUMBERS = { float64: "a number", int64: "an integer" } as const;
