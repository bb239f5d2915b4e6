/**
 * What is the value of an environment variable of a container, without running it?
 *
 * The pod template's env and envFrom are followed to secrets and config maps. Only the objects that the variable needs
 * are fetched. The template is written by a tenant, so variables, references, depth, length and objects have limits.
 */
import { isRecord } from "../units/untrusted.ts";

interface FindVariableOptions {
  readonly findEntry: FindEntry;
  /** Lets other work run; called again and again in long work. */
  readonly pause: () => Promise<void>;
}

/**
 * Returns a function that finds variables, one call at a time. Each variable is read once, for all names and references.
 * `absent` is a variable that the container does not have, or that comes from the pod's own fields. Rejects only with
 * the errors of its options. Clauses: R16.
 */
export function createFindVariable(
  { variables, sources }: EnvContainer,
  { findEntry, pause }: FindVariableOptions,
): (name: string) => Promise<Found> {
  const places = indexByName(variables);
  const lastSourceFirst = sources.toReversed();
  const read = new Map<number, Found>();
  const readInSources = new Map<string, Found>();
  let steps = 0;
  let characters = 0;

  /** The last entry counts, and `env` has priority over `envFrom`. Entries from `before` on are not seen. */
  async function find(name: string, { before, depth }: { before: number; depth: number }): Promise<Found> {
    const own = places.get(name) ?? [];
    for (let place = countBelow(own, before) - 1; place >= 0; place--) {
      const index = own[place] ?? 0;
      const value = read.get(index) ?? await readVariable(index, depth);
      read.set(index, value);
      if (value.kind !== "absent") return value;
      if (isOverSteps()) return TOO_MANY_STEPS;
    }
    const value = readInSources.get(name) ?? await findInSources(name);
    readInSources.set(name, value);
    return value;
  }

  async function readVariable(index: number, depth: number): Promise<Found> {
    const variable = variables[index];
    if (variable === undefined) return ABSENT;
    const { from, value } = variable;
    if (from !== null) return await findReferred(from);
    if (depth > MAX_DEPTH) {
      return fail(`its container has variables that refer to each other more than ${MAX_DEPTH} deep`);
    }
    const expanded = await expandReferences(value, { before: index, depth: depth + 1 });
    characters += expanded.kind === "found" ? expanded.text.length : 0;
    return characters > MAX_CHARACTERS_OF_ALL
      ? fail(`its container's variables have more than ${MAX_CHARACTERS_OF_ALL} characters`)
      : expanded;
  }

  async function findReferred(from: EnvRef | { readonly kind: "other" }): Promise<Found> {
    if (from.kind === "other") return ABSENT;
    const found = await findEntry(from);
    if (found.kind === "failed" || found.kind === "found") return found;
    if (from.isOptional) return ABSENT;
    if (found.kind === "missing") return found;
    return { kind: "missing", cause: `${from.kind} "${from.name}" has no key "${from.key}"` };
  }

  async function findInSources(name: string): Promise<Found> {
    for (const { kind, name: object, prefix, isOptional } of lastSourceFirst) {
      if (isOverSteps()) return TOO_MANY_STEPS;
      if (!name.startsWith(prefix)) continue;
      const found = await findEntry({ kind, name: object, key: name.slice(prefix.length) });
      if (found.kind === "absent" || (found.kind === "missing" && isOptional)) continue;
      return found;
    }
    return ABSENT;
  }

  /** An undefined name stays unchanged; `$$` is a dollar sign. */
  async function expandReferences(text: string, scope: { before: number; depth: number }): Promise<Found> {
    const lastEnd = text.lastIndexOf(")");
    let expanded = "";
    let done = 0;
    while (true) {
      const dollar = text.indexOf("$", done);
      // KEDA checks a dollar sign only if three characters follow it.
      if (dollar === -1 || dollar + 3 >= text.length) {
        expanded += text.slice(done);
        return expanded.length > MAX_CHARACTERS ? TOO_LONG : { kind: "found", text: expanded };
      }
      if (isOverSteps()) return TOO_MANY_STEPS;
      if (steps % STEPS_PER_TURN === 0) await pause();
      expanded += text.slice(done, dollar);
      const end = text[dollar + 1] === "(" && dollar < lastEnd ? text.indexOf(")", dollar) : -1;
      done = end === -1 ? dollar + 2 : end + 1;
      const whole = text.slice(dollar, done);
      if (end === -1) {
        expanded += whole === "$$" ? "$" : whole;
        continue;
      }
      const found = await find(whole.slice(2, -1), scope);
      if (found.kind === "missing" || found.kind === "failed") return found;
      expanded += found.kind === "found" ? found.text : whole;
      if (expanded.length > MAX_CHARACTERS) return TOO_LONG;
    }
  }

  function isOverSteps(): boolean {
    return ++steps > MAX_STEPS;
  }

  return async (name) =>
    variables.length > MAX_VARIABLES
      ? fail(`its container has more than ${MAX_VARIABLES} variables`)
      : await find(name, { before: variables.length, depth: 1 });
}

/** The indices of each name, in order. */
function indexByName(variables: readonly EnvVariable[]): ReadonlyMap<string, readonly number[]> {
  const places = new Map<string, number[]>();
  for (const [index, { name }] of variables.entries()) {
    const known = places.get(name);
    if (known === undefined) places.set(name, [index]);
    else known.push(index);
  }
  return places;
}

/** How many of the ascending numbers are below the limit. */
function countBelow(ascending: readonly number[], limit: number): number {
  let [low, high] = [0, ascending.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ascending[middle] ?? 0) < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

function fail(cause: string): Found {
  return { kind: "failed", cause };
}

const MAX_VARIABLES = 1000;

const MAX_DEPTH = 100;

/** Dollar signs, absent entries and sources that are visited. */
const MAX_STEPS = 20_000;

const STEPS_PER_TURN = 256;

/** Short texts may refer to each other, so each result is limited, and their sum. */
const MAX_CHARACTERS = 2 ** 16;

const MAX_CHARACTERS_OF_ALL = 2 ** 20;

const TOO_LONG = fail(`a variable is longer than ${MAX_CHARACTERS} characters`);

const TOO_MANY_STEPS = fail(`its container's variables have more than ${MAX_STEPS} references`);

interface EnvContainer {
  readonly name: string;
  readonly variables: readonly EnvVariable[];
  readonly sources: readonly EnvSource[];
}

/** One entry of `env`. */
interface EnvVariable {
  readonly name: string;
  /** May refer to others: `$(NAME)`. Empty if `from` is given. */
  readonly value: string;
  readonly from: EnvRef | { readonly kind: "other" } | null;
}

interface EnvRef {
  readonly kind: "secret" | "config map";
  readonly name: string;
  readonly key: string;
  readonly isOptional: boolean;
}

/** One entry of `envFrom`. */
interface EnvSource {
  readonly kind: "secret" | "config map";
  readonly name: string;
  readonly prefix: string;
  readonly isOptional: boolean;
}

/** Parses `spec.template.spec.containers` of a workload; invalid entries are left out. Never throws. */
export function listEnvContainers(workload: unknown): readonly EnvContainer[] {
  const containers = ["spec", "template", "spec", "containers"].reduce(findField, workload);
  return listRecords(containers).map((container) => ({
    name: findText(container["name"]),
    variables: listRecords(container["env"]).map(parseVariable),
    sources: listRecords(container["envFrom"]).map(parseEnvSource).filter((source) => source !== null),
  }));
}

type Fields = Readonly<Record<string, unknown>>;

function findField(value: unknown, name: string): unknown {
  return isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

function listRecords(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

function findText(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function parseVariable(entry: Fields): EnvVariable {
  const name = findText(entry["name"]);
  const value = findText(entry["value"]);
  const from = entry["valueFrom"];
  return { name, value, from: value === "" && isRecord(from) ? parseRef(from) : null };
}

function parseRef(from: Fields): EnvRef | { readonly kind: "other" } {
  const { secretKeyRef: secret, configMapKeyRef: configMap } = from;
  if (isRecord(secret)) return { kind: "secret", ...findName(secret), key: findText(secret["key"]) };
  if (isRecord(configMap)) return { kind: "config map", ...findName(configMap), key: findText(configMap["key"]) };
  return { kind: "other" };
}

function parseEnvSource(entry: Fields): EnvSource | null {
  const { configMapRef: configMap, secretRef: secret } = entry;
  const prefix = findText(entry["prefix"]);
  if (isRecord(configMap)) return { kind: "config map", prefix, ...findName(configMap) };
  return isRecord(secret) ? { kind: "secret", prefix, ...findName(secret) } : null;
}

function findName(ref: Fields): { readonly name: string; readonly isOptional: boolean } {
  return { name: findText(ref["name"]), isOptional: ref["optional"] === true };
}

/** The result of fetching one object; `entries` of a Secret are in base64, as in the API. */
export type ObjectResult =
  | { readonly kind: "found"; readonly entries: Readonly<Record<string, string>> }
  | { readonly kind: "missing" }
  /** `cause` says why, and what to do. */
  | { readonly kind: "failed"; readonly cause: string };

/** Fetches one object. Never lists, and rejects only with the signal's reason. */
export type FetchObject = (
  object: { readonly namespace: string; readonly name: string },
  signal: AbortSignal,
) => Promise<ObjectResult>;

/** A text, or why there is none. */
export type Found =
  | { readonly kind: "found"; readonly text: string }
  /** It is not defined. */
  | { readonly kind: "absent" }
  /** It should be defined and does not exist: this can resolve without a change of the spec. */
  | { readonly kind: "missing"; readonly cause: string }
  | { readonly kind: "failed"; readonly cause: string };

const ABSENT: Found = { kind: "absent" };

interface EntryRef {
  readonly kind: "secret" | "config map";
  readonly name: string;
  readonly key: string;
}

type FindEntry = (ref: EntryRef) => Promise<Found>;

interface EntriesOptions {
  readonly namespace: string;
  readonly fetchSecret: FetchObject;
  readonly fetchConfigMap: FetchObject;
  readonly signal: AbortSignal;
}

/**
 * Returns a function that finds entries in this one namespace, one call at a time. A missing object is `missing`, a missing key of it
 * `absent`. Clauses: R16.
 */
export function createFindEntry({ namespace, fetchSecret, fetchConfigMap, signal }: EntriesOptions): FindEntry {
  const fetched = new Map<string, ObjectResult>();
  let characters = 0;

  async function fetchOnce({ kind, name }: EntryRef): Promise<ObjectResult> {
    const id = `${kind} ${name}`;
    const known = fetched.get(id);
    if (known !== undefined) return known;
    if (fetched.size === MAX_OBJECTS) return { kind: "failed", cause: `more than ${MAX_OBJECTS} objects are needed` };
    const result = await (kind === "secret" ? fetchSecret : fetchConfigMap)({ namespace, name }, signal);
    if (result.kind === "found") {
      for (const entry of Object.values(result.entries)) characters += entry.length;
    }
    const kept: ObjectResult = characters > MAX_CHARACTERS_OF_OBJECTS
      ? { kind: "failed", cause: `the objects that are needed are larger than ${MAX_CHARACTERS_OF_OBJECTS} bytes` }
      : result;
    fetched.set(id, kept);
    return kept;
  }

  return async (ref) => {
    const result = await fetchOnce(ref);
    const shown = `${ref.kind} "${namespace}/${ref.name}"`;
    if (result.kind === "missing") return { kind: "missing", cause: `there is no ${shown}` };
    if (result.kind === "failed") return { kind: "failed", cause: `${shown} cannot be read: ${result.cause}` };
    const entry = Object.hasOwn(result.entries, ref.key) ? result.entries[ref.key] : undefined;
    if (entry === undefined) return ABSENT;
    if (ref.kind === "config map") return { kind: "found", text: entry };
    const text = decodeBase64(entry);
    return text === null ? { kind: "failed", cause: `${shown} has a key that is not base64` } : { kind: "found", text };
  };
}

/** For one authentication: its objects are in memory until all its parameters are known. */
const MAX_OBJECTS = 64;

const MAX_CHARACTERS_OF_OBJECTS = 2 ** 21;

function decodeBase64(base64: string): string | null {
  try {
    return new TextDecoder().decode(Uint8Array.fromBase64(base64));
  } catch {
    return null;
  }
}
