/**
 * Reads the body of a request, JSON or YAML, as the API server does: within bounds of size and depth, with what is
 * wrong about it as text (a field written twice, a number that no double holds) beside the value.
 */
import { parse as parseYaml } from "../../../runtime/yaml.ts";
import type { Json } from "../../json.ts";
import { badRequest, tooLargeBody, unsupportedMediaType } from "../refusal.ts";

/** The body of a request. */
export interface Body {
  /** `null` where there is none. */
  readonly value: Json;
  /** A number beyond what a double holds, such as 1e400; `null` where there is none. */
  readonly tooLarge: string | null;
  /** The paths of fields that are written twice, in order; none are looked for in YAML. */
  readonly findRepeated: () => readonly string[];
}

/** Rejects with a Refusal for what is neither JSON nor YAML, or too large. */
export async function readBody(request: Request): Promise<Body> {
  const contentType = request.headers.get("content-type") ?? "";
  if (/protobuf|cbor/.test(contentType)) throw unsupportedMediaType(["application/json", "application/yaml"]);
  const text = request.body === null ? "" : await readText(request.body);
  if (text === "") return { value: null, tooLarge: null, findRepeated: () => [] };
  const isYaml = /yaml/.test(contentType);
  const value = parse(text, isYaml);
  return {
    value,
    tooLarge: !isYaml && hasInfinity(value) ? findInfinity(text) : null,
    findRepeated: () => isYaml ? [] : findRepeated(text),
  };
}

/** A real server has the same limit. */
const MAX_BYTES = 3 * 1024 * 1024;
/** A real server takes 10,000 levels; what walks through objects here calls itself for each. */
const MAX_DEPTH = 1000;

function parse(text: string, isYaml: boolean): Json {
  try {
    const value = isYaml ? parseYaml(text) as Json : JSON.parse(text);
    if (isDeeper(value, MAX_DEPTH)) throw new RangeError("exceeded max depth");
    // Go replaces halves of characters, too.
    return /\\u[dD][89a-fA-F]/.test(text) ? replaceLoneSurrogates(value) : value;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw badRequest(`the object provided is unrecognized: couldn't get version/kind; json parse error: ${why}`);
  }
}

async function readText(body: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let [text, bytes] = ["", 0];
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) throw tooLargeBody(MAX_BYTES);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function isDeeper(value: Json, depth: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return depth === 0 || Object.values(value).some((one) => isDeeper(one, depth - 1));
}

function replaceLoneSurrogates(value: Json): Json {
  if (typeof value === "string") return value.toWellFormed();
  if (Array.isArray(value)) return value.map(replaceLoneSurrogates);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key.toWellFormed(), replaceLoneSurrogates(one)]),
  );
}

function hasInfinity(value: Json): boolean {
  if (typeof value === "number") return !Number.isFinite(value);
  return typeof value === "object" && value !== null && Object.values(value).some(hasInfinity);
}

function findInfinity(text: string): string | null {
  for (const [token] of text.matchAll(TOKENS)) {
    if (/^-?\d/.test(token) && !Number.isFinite(Number(token))) return token;
  }
  return null;
}

/** Texts, brackets, commas and colons, and what stands between them. */
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/** An object or a list that is being read. */
interface Level {
  /** `null` for a list. */
  readonly keys: Set<string> | null;
  readonly path: string;
  /** The key or index that is being read. */
  at: string;
  index: number;
}

/** The text has to be JSON. */
function findRepeated(text: string): readonly string[] {
  const repeated: string[] = [];
  const levels: Level[] = [];
  let last = "";
  for (const [token] of text.matchAll(TOKENS)) {
    const level = levels.at(-1);
    if (token === "{" || token === "[") {
      const path = level === undefined ? "" : `${level.path}${level.at}`;
      const isList = token === "[";
      levels.push({ keys: isList ? null : new Set(), path, at: isList ? "[0]" : "", index: 0 });
    } else if (token === "}" || token === "]") levels.pop();
    else if (token === "," && level?.keys === null) level.at = `[${++level.index}]`;
    else if (token === ":" && level !== undefined && level.keys !== null) {
      const key = String(JSON.parse(last));
      level.at = level.path === "" ? key : `.${key}`;
      if (level.keys.has(key)) repeated.push(`${level.path}${level.at}`);
      level.keys.add(key);
    }
    last = token;
  }
  return repeated;
}
