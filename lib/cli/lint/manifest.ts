/**
 * What is wrong with one object of a file? The problems that podfit's parser finds, worded as in the condition Ready=False
 * (C8, R3), and those for which the API server would refuse the object before a daemon sees it.
 */
import { openFields } from "../../units/fields.ts";
import { findKeyFault, findValueFault } from "../../units/labels.ts";
import type { Problem, Remark } from "../../units/problem.ts";
import { isRecord, quote } from "../../units/untrusted.ts";

/** An object of a manifest file, unchecked. */
export type Manifest = Readonly<Record<string, unknown>>;

export interface CheckedManifest {
  readonly problems: readonly Problem[];
  readonly warnings: readonly (Problem & Partial<Remark>)[];
  readonly advice?: readonly Remark[];
}

/** What an object should be, and who says what is wrong with it. */
export interface Expected {
  readonly apiVersion: string;
  readonly kind: string;
  /** Never throws. */
  readonly parse: (manifest: Manifest) => CheckedManifest;
}

/** Gives everything that is wrong with an object; paths are those within it. Never throws. */
export function checkObject(manifest: Manifest, expected: Expected): CheckedManifest {
  const isGenerated = hasGeneratedName(manifest);
  const parsed = expected.parse(isGenerated ? withGeneratedName(manifest) : manifest);
  const problems = parsed.problems.map((problem) =>
    isGenerated && problem.path === "metadata.name" ? { ...problem, path: "metadata.generateName" } : problem
  );
  const { advice = [] } = parsed;
  return { problems: [...findFileProblems(manifest, expected), ...problems], warnings: parsed.warnings, advice };
}

/** Gives `name` or `namespace/name`; `null` when there is no name, or when the API server will generate it. */
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

/** Gives the manifest a name as the API server generates it: with five letters and digits appended. */
function withGeneratedName(manifest: Manifest): Manifest {
  const metadata = isRecord(manifest.metadata) ? manifest.metadata : {};
  return { ...manifest, metadata: { ...metadata, name: `${metadata.generateName}x2x4x` } };
}

function findFileProblems(manifest: Manifest, { apiVersion, kind }: Expected): readonly Problem[] {
  const problems: Problem[] = [];
  const missing = Object.entries({ apiVersion, kind })
    .filter(([key]) => (manifest[key] ?? null) === null)
    .map(([key, value]) => ({ path: key, message: `Missing field "${key}": must be ${value}` }));
  // The parser reports metadata that is no object.
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
