/**
 * Which objects of a file are checked, and what is wrong with one of them?
 *
 * The parsers of the daemon find most problems. The rest are those for which the API server refuses the object.
 * Clauses: C8, R3.
 */
import type { NamedWarning } from "../../model/lint_rules.ts";
import { parseAutoscaler } from "../../resources/pod_resource_autoscaler/parse.ts";
import { advise } from "../../resources/pod_resource_autoscaler/warnings.ts";
import { parseScaledObject } from "../../resources/scaled_object/scaled_object.ts";
import { parseAuthentication } from "../../resources/trigger_authentication/trigger_authentication.ts";
import { openFields } from "../../units/fields.ts";
import { findKeyFault, findValueFault } from "../../units/selector.ts";
import { isRecord, type Problem, quote } from "../../units/untrusted.ts";
import type { Manifest } from "../manifests/files.ts";

interface CheckedManifest {
  readonly problems: readonly Problem[];
  readonly warnings: readonly (Problem & Partial<NamedWarning>)[];
  readonly advice?: readonly NamedWarning[];
}

/** What an object should be, and the function that checks it. */
interface Expected {
  readonly apiVersion: string;
  readonly kind: string;
  /** Never throws. */
  readonly parse: (manifest: Manifest) => CheckedManifest;
}

/** Returns every problem of an object, by paths within it. Never throws. */
function checkObject(manifest: Manifest, expected: Expected): CheckedManifest {
  const isGenerated = hasGeneratedName(manifest);
  const parsed = expected.parse(isGenerated ? withGeneratedName(manifest) : manifest);
  const problems = parsed.problems.map((problem) =>
    isGenerated && problem.path === "metadata.name" ? { ...problem, path: "metadata.generateName" } : problem
  );
  const { advice = [] } = parsed;
  return { problems: [...findFileProblems(manifest, expected), ...problems], warnings: parsed.warnings, advice };
}

/** Returns `name` or `namespace/name`; `null` without a name, or when the API server will generate it. */
export function nameOf({ metadata }: Manifest): string | null {
  if (!isRecord(metadata) || typeof metadata.name !== "string" || metadata.name === "") return null;
  return typeof metadata.namespace === "string" ? `${metadata.namespace}/${metadata.name}` : metadata.name;
}

/** https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/object-meta/ */
const METADATA_FIELDS = [
  "name",
  "generateName",
  "namespace",
  "labels",
  "annotations",
  "finalizers",
  "ownerReferences",
  "uid",
  "generation",
  "resourceVersion",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "managedFields",
  "selfLink",
];

function hasGeneratedName({ metadata }: Manifest): boolean {
  return isRecord(metadata) && typeof metadata.generateName === "string" && (metadata.name ?? "") === "";
}

/** Returns the manifest with a name as the API server generates it: five letters and digits are appended. */
function withGeneratedName(manifest: Manifest): Manifest {
  const metadata = isRecord(manifest.metadata) ? manifest.metadata : {};
  return { ...manifest, metadata: { ...metadata, name: `${metadata.generateName}x2x4x` } };
}

function findFileProblems(manifest: Manifest, { apiVersion, kind }: Expected): readonly Problem[] {
  const problems: Problem[] = [];
  const missing = Object.entries({ apiVersion, kind })
    .filter(([key]) => (manifest[key] ?? null) === null)
    .map(([key, value]) => ({ path: key, message: `Missing field "${key}": must be ${value}` }));
  // The parser reports metadata that is not an object.
  if (!isRecord(manifest.metadata)) return missing;
  const metadata = openFields(manifest.metadata, { path: "metadata", problems, known: METADATA_FIELDS });
  for (const key of ["labels", "annotations"] as const) {
    const fields = metadata?.object(key, null) ?? null;
    for (const name of fields === null ? [] : Object.keys(manifest.metadata[key] as Manifest)) {
      const message = findEntryFault(key, [name, fields?.get(name)]);
      if (message !== null) fields?.report(name, message);
    }
  }
  return [...missing, ...problems];
}

function findEntryFault(kind: "labels" | "annotations", [key, value]: readonly [string, unknown]): string | null {
  const what = kind === "labels" ? "label" : "annotation";
  const keyFault = findKeyFault(key);
  if (keyFault !== null) return `Cannot use ${what} key ${quote(key)}: ${keyFault}`;
  if (value === null) return null;
  if (typeof value !== "string") return `Cannot use ${quote(value)} as ${what} value: must be a string, in quotes`;
  const fault = kind === "labels" ? findValueFault(value) : null;
  return fault === null ? null : `Cannot use label value ${quote(value)}: ${fault}`;
}

const API_VERSION = "keda.kedify.io/v1alpha1";

const KIND = "PodResourceAutoscaler";

/** Returns every problem of an autoscaler, by paths within it. Never throws. */
function checkManifest(manifest: Manifest): CheckedManifest {
  return checkObject(manifest, { apiVersion: API_VERSION, kind: KIND, parse });
}

function parse(manifest: Manifest): CheckedManifest {
  const parsed = parseAutoscaler(manifest);
  if (!parsed.ok) return { problems: parsed.problems, warnings: [] };
  return { problems: [], warnings: parsed.warnings, advice: advise(parsed.autoscaler, manifest.spec) };
}

interface CheckedKind {
  readonly apiVersion: string;
  readonly kind: string;
  /** How the summary counts it. */
  readonly noun: Noun;
  /** Never throws. */
  readonly check: (manifest: Manifest) => CheckedManifest;
}

/** In the order of the summary. Each is also the noun of its count. */
export const NOUNS = ["autoscaler", "scaled object", "trigger authentication", "scaled job"] as const;

export type Noun = typeof NOUNS[number];

const KEDA_API_VERSION = "keda.sh/v1alpha1";

/** An object without kind counts as the first kind of its group. */
const CHECKED_KINDS: readonly CheckedKind[] = [
  { apiVersion: API_VERSION, kind: KIND, noun: "autoscaler", check: checkManifest },
  toKind("ScaledObject", "scaled object", parseScaledObject),
  toKind("TriggerAuthentication", "trigger authentication", parseAuthentication),
  toKind("ClusterTriggerAuthentication", "trigger authentication", parseAuthentication),
  toKind("ScaledJob", "scaled job", () => ({ problems: [], warnings: [NO_SCALED_JOBS] })),
];

const NO_SCALED_JOBS = {
  path: "kind",
  message: "podfit sets replicas and creates no Jobs, so it ignores a ScaledJob: keep KEDA for it, next to podfit",
};

function toKind(kind: string, noun: Noun, parse: (manifest: Manifest) => CheckedManifest): CheckedKind {
  const check = (manifest: Manifest) =>
    checkObject(manifest, { apiVersion: KEDA_API_VERSION, kind, parse: toChecked(parse) });
  return { apiVersion: KEDA_API_VERSION, kind, noun, check };
}

/** Parsers give more than lint asks for. */
function toChecked(parse: (manifest: Manifest) => CheckedManifest): (manifest: Manifest) => CheckedManifest {
  return (manifest) => {
    const { problems, warnings } = parse(manifest);
    return { problems, warnings };
  };
}

interface ManifestObject {
  /** The place in the document: `items[0]`, or "" for the document itself. */
  readonly path: string;
  /** Unchanged. */
  readonly value: unknown;
  /** `null` for an object of another kind. */
  readonly known: CheckedObject | null;
}

export interface CheckedObject {
  readonly kind: CheckedKind;
  readonly manifest: Manifest;
}

/** Returns the object of a document, or the items of a list. */
export function listObjects(document: unknown): readonly ManifestObject[] {
  if (document === null) return [];
  if (!isRecord(document) || !isList(document)) {
    return [{ path: "", value: document, known: toCheckedObject(document) }];
  }
  // In a list of one kind, an item may leave out its kind and apiVersion.
  const one = CHECKED_KINDS.find(({ kind }) => document.kind === `${kind}List`);
  const implied = one === undefined ? {} : { apiVersion: document.apiVersion, kind: one.kind };
  return document.items.map((item, index) => {
    const value = isRecord(item) ? { ...implied, ...item } : item;
    return { path: `items[${index}]`, value, known: toCheckedObject(value) };
  });
}

type List = Manifest & { readonly items: readonly unknown[] };

function isList(document: Manifest): document is List {
  return typeof document.kind === "string" && document.kind.endsWith("List") && Array.isArray(document.items);
}

/** An object is recognised even if its kind is missing or in another case, so that this is reported. */
function toCheckedObject(object: unknown): CheckedObject | null {
  if (!isRecord(object)) return null;
  const kind = CHECKED_KINDS.find((one) => isOf(object, one));
  return kind === undefined ? null : { kind, manifest: object };
}

function isOf({ kind, apiVersion }: Manifest, known: CheckedKind): boolean {
  if (typeof kind === "string") return kind.toLowerCase() === known.kind.toLowerCase();
  return typeof apiVersion === "string" && toGroup(apiVersion) === toGroup(known.apiVersion);
}

function toGroup(apiVersion: string): string {
  return apiVersion.replace(/\/.*/s, "");
}
