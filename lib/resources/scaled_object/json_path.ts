/**
 * Where in a JSON document does a metrics-api trigger find its value?
 *
 * The part of GJSON's path language that names one place.
 */
import { isRecord, type Parsed, quote } from "../../units/untrusted.ts";

/** The steps from the document's root, at least one. */
type JsonPath = readonly JsonStep[];

interface JsonStep {
  readonly key: string;
  /**
   * Its meaning in a list: an item's index (digits without escapes), the list's length (`#` at the end), or nothing.
   */
  readonly inList: "index" | "length" | "nothing";
}

type ParsedJsonPath = Parsed<{ path: JsonPath }>;

/**
 * Parses a path, and refuses everything else of GJSON by name. Never throws.
 * https://github.com/tidwall/gjson/blob/v1.19.0/SYNTAX.md
 * Clauses: R13.
 */
export function parseJsonPath(text: string): ParsedJsonPath {
  const steps = splitSteps(text);
  if (typeof steps === "string") return refusePath(text, steps);
  for (const [index, step] of steps.entries()) {
    const cause = findFault(step, index === steps.length - 1);
    if (cause !== null) return refusePath(text, cause);
  }
  return { ok: true, path: steps.map(({ key, raw }) => ({ key, inList: toListUse(raw) })) };
}

/** Returns the value at a path of a parsed document; `undefined` if there is none. Never throws. */
export function findAtPath(path: JsonPath, document: unknown): unknown {
  let current = document;
  for (const step of path) {
    const { key } = step;
    if (Array.isArray(current)) current = findInList(current, step);
    else if (isRecord(current) && Object.hasOwn(current, key)) current = current[key];
    else return undefined;
  }
  return current;
}

interface RawStep {
  readonly raw: string;
  /** Without the escapes. */
  readonly key: string;
}

function toListUse(raw: string): JsonStep["inList"] {
  if (raw === "#") return "length";
  return /^[0-9]+$/.test(raw) ? "index" : "nothing";
}

function findInList(list: readonly unknown[], { key, inList }: JsonStep): unknown {
  switch (inList) {
    case "length":
      return list.length;
    case "index":
      return list[Number(key)];
    case "nothing":
      return undefined;
  }
}

/** Returns what is wrong with the escapes, as a text, if something is. */
function splitSteps(text: string): readonly RawStep[] | string {
  const steps: RawStep[] = [];
  let raw = "";
  let key = "";
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at);
    if (character === ".") {
      steps.push({ raw, key });
      raw = key = "";
    } else if (character === "\\") {
      at++;
      if (at === text.length) return "ends with a backslash";
      raw += `\\${text.charAt(at)}`;
      key += text.charAt(at);
    } else {
      raw += character;
      key += character;
    }
  }
  return [...steps, { raw, key }];
}

function findFault({ raw }: RawStep, isLast: boolean): string | null {
  if (raw === "") return "a key is empty";
  const plain = raw.replace(/\\./gsu, "");
  const [wildcard] = /[*?]/.exec(plain) ?? [];
  if (wildcard !== undefined) return `wildcards ("${wildcard}") are not supported; name one key`;
  if (plain.includes("|")) return 'pipes ("|") are not supported; use a dot';
  if (/^#[([]/.test(raw)) return 'queries ("#(...)") are not supported; name an index';
  if (raw === "#" && !isLast) return '"#" is supported at the end only, where it gives the length';
  if (raw.startsWith("@")) return 'modifiers ("@...") are not supported; write \\@ for a key that begins so';
  if (raw.startsWith("!")) return 'literals ("!...") are not supported';
  if (/^[[{]/.test(raw)) return `several values ("${raw.charAt(0)}...") are not supported; name one`;
  return null;
}

function refusePath(text: string, cause: string): ParsedJsonPath {
  return { ok: false, message: `Cannot parse GJSON path ${quote(text)}: ${cause}` };
}
