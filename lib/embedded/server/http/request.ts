/** What does a request ask for? Its path, its verb and its body, within bounds. */
import type { Clock } from "../../../runtime/clock.ts";
import { parse as parseYaml } from "../../../runtime/yaml.ts";
import type { Json, JsonObject } from "../../json.ts";
import type { Catalog } from "../kinds/catalog.ts";
import type { ResourceType } from "../kinds/resource_type.ts";
import { badRequest, tooLargeBody, unsupportedMediaType } from "../refusal.ts";
import type { Store } from "../store.ts";
import type { Admission } from "../write/admission.ts";
import type { Apply, PatchFormats } from "../write/write.ts";
import type { Lister } from "./list.ts";
import type { OpenWatch } from "./watch.ts";

/** What every answer is made from. */
export interface AnswerContext {
  readonly store: Store;
  readonly admission: Admission;
  readonly patchFormats: PatchFormats;
  readonly apply: Apply | null;
  readonly catalog: Catalog;
  readonly lister: Lister;
  readonly clock: Clock;
  readonly now: number;
  readonly random: () => number;
}

/** A request for a resource. Its body is parsed and not interpreted. */
export interface ResourceRequest {
  readonly target: Target;
  readonly verb: string;
  readonly query: URLSearchParams;
  readonly body: Body;
  readonly accept: string | null;
  readonly contentType: string;
  /** The name in its User-Agent, which is its field manager unless it says so. */
  readonly agent: string;
  readonly signal: AbortSignal;
}

/** A status code and a body of JSON. */
export interface Answer {
  readonly code: number;
  readonly text: string;
  /** Opens the stream of a watch, whose body it is instead of the text. */
  readonly open?: (register: (watch: OpenWatch) => () => void) => ReadableStream<Uint8Array>;
}

/** A right is needed for a resource, or for a path outside of them. */
export type Attributes =
  | { readonly verb: string; readonly path: string }
  | {
    readonly verb: string;
    readonly group: string;
    /** The plural name with its subresource: `pods/resize`. */
    readonly resource: string;
    readonly namespace: string | null;
    readonly name: string;
  };

/** The sender of a request. */
export interface Caller {
  /** Throws a Refusal for what the caller may not do. */
  readonly check: (asked: Attributes) => void;
  /** Answers a POST that asks about rights or for a token; `null` for any other. Throws a Refusal. */
  readonly answer: (path: string, body: JsonObject) => JsonObject | null;
}

/** Returns the caller that a header `Authorization` names. Throws a Refusal for an unknown token. */
export type Authorize = (authorization: string | null) => Caller;

/** What callers and their rights are found with. */
export interface AuthorizeParts {
  readonly store: Store;
  readonly random: () => number;
  readonly now: () => number;
}

/** A request as an interceptor sees it. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly isWatch: boolean;
}

/** Stands between a server and its clients, so that tests can disturb both. */
export interface Interceptor {
  /** How far the server's clock is ahead, in timestamps and in the Date header, in ms. */
  readonly skewMs: number;
  /** Waits, or rejects instead of an answer. Resolves with what happens to the answer. */
  readonly intercept: (asked: Asked, signal: AbortSignal) => Promise<Interception>;
}

/** What happens to the answer to one request. */
export interface Interception {
  /** Receives a watch when it opens. Returns a function to call when it has ended. */
  readonly register: (watch: OpenWatch) => () => void;
  readonly change: (response: Response) => Response;
}

/**
 * What a path of the API names.
 * https://kubernetes.io/docs/reference/access-authn-authz/authorization/#determine-the-request-verb
 */
export interface Target {
  readonly group: string;
  readonly version: string;
  readonly namespace: string | null;
  readonly plural: string;
  /** "" for the collection. */
  readonly name: string;
  readonly subresource: string;
  /** The path that follows the subresource, which a proxy forwards. */
  readonly rest: string;
}

/** `null` for a path outside of resources, such as /version. */
export function parsePath(path: string): Target | null {
  const [, group = "", version = "", below] = PATH.exec(path) ?? [];
  if (below === undefined) return null;
  const [first = "", ...others] = below.split("/").map(decodeURIComponent);
  // A namespace is an object too, and has subresources.
  const isInside = first === "namespaces" && others.length > 1 && !NAMESPACE_PARTS.includes(others[1] ?? "");
  const namespace = isInside ? others[0] ?? "" : null;
  const [plural = "", name = "", subresource = "", ...rest] = isInside ? others.slice(1) : [first, ...others];
  return { group, version, namespace, plural, name, subresource, rest: rest.join("/") };
}

/** The verb by which rights are granted for a request. */
export function toVerb(method: string, { name }: Pick<Target, "name">, isWatch: boolean): string {
  if (method === "GET" || method === "HEAD") return name !== "" ? "get" : isWatch ? "watch" : "list";
  if (method === "DELETE") return name === "" ? "deletecollection" : "delete";
  return VERBS[method] ?? method.toLowerCase();
}

/** Does this type serve what the target names? */
export function isServed(type: ResourceType, { namespace, name, subresource }: Target, verb: string): boolean {
  if (subresource !== "" && !type.subresources.includes(subresource)) return false;
  if (!type.isNamespaced) return namespace === null;
  return namespace !== null || (name === "" && ["list", "watch", "deletecollection"].includes(verb));
}

/** Rejects with a Refusal for what is neither JSON nor YAML, or too large. */
export async function readBody(request: Request): Promise<Body> {
  const contentType = request.headers.get("content-type") ?? "";
  if (/protobuf|cbor/.test(contentType)) throw unsupportedMediaType(["application/json", "application/yaml"]);
  const text = request.body === null ? "" : await readBodyText(request.body);
  if (text === "") return { value: null, tooLarge: null, findRepeated: () => [] };
  const isYaml = /yaml/.test(contentType);
  const value = parseBody(text, isYaml);
  return {
    value,
    tooLarge: !isYaml && hasInfinity(value) ? findInfinity(text) : null,
    findRepeated: () => isYaml ? [] : findRepeated(text),
  };
}

const PATH = /^\/(?:api|apis\/([^/]+))\/(v\d\w*)\/(.+?)\/?$/;

const NAMESPACE_PARTS = ["status", "finalize"];

const VERBS: Readonly<Record<string, string>> = { POST: "create", PUT: "update", PATCH: "patch" };

/** The body of a request. */
interface Body {
  /** `null` where there is none. */
  readonly value: Json;
  /** A number beyond what a double holds, such as 1e400; `null` where there is none. */
  readonly tooLarge: string | null;
  /** The paths of fields that are written twice, in order; none are looked for in YAML. */
  readonly findRepeated: () => readonly string[];
}

/** A real server has the same limit. */
const MAX_BYTES = 3 * 1024 * 1024;

/** A real server takes 10,000 levels; what walks through objects here calls itself for each. */
const MAX_DEPTH = 1000;

function parseBody(text: string, isYaml: boolean): Json {
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

async function readBodyText(body: ReadableStream<Uint8Array>): Promise<string> {
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
