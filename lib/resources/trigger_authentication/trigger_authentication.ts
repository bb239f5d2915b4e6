/**
 * Parses and validates TriggerAuthentications and ClusterTriggerAuthentications.
 *
 * The result says where each parameter is: in a secret, or in a variable of the target's containers.
 */
import type { AuthenticationRef } from "../../model/scaled_object.ts";
import { ANY_TEXT, type Fields, NAME_RULE, openFields, SERVER_TEXT, warnOfUnknown } from "../../units/fields.ts";
import { type AuthenticationUse, parseUse } from "./use.ts";
import { isRecord, type Problem, quote } from "../../units/untrusted.ts";

/** A valid one with what its annotations say. If a parameter has several sources, the last one of `env` and then `secrets` counts. */
export interface Authentication extends AuthenticationUse {
  readonly kind: AuthenticationRef["kind"];
  /** `null` for a ClusterTriggerAuthentication: its secrets are in the namespace that the operator names. */
  readonly namespace: string | null;
  readonly name: string;
  /** secretTargetRef. */
  readonly secrets: readonly SecretParameter[];
  /** Variables of the target's containers. */
  readonly env: readonly EnvParameter[];
}

interface SecretParameter {
  readonly parameter: string;
  /** The name of the secret. */
  readonly name: string;
  readonly key: string;
}

interface EnvParameter {
  readonly parameter: string;
  /** The name of the variable. */
  readonly name: string;
  /** `null` = the first container, whatever envSourceContainerName of the ScaledObject is. */
  readonly containerName: string | null;
}

/** One as it was seen, valid or not. */
export interface AuthenticationFacts {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly kind: AuthenticationRef["kind"];
  readonly namespace: string | null;
  readonly name: string;
  /** `null` if it is invalid: then `problems` says why. */
  readonly authentication: Authentication | null;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
  /** status.scaledobjects: the names of ScaledObjects that use it, with commas between them. */
  readonly users: string;
}

/** A longer text helps no reader. */
const MAX_USERS_LENGTH = 4096;

/**
 * Returns status.scaledobjects for these ScaledObjects, as KEDA writes it: names keep their place, and new ones are at the
 * end. Where there are too many, it ends with `...`. Clauses: R99.
 */
export function formatUsers(before: string, names: Iterable<string>): string {
  const wanted = new Set(names);
  const kept = before.split(",").filter((name) => wanted.delete(name));
  const all = [...kept, ...[...wanted].sort()];
  let length = 0;
  const shown = all.filter((name) => (length += name.length + 1) <= MAX_USERS_LENGTH);
  return [...shown, ...(shown.length < all.length ? ["..."] : [])].join(",");
}

/**
 * Returns what is known of the object; `authentication` is set if no problem was found. Takes any value and never
 * throws. Clauses: R16.
 */
export function parseAuthentication(object: unknown): AuthenticationFacts {
  const problems: Problem[] = [];
  const warnings: Problem[] = [];
  const nothing = { ...INVALID_AUTHENTICATION, problems, warnings };
  const root = isRecord(object) ? openFields(object, { path: "", problems, known: null }) : null;
  if (root === null) {
    problems.push({ path: "", message: `Cannot use ${quote(object)} as TriggerAuthentication: not an object` });
    return nothing;
  }
  warnOfUnknown(root, { known: ["apiVersion", "kind", "metadata", "spec", "status"], warnings });
  root.word("apiVersion", ["keda.sh/v1alpha1"]);
  const kind = root.word("kind", ["TriggerAuthentication", "ClusterTriggerAuthentication"]) ??
    INVALID_AUTHENTICATION.kind;
  root.require(["metadata", "spec"]);
  const metadata = root.object("metadata", null);
  const seen = { kind, ...parseObjectMetadata(metadata, kind), users: parseUsers(object) };
  const use = parseUse(metadata?.object("annotations", null) ?? null);
  const spec = root.object("spec", null);
  const parameters = spec === null ? null : parseSources(spec, warnings);
  if (parameters === null || problems.length > 0) return { ...nothing, ...seen };
  const { namespace, name } = seen;
  return { ...nothing, ...seen, authentication: { kind, namespace, name, ...use, ...parameters } };
}

const INVALID_AUTHENTICATION: AuthenticationFacts = {
  uid: "",
  resourceVersion: "",
  kind: "TriggerAuthentication",
  namespace: "default",
  name: "",
  authentication: null,
  problems: [],
  warnings: [],
  users: "",
};

function parseUsers(object: unknown): string {
  const status = isRecord(object) && isRecord(object["status"]) ? object["status"] : {};
  return typeof status["scaledobjects"] === "string" ? status["scaledobjects"] : "";
}

/** Far more than a sensible list has. */
const MAX_PARAMETERS = 64;

function parseObjectMetadata(
  metadata: Fields | null,
  kind: AuthenticationFacts["kind"],
): Pick<AuthenticationFacts, "uid" | "resourceVersion" | "namespace" | "name"> {
  metadata?.require(["name"]);
  const namespace = metadata?.text("namespace", NAME_RULE) ?? "default";
  return {
    uid: metadata?.text("uid", SERVER_TEXT) ?? "",
    resourceVersion: metadata?.text("resourceVersion", SERVER_TEXT) ?? "",
    namespace: kind === "ClusterTriggerAuthentication" ? null : namespace,
    name: metadata?.text("name", NAME_RULE) ?? "",
  };
}

interface Parameters {
  readonly secrets: readonly SecretParameter[];
  readonly env: readonly EnvParameter[];
}

function parseSources(spec: Fields, warnings: Problem[]): Parameters {
  for (const key of spec.keys().filter((key) => key !== "secretTargetRef" && key !== "env")) {
    if (isEmptySource(key, spec.get(key))) continue;
    const instead = "podfit reads secretTargetRef and env, put the parameter into a Secret";
    spec.report(key, `Cannot use source ${quote(key)}: ${instead}`);
  }
  const secrets = listEntries(spec, { key: "secretTargetRef", known: ["parameter", "name", "key"], warnings });
  const env = listEntries(spec, { key: "env", known: ["parameter", "name", "containerName"], warnings });
  return {
    secrets: secrets.map((entry) => {
      entry.require(["parameter", "name", "key"]);
      return { parameter: parseText(entry, "parameter"), name: parseName(entry), key: parseText(entry, "key") };
    }),
    env: env.map((entry) => {
      entry.require(["parameter", "name"]);
      const containerName = entry.get("containerName") === "" ? null : entry.text("containerName", ANY_TEXT);
      return { parameter: parseText(entry, "parameter"), name: parseText(entry, "name"), containerName };
    }),
  };
}

/** An empty list, no file, and the identity `none` provide no parameter. */
function isEmptySource(key: string, value: unknown): boolean {
  if (value === null || value === "") return true;
  if (key === "podIdentity") return isRecord(value) && Object.hasOwn(value, "provider") && value.provider === "none";
  return Array.isArray(value) && value.length === 0;
}

function listEntries(
  spec: Fields,
  { key, known, warnings }: {
    readonly key: string;
    readonly known: readonly string[];
    readonly warnings: Problem[];
  },
): readonly Fields[] {
  const list = spec.get(key) ?? [];
  if (!Array.isArray(list) || list.length > MAX_PARAMETERS) {
    spec.report(key, `Cannot use ${quote(list)} as ${key}: must be a list of at most ${MAX_PARAMETERS}`);
    return [];
  }
  const entries = list.map((value, index) => spec.entry(key, { index, value })).filter((entry) => entry !== null);
  for (const entry of entries) warnOfUnknown(entry, { known, warnings });
  return entries;
}

function parseText(entry: Fields, key: string): string {
  return entry.text(key, ANY_TEXT) ?? "";
}

/** The name of the secret, which becomes part of a path. */
function parseName(entry: Fields): string {
  return entry.text("name", NAME_RULE) ?? "";
}
