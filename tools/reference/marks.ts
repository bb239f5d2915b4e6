/**
 * Which parts of a page are copied from results or from the code? Pages mark them:
 *
 *     <!-- table scale.md "Embedded API server" -->    the first table after this text
 *     <!-- block simulate.md "--load a.csv" -->        the fenced block that begins with a line with this text
 *     <!-- runs -->                                    one row for each file of results
 *     <!-- quality -->                                 how close each profile keeps real loads
 *     <!-- profiles -->                                the values of each profile
 *     <!-- end -->
 */
import { type PolicyFields, PROFILE_NAMES, PROFILES } from "../../lib/resources/pod_resource_autoscaler/profiles.ts";
import { toTable } from "./markdown.ts";

/** File name -> text. */
export type Results = ReadonlyMap<string, string>;

/** Returns the page with its marked parts made again. Throws where a mark names nothing. */
export function fillPage(page: string, results: Results): string {
  const parts = { table: findTable, block: findBlock, runs: toRuns, quality: toQuality, profiles: toProfiles };
  return page.replace(
    /(<!-- (table|block|runs|quality|profiles)( .*)? -->\n)[^]*?(<!-- end -->)/g,
    (...found: string[]) => {
      const [, begin = "", kind = "", what = "", end = ""] = found;
      return `${begin}\n${parts[kind as keyof typeof parts](results, what)}\n\n${end}`;
    },
  );
}

/** Returns whether a page has marked parts. */
export function hasMarks(page: string): boolean {
  return /<!-- (table|block|runs|quality|profiles)\b/.test(page);
}

function findTable(results: Results, what: string): string {
  const [file, start, rest] = findStart(results, what);
  const [table] = /(?:^\|.*\n)+/m.exec(rest) ?? [];
  if (table === undefined) throw new Error(`Cannot find the table "${start}" in ${file}`);
  return table.trimEnd();
}

function findBlock(results: Results, what: string): string {
  const [file, start] = findStart(results, what);
  const blocks = (results.get(file) ?? "").matchAll(/^```\n([^]*?)\n```$/gm);
  const block = [...blocks].find(([, text = ""]) => text.split("\n")[0]?.includes(start));
  if (block === undefined) throw new Error(`Cannot find the block "${start}" in ${file}`);
  return block[0].replace("```", "```text");
}

/** `FILE "TEXT"` -> both, and the results from the text on. */
function findStart(results: Results, what: string): readonly [file: string, start: string, rest: string] {
  const [, file = "", start = ""] = /^ (\S+) "(.*)"$/.exec(what) ?? [];
  const text = results.get(file) ?? "";
  const at = text.indexOf(start);
  return [file, start, at < 0 ? "" : text.slice(at)];
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

/** Of the means over the real servers, what a reader needs to choose a profile. */
function toQuality(results: Results): string {
  const [head = [], , ...rows] = findTable(results, ' quality.md "CPU of real servers"').split("\n").map((line) =>
    line.split("|").map((cell) => cell.trim())
  );
  const columns = { "slack m": "unused CPU", "resizes/h": "resizes an hour", "under % of time": "short of CPU" };
  const units: Readonly<Record<string, string>> = { "slack m": "m", "under % of time": " % of the time" };
  const shown = PROFILE_NAMES.map((name) => {
    const row = rows.find((cells) => cells.includes(`podfit-${name}`)) ?? [];
    return [
      `\`${name}\``,
      ...Object.keys(columns).map((column) => `${row[head.indexOf(column)]}${units[column] ?? ""}`),
    ];
  });
  return toTable(["profile", ...Object.values(columns)], shown);
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
