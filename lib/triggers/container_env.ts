/**
 * What is the value of an environment variable of a container, without running it?
 *
 * The pod template's env and envFrom are followed to secrets and config maps. Only the objects that the variable needs
 * are fetched.
 */
import { isRecord } from "../units/untrusted.ts";

/**
 * Returns a function that finds variables. `absent` is a variable that the container does not have, or that comes from
 * the pod's own fields. Clauses: R16.
 */
export function createFindVariable(container: EnvContainer, findEntry: FindEntry): (name: string) => Promise<Found> {
  const values = new Map<number, Promise<Found>>();

  /** The last entry counts, and `env` has priority over `envFrom`. */
  async function find(name: string, before: number): Promise<Found> {
    for (let index = before - 1; index >= 0; index--) {
      const variable = container.variables[index];
      if (variable?.name !== name) continue;
      const value = await valueOf(variable, index);
      if (value.kind !== "absent") return value;
    }
    return await findInSources(name);
  }

  function valueOf(variable: EnvVariable, index: number): Promise<Found> {
    const known = values.get(index);
    if (known !== undefined) return known;
    const { from, value } = variable;
    const reading = from === null ? expandReferences(value, (name) => find(name, index)) : findReferred(from);
    values.set(index, reading);
    return reading;
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
    for (const { kind, name: object, prefix, isOptional } of container.sources.toReversed()) {
      if (!name.startsWith(prefix)) continue;
      const found = await findEntry({ kind, name: object, key: name.slice(prefix.length) });
      if (found.kind === "absent" || (found.kind === "missing" && isOptional)) continue;
      return found;
    }
    return ABSENT;
  }

  return (name) => find(name, container.variables.length);
}

/**
 * An undefined name stays unchanged; `$$` is a dollar sign. Short texts may refer to each other, so the result is
 * limited.
 */
async function expandReferences(text: string, find: (name: string) => Promise<Found>): Promise<Found> {
  let expanded = "";
  let rest = text;
  while (true) {
    const dollar = rest.indexOf("$");
    // KEDA checks a dollar sign only if three characters follow it.
    if (dollar === -1 || dollar + 3 >= rest.length) return { kind: "found", text: expanded + rest };
    expanded += rest.slice(0, dollar);
    const [whole = "", name] = /^\$\(([^)]*)\)/.exec(rest.slice(dollar)) ?? [rest.slice(dollar, dollar + 2)];
    rest = rest.slice(dollar + whole.length);
    if (name === undefined) {
      expanded += whole === "$$" ? "$" : whole;
      continue;
    }
    const found = await find(name);
    if (found.kind === "missing" || found.kind === "failed") return found;
    expanded += found.kind === "found" ? found.text : whole;
    if (expanded.length > MAX_CHARACTERS) {
      return { kind: "failed", cause: `a variable is longer than ${MAX_CHARACTERS} characters` };
    }
  }
}

const MAX_CHARACTERS = 2 ** 16;

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
 * Returns a function that finds entries in this one namespace. A missing object is `missing`, a missing key of it
 * `absent`. Clauses: R16.
 */
export function createFindEntry({ namespace, fetchSecret, fetchConfigMap, signal }: EntriesOptions): FindEntry {
  const fetched = new Map<string, Promise<ObjectResult>>();

  function fetchOnce({ kind, name }: EntryRef): Promise<ObjectResult> {
    const id = `${kind} ${name}`;
    const known = fetched.get(id);
    if (known !== undefined) return known;
    const reading = (kind === "secret" ? fetchSecret : fetchConfigMap)({ namespace, name }, signal);
    fetched.set(id, reading);
    return reading;
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

function decodeBase64(base64: string): string | null {
  try {
    return new TextDecoder().decode(Uint8Array.fromBase64(base64));
  } catch {
    return null;
  }
}
