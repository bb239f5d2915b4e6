/**
 * What is wrong with the objects of manifest files, and in which line?
 *
 * Each object is checked alone, then all of them together.
 */
import type { Problem } from "../../units/untrusted.ts";
import type { Source } from "../manifests/files.ts";
import { parseYaml, type Place, type YamlDocument } from "../manifests/yaml.ts";
import { type CheckedObject, listObjects, nameOf, type Noun } from "./check_object.ts";
import { checkTogether } from "./checks/checks.ts";
import { type LocatedStatement, type Relation, type Statement, toSubjectKey } from "./findings.ts";
import { mergeObjects, type Objects, parseKnownObjects, toSubject } from "./known_objects.ts";

/** A problem, warning or advice with its place in a file. */
export interface Finding extends LocatedStatement {
  readonly file: string;
  readonly place: Place;
}

export interface LintResult {
  /** In the order of sources, lines and columns. */
  readonly findings: readonly Finding[];
  /** The number of checked objects by kind; kinds without objects are missing. */
  readonly checked: ReadonlyMap<Noun, number>;
  /** How many other objects were not checked. */
  readonly others: number;
}

/** Files as they were read, each object checked alone. */
export interface LintedSources {
  /** Of every kind that another object may be compared with. */
  readonly objects: Objects;
  readonly linted: readonly LintedSource[];
}

/** Checks every object of a known kind in the sources. Never throws. */
export function lintManifests(sources: readonly Source[], namespace?: string): LintResult {
  const read = lintSources(sources, namespace);
  const relations = checkTogether({ known: { ...read.objects, listed: new Set() }, isSubject: () => true });
  return toLintResult(read, relations);
}

/** Checks each object alone. An object without a namespace gets this one. Never throws. */
export function lintSources(sources: readonly Source[], namespace = "default"): LintedSources {
  const linted = sources.map((source) => lintSource(source, namespace));
  return { objects: mergeObjects(linted.map(({ objects }) => objects)), linted };
}

/** Joins the findings of single objects with those of several. A relation of an object in no file is left out. */
export function toLintResult({ linted }: LintedSources, relations: readonly Relation[]): LintResult {
  const named = linted.flatMap((one) => one.named);
  const together = [...warnOfDuplicates(named), ...locateRelations(named, relations)];
  return {
    findings: linted.flatMap(({ file, findings }) =>
      [...findings, ...together.filter((one) => one.file === file)].toSorted(byPlace)
    ),
    checked: countNouns(named),
    others: linted.reduce((count, { others }) => count + others, 0),
  };
}

/** Whether an object of the files has this name. */
export function hasSubject({ linted }: LintedSources): (key: string) => boolean {
  const keys = new Set(linted.flatMap(({ named }) => named.map(({ key }) => key)));
  return (key) => keys.has(key);
}

interface LintedSource {
  readonly file: string;
  readonly findings: readonly Finding[];
  readonly named: readonly NamedObject[];
  readonly objects: Objects;
  readonly others: number;
}

interface NamedObject {
  readonly kind: CheckedObject["kind"];
  /** The name of an object in relations. */
  readonly key: string;
  readonly name: string | null;
  readonly file: string;
  readonly place: Place;
  readonly locate: (path: string) => Place;
}

function lintSource({ name: file, text }: Source, namespace: string): LintedSource {
  const documents = parseYaml(text);
  const refused = documents.flatMap((document) => document.faults).filter((fault) => fault.kind === "refused");
  const objects = documents.flatMap((document) =>
    listObjects(document.value).map((object) => ({ ...object, document }))
  );
  const linted = objects.flatMap(({ path, known, document }) => {
    if (known === null) return [];
    const { kind, manifest } = known;
    const name = nameOf(manifest);
    const locate = (within: string) => document.locate(joinPaths(path, within));
    const findings = checkKnown(known, { path, document })
      .map((remark): Finding => ({ ...remark, file, kind: kind.kind, object: name, place: locate(remark.path) }));
    const key = toSubjectKey(toSubject(manifest, { kind: kind.kind, namespace }));
    return [{ findings, named: { kind, key, name, file, place: locate("metadata.name"), locate } }];
  });
  return {
    file,
    findings: [
      ...describeRefused(refused, text).map((fault) => toRefusal(fault, file)),
      ...linted.flatMap(({ findings }) => findings),
    ],
    named: linted.map(({ named }) => named),
    objects: parseKnownObjects(objects.map(({ value }) => value), namespace),
    others: objects.length - linted.length,
  };
}

/** What only a template of Helm has: an action of it, such as `{{- if .Values.a }}` or `{{ .Release.Name }}`. */
const TEMPLATE_ACTION = /\{\{-?\s*(if|else|end|range|with|define|include|template|toYaml|[.$][\w.]*)\b/;

/** The faults of a file. One replaces those of a Helm template, which is YAML only after Helm has rendered it. */
function describeRefused<Fault extends Problem & { readonly place: Place }>(
  faults: readonly Fault[],
  text: string,
): readonly (Problem & { readonly place: Place })[] {
  const at = TEMPLATE_ACTION.exec(text)?.index;
  if (faults.length === 0 || at === undefined) return faults;
  const before = text.slice(0, at).split("\n");
  const message = "this is a Helm template: check what Helm makes of it, `helm template CHART | podfit lint -f -`";
  return [{ path: "", message, place: { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 } }];
}

function toRefusal({ path, message, place }: Problem & { readonly place: Place }, file: string): Finding {
  return { file, place, level: "error", rule: "unreadable", kind: null, object: null, path, message };
}

/** Returns the problems of an object, by paths within it. */
function checkKnown(
  { kind, manifest }: CheckedObject,
  { path, document }: { readonly path: string; readonly document: YamlDocument },
): readonly Statement[] {
  const { problems, warnings, advice = [] } = kind.check(manifest);
  const duplicates = document.faults.filter((fault) => fault.kind === "duplicate" && isWithin(fault.path, path))
    .map(({ message, path: whole }) => ({ path: whole.slice(path.length).replace(/^\./, ""), message }));
  return [
    ...duplicates.map((one): Statement => ({ level: "error", rule: "duplicate-field", ...one })),
    ...problems.map(({ path, message }): Statement => ({ level: "error", rule: "invalid", path, message })),
    ...warnings.map(({ rule = "no-effect", path, message }): Statement => ({ level: "warning", rule, path, message })),
    ...advice.map(({ rule, path, message }): Statement => ({ level: "advice", rule, path, message })),
  ];
}

/** Warns of every object whose kind and name an earlier one has. */
function warnOfDuplicates(objects: readonly NamedObject[]): readonly Finding[] {
  const first = new Map<string, NamedObject>();
  return objects.flatMap((one): readonly Finding[] => {
    const { kind: { kind }, key, name, file, place } = one;
    if (name === null) return [];
    const other = first.get(key);
    first.set(key, other ?? one);
    if (other === undefined) return [];
    const message = `the same name as in ${other.file}:${other.place.line}: the one that is applied last is kept`;
    return [{
      file,
      place,
      level: "warning",
      rule: "duplicate-name",
      kind,
      object: name,
      path: "metadata.name",
      message,
    }];
  });
}

function locateRelations(objects: readonly NamedObject[], relations: readonly Relation[]): readonly Finding[] {
  // The last one of several with the same name is kept.
  const byKey = new Map(objects.map((one) => [one.key, one]));
  return relations.flatMap(({ of, ...statement }) => {
    const named = byKey.get(toSubjectKey(of));
    if (named === undefined) return [];
    const { kind: { kind }, name, file, locate } = named;
    return [{ ...statement, file, kind, object: name, place: locate(statement.path) }];
  });
}

function countNouns(objects: readonly NamedObject[]): ReadonlyMap<Noun, number> {
  const counts = new Map<Noun, number>();
  for (const { kind: { noun } } of objects) counts.set(noun, (counts.get(noun) ?? 0) + 1);
  return counts;
}

function byPlace(a: Finding, b: Finding): number {
  return a.place.line - b.place.line || a.place.column - b.place.column;
}

function joinPaths(outer: string, inner: string): string {
  return [outer, inner].filter((path) => path !== "").join(".");
}

function isWithin(path: string, outer: string): boolean {
  return outer === "" || path.startsWith(`${outer}.`);
}
