/**
 * Which parts of a page are copied from results or from the code? Pages mark them:
 *
 *     <!-- table scale.md "Embedded API server" -->    the first table after this text
 *     <!-- runs -->                                    one row for each file of results
 *     <!-- profiles -->                                the values of each profile
 *     <!-- end -->
 */
import { type PolicyFields, PROFILE_NAMES, PROFILES } from "../../lib/resources/pod_resource_autoscaler/profiles.ts";
import { toTable } from "./markdown.ts";

/** File name -> text. */
export type Results = ReadonlyMap<string, string>;

/** Returns the page with its marked parts made again. Throws where a mark names nothing. */
export function fillPage(page: string, results: Results): string {
  return page.replace(/(<!-- (table|runs|profiles)( [^>]*)? -->\n)[^]*?(<!-- end -->)/g, (...found: string[]) => {
    const [, begin = "", kind, what = "", end = ""] = found;
    return `${begin}\n${
      kind === "table" ? findTable(what, results) : kind === "runs" ? toRuns(results) : toProfiles()
    }\n\n${end}`;
  });
}

/** Returns whether a page has marked parts. */
export function hasMarks(page: string): boolean {
  return /<!-- (table|runs|profiles)\b/.test(page);
}

function findTable(what: string, results: Results): string {
  const [, file = "", start = ""] = /^ (\S+) "(.*)"$/.exec(what) ?? [];
  const text = results.get(file) ?? "";
  const at = text.indexOf(start);
  const table = at < 0 ? null : /(?:^\|.*\n)+/m.exec(text.slice(at));
  if (table === null) throw new Error(`Cannot find the table "${start}" in ${file}`);
  return table[0].trimEnd();
}

function toRuns(results: Results): string {
  const rows = [...results].toSorted(([a], [b]) => a < b ? -1 : 1).map(([file, text]) => {
    const title = /^# (.*)$/m.exec(text)?.[1] ?? file;
    const commit = /\bat commit ([0-9a-f]{7,})/.exec(text)?.[1];
    return [
      title,
      /\b20\d\d-\d\d-\d\d\b/.exec(text)?.[0] ?? "",
      commit ?? "not noted",
      `[${file}](../../tests/verify/results/${file})`,
    ];
  });
  return toTable(["program", "last run", "commit", "output"], rows);
}

/** One row for each value, in the order of the manifest. */
function toProfiles(): string {
  const profiles = PROFILE_NAMES.map((name) => new Map(listValues(PROFILES[name])));
  const paths = [...new Set(profiles.flatMap((profile) => [...profile.keys()]))];
  const rows = paths.map((path) => [`\`${path}\``, ...profiles.map((profile) => profile.get(path) ?? "")]);
  return toTable(["`policy`", ...PROFILE_NAMES.map((name) => `\`${name}\``)], rows);
}

function listValues(fields: PolicyFields, parent = ""): readonly (readonly [path: string, value: string])[] {
  return Object.entries(fields).flatMap(([name, value]) =>
    typeof value === "object" ? listValues(value, `${parent}${name}.`) : [[`${parent}${name}`, String(value)] as const]
  );
}
