/** What is wrong with the autoscalers in manifest files, and on which line? Other objects are passed over. */
import type { Problem } from "../../units/problem.ts";
import { checkManifest, type Manifest, nameOf } from "./autoscaler.ts";
import { listObjects } from "./objects.ts";
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
  readonly autoscaler: string | null;
}

export interface LintResult {
  /** In the order of sources, lines and columns. */
  readonly findings: readonly Finding[];
  /** How many autoscalers were checked. */
  readonly autoscalers: number;
  /** How many other objects were passed over. */
  readonly others: number;
}

/** Checks every autoscaler in the sources. Never throws. */
export function lintManifests(sources: readonly Source[]): LintResult {
  const linted = sources.map(lintSource);
  const autoscalers = linted.flatMap((one) => one.autoscalers);
  const duplicates = warnOfDuplicates(autoscalers);
  return {
    findings: linted.flatMap(({ file, findings }) =>
      [...findings, ...duplicates.filter((duplicate) => duplicate.file === file)].toSorted(byPlace)
    ),
    autoscalers: autoscalers.length,
    others: linted.reduce((count, { others }) => count + others, 0),
  };
}

interface Linted {
  readonly file: string;
  readonly findings: readonly Finding[];
  readonly autoscalers: readonly Named[];
  readonly others: number;
}

interface Named {
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
  const linted = objects.flatMap(({ path, autoscaler, document }) => {
    if (autoscaler === null) return [];
    const name = nameOf(autoscaler);
    const locate = (within: string) => document.locate(joinPaths(path, within));
    const findings = checkAutoscaler(autoscaler, { path, document })
      .map((remark): Finding => ({ ...remark, file, autoscaler: name, place: locate(remark.path) }));
    return [{ findings, named: { name, file, place: locate("metadata.name") } }];
  });
  return {
    file,
    findings: [
      ...refused.map(({ path, message, place }): Finding => ({
        file,
        place,
        level: "error",
        autoscaler: null,
        path,
        message,
      })),
      ...linted.flatMap(({ findings }) => findings),
    ],
    autoscalers: linted.map(({ named }) => named),
    others: objects.length - linted.length,
  };
}

type Remark = Pick<Finding, "level" | "path" | "message">;

/** Gives what is wrong with an autoscaler, by paths within it. */
function checkAutoscaler(
  autoscaler: Manifest,
  { path, document }: { readonly path: string; readonly document: YamlDocument },
): readonly Remark[] {
  const { problems, warnings } = checkManifest(autoscaler);
  const duplicates = document.faults.filter((fault) => fault.kind === "duplicate" && isWithin(fault.path, path))
    .map((fault) => ({ ...fault, path: fault.path.slice(path.length).replace(/^\./, "") }));
  return [
    ...[...duplicates, ...problems].map(({ path, message }) => ({ level: "error" as const, path, message })),
    ...warnings.map(({ path, message }) => ({ level: "warning" as const, path, message })),
  ];
}

/** Warns of every autoscaler whose name an earlier one has. */
function warnOfDuplicates(autoscalers: readonly Named[]): readonly Finding[] {
  const first = new Map<string, Named>();
  return autoscalers.flatMap((one): readonly Finding[] => {
    const other = one.name === null ? one : first.get(one.name) ?? one;
    if (one.name !== null) first.set(one.name, other);
    if (other === one) return [];
    const message = `the same name as in ${other.file}:${other.place.line}: the one that is applied last is kept`;
    return [{ ...one, level: "warning", autoscaler: one.name, path: "metadata.name", message }];
  });
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
