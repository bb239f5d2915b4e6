/** What is wrong with the objects in manifest files that podfit knows, and on which line? Others are passed over. */
import type { Problem } from "../../units/problem.ts";
import type { Noun } from "./kinds.ts";
import { nameOf } from "./manifest.ts";
import { type KnownObject, listObjects } from "./objects.ts";
import { type Place, readYaml, type YamlDocument } from "./yaml.ts";

export interface Source {
  /** The file's name, as findings show it. */
  readonly name: string;
  readonly text: string;
}

/** A problem or warning with its place in a file. */
export interface Finding extends Problem {
  readonly file: string;
  readonly place: Place;
  readonly level: "error" | "warning";
  /** `name` or `namespace/name`; `null` when it has no name, and for a finding about the file itself. */
  readonly object: string | null;
}

export interface LintResult {
  /** In the order of sources, lines and columns. */
  readonly findings: readonly Finding[];
  /** How many objects were checked, by what they are; none of a kind that is not there. */
  readonly checked: ReadonlyMap<Noun, number>;
  /** How many other objects were passed over. */
  readonly others: number;
}

/** Checks every object of a known kind in the sources. Never throws. */
export function lintManifests(sources: readonly Source[]): LintResult {
  const linted = sources.map(lintSource);
  const objects = linted.flatMap((one) => one.objects);
  const duplicates = warnOfDuplicates(objects);
  return {
    findings: linted.flatMap(({ file, findings }) =>
      [...findings, ...duplicates.filter((duplicate) => duplicate.file === file)].toSorted(byPlace)
    ),
    checked: countNouns(objects),
    others: linted.reduce((count, { others }) => count + others, 0),
  };
}

interface Linted {
  readonly file: string;
  readonly findings: readonly Finding[];
  readonly objects: readonly Named[];
  readonly others: number;
}

interface Named {
  readonly kind: KnownObject["kind"];
  readonly name: string | null;
  readonly file: string;
  readonly place: Place;
}

function lintSource({ name: file, text }: Source): Linted {
  const documents = readYaml(text);
  const refused = documents.flatMap((document) => document.faults).filter((fault) => fault.kind === "refused");
  const objects = documents.flatMap((document) =>
    listObjects(document.value).map((object) => ({ ...object, document }))
  );
  const linted = objects.flatMap(({ path, known, document }) => {
    if (known === null) return [];
    const name = nameOf(known.manifest);
    const locate = (within: string) => document.locate(joinPaths(path, within));
    const findings = checkKnown(known, { path, document })
      .map((remark): Finding => ({ ...remark, file, object: name, place: locate(remark.path) }));
    return [{ findings, named: { kind: known.kind, name, file, place: locate("metadata.name") } }];
  });
  return {
    file,
    findings: [
      ...refused.map(({ path, message, place }): Finding => ({
        file,
        place,
        level: "error",
        object: null,
        path,
        message,
      })),
      ...linted.flatMap(({ findings }) => findings),
    ],
    objects: linted.map(({ named }) => named),
    others: objects.length - linted.length,
  };
}

type Remark = Pick<Finding, "level" | "path" | "message">;

/** Gives what is wrong with an object, by paths within it. */
function checkKnown(
  { kind, manifest }: KnownObject,
  { path, document }: { readonly path: string; readonly document: YamlDocument },
): readonly Remark[] {
  const { problems, warnings } = kind.check(manifest);
  const duplicates = document.faults.filter((fault) => fault.kind === "duplicate" && isWithin(fault.path, path))
    .map((fault) => ({ ...fault, path: fault.path.slice(path.length).replace(/^\./, "") }));
  return [
    ...[...duplicates, ...problems].map(({ path, message }) => ({ level: "error" as const, path, message })),
    ...warnings.map(({ path, message }) => ({ level: "warning" as const, path, message })),
  ];
}

/** Warns of every object whose kind and name an earlier one has. */
function warnOfDuplicates(objects: readonly Named[]): readonly Finding[] {
  const first = new Map<string, Named>();
  return objects.flatMap((one): readonly Finding[] => {
    const { kind: { kind }, name, file, place } = one;
    if (name === null) return [];
    const key = `${kind} ${name}`;
    const other = first.get(key);
    first.set(key, other ?? one);
    if (other === undefined) return [];
    const message = `the same name as in ${other.file}:${other.place.line}: the one that is applied last is kept`;
    return [{ file, place, level: "warning", object: name, path: "metadata.name", message }];
  });
}

function countNouns(objects: readonly Named[]): ReadonlyMap<Noun, number> {
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
