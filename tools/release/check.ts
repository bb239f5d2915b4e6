/** Do the files that name the version agree with each other and with the tag, and has CHANGELOG.md an entry with a date? */
import { parse } from "../../lib/runtime/yaml.ts";
import { PROJECT, VERSION } from "./facts.ts";

export interface VersionFiles {
  readonly changelog: string;
  readonly chart: string;
  /** `v0.1.0`; `null` where nothing is tagged yet, as in a dry run. */
  readonly tag: string | null;
}

/** One sentence for each fault; [] is what a release needs. */
export function listFaults({ changelog, chart, tag }: VersionFiles): readonly string[] {
  const { version, appVersion } = parse(chart) as Readonly<Record<string, unknown>>;
  const date = findEntry(changelog)?.date;
  return [
    ...(tag === null || tag === `v${VERSION}` ? [] : [`The tag is "${tag}", and deno.json has the version ${VERSION}`]),
    ...(version === VERSION ? [] : [`Chart.yaml has the version ${version}, and deno.json has ${VERSION}`]),
    ...(appVersion === VERSION ? [] : [`Chart.yaml has the appVersion ${appVersion}, and deno.json has ${VERSION}`]),
    ...(date === undefined ? [`CHANGELOG.md has no entry "## [${VERSION}] - DATE"`] : []),
    ...(tag === null || date === undefined || /^\d{4}-\d{2}-\d{2}$/.test(date)
      ? []
      : [`CHANGELOG.md has "${date}" where the date of ${VERSION} belongs`]),
  ];
}

/** The notes of the release: its entry in CHANGELOG.md, without the heading. Throws if there is none. */
export function toNotes(changelog: string): string {
  const entry = findEntry(changelog);
  if (entry === null) throw new Error(`Cannot write the notes: CHANGELOG.md has no entry "## [${VERSION}] - DATE"`);
  return `${entry.text.trim()}\n`;
}

function findEntry(changelog: string): { readonly date: string; readonly text: string } | null {
  for (const part of changelog.split(/^## /m)) {
    const [heading = "", ...lines] = part.split("\n");
    const [, version, date] = /^\[([^\]]+)\] - (\S+)$/.exec(heading) ?? [];
    if (version === VERSION && date !== undefined) return { date, text: lines.join("\n") };
  }
  return null;
}

/** Rejects with every fault. */
export async function check(tag: string | null): Promise<string> {
  const [changelog, chart] = await Promise.all(
    ["CHANGELOG.md", "deploy/helm/Chart.yaml"].map((path) => Deno.readTextFile(`${PROJECT}${path}`)),
  );
  const faults = listFaults({ changelog: changelog ?? "", chart: chart ?? "", tag });
  if (faults.length > 0) throw new Error(`Cannot release: ${faults.join("; ")}`);
  return toNotes(changelog ?? "");
}
