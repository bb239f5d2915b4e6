/** What is suggested as a manifest: the policy, and in comments what was seen, what it beat and what each number gains. */
import type { WorkloadKind } from "../../autoscaler/autoscaler.ts";
import type { Resource } from "../../units/resources.ts";
import { formatNumber, formatQuantity, formatSpan } from "../simulate/html_text.ts";
import { type Spec, toSpec } from "./candidate.ts";
import type { Verdict } from "./judge.ts";
import type { Suggestion, Worth } from "./search.ts";
import type { Levels } from "./seen.ts";
import { formatComment, formatYaml } from "./yaml.ts";

/** Whom the manifest is for. */
export interface Target {
  readonly kind: WorkloadKind;
  readonly namespace: string;
  readonly name: string;
}

export interface ManifestOptions {
  readonly target: Target;
  readonly container: string;
  /** Whether the workload has no other one to suggest for: then its own name is the autoscaler's. */
  readonly isOnly: boolean;
  readonly suggestion: Suggestion;
  /** What was measured of it. */
  readonly seen: readonly Resource[];
  /** Where it was seen: `usage of 2 pods, watched for 30m`. */
  readonly source: string;
}

/** One YAML document. */
export function formatManifest(options: ManifestOptions): string {
  const { target, container, isOnly, suggestion } = options;
  const { best, worths } = suggestion;
  const manifest: Spec = {
    apiVersion: "keda.kedify.io/v1alpha1",
    kind: "PodResourceAutoscaler",
    metadata: { name: isOnly ? target.name : toName(target.name, container), namespace: target.namespace },
    spec: {
      target: { kind: target.kind, name: target.name },
      containerName: container,
      ...toSpec(best.candidate),
    },
  };
  const comments = new Map(worths.map((worth) => [`spec.${worth.path}`, explainWorth(worth, best.verdict)]));
  return formatComment(listReasons(options)) + formatYaml(manifest, comments);
}

/** At most as long as a name of an object may be. */
function toName(workload: string, container: string): string {
  return `${workload}-${container}`.slice(0, 253).replace(/[-.]+$/, "");
}

function listReasons({ target, container, suggestion, seen, source }: ManifestOptions): readonly string[] {
  const { seen: levels, best, tried } = suggestion;
  const { profile, numbers } = best.candidate;
  const count = numbers.size === 1 ? "one number" : `${numbers.size} numbers`;
  return [
    `Suggested for container ${container} of ${target.kind}/${target.name} by what was seen: ${source}.`,
    seen.includes("cpu")
      ? `CPU: ${describeLevels(levels.cpu, "cpu")}.`
      : "CPU was not seen: it was taken for constant.",
    seen.includes("memory")
      ? `Memory: ${describeLevels(levels.memory, "memory")}.`
      : "Memory was not seen: its numbers are the profile's, and nothing here speaks for them.",
    "",
    ...formatTable(suggestion, seen),
    "",
    numbers.size === 0
      ? `Profile ${profile} as it is: of ${tried} policies none gained 5 % upon it.`
      : `Profile ${profile} with ${count}, the best of ${tried} policies; behind each number what would be without it.`,
    ...warnOf(best.verdict, levels.seconds),
  ];
}

function describeLevels({ half, most95, max }: Levels, unit: Resource): string {
  const [a, b, c] = [half, most95, max].map((amount) => formatQuantity(amount, unit));
  return `at most ${a} half of the time, ${b} for 95 % of it, and ${c} always`;
}

const DAY_SECONDS = 86_400;

function warnOf({ oomKills }: Verdict, seconds: number): readonly string[] {
  return [
    ...oomKills > 0
      ? [`It was killed for memory under every policy, ${oomKills} times under this: raise its limit.`]
      : [],
    ...seconds < DAY_SECONDS ? ["Less than a day was seen: what a day or a week brings is not in it."] : [],
  ];
}

interface Column {
  readonly title: string;
  readonly read: (verdict: Verdict) => string;
  readonly resource: Resource | null;
}

const MIB = 2 ** 20;
const COLUMNS: readonly Column[] = [
  { title: "CPU slack", read: ({ slack }) => formatQuantity(slack, "cpu"), resource: "cpu" },
  { title: "under", read: ({ under }) => formatQuantity(under, "cpu"), resource: "cpu" },
  { title: "throttled", read: ({ throttledSeconds }) => formatSpan(throttledSeconds), resource: "cpu" },
  { title: "memory slack", read: ({ memorySlack }) => formatQuantity(memorySlack * MIB, "memory"), resource: "memory" },
  { title: "OOM kills", read: ({ oomKills }) => formatNumber(oomKills), resource: "memory" },
  { title: "resizes/h", read: ({ resizesPerHour }) => formatNumber(resizesPerHour), resource: null },
];

function formatTable({ best, profiles, example, fixed }: Suggestion, seen: readonly Resource[]): readonly string[] {
  const columns = COLUMNS.filter(({ resource }) => resource === null || seen.includes(resource));
  const isOwn = best.candidate.numbers.size > 0;
  const rows: readonly (readonly [string, Verdict])[] = [
    ...isOwn ? [["this", best.verdict] as const] : [],
    ...profiles.map(({ candidate: { profile }, verdict }) =>
      [!isOwn && profile === best.candidate.profile ? `${profile} (this)` : profile, verdict] as const
    ),
    ["the example", example],
    ["never resized", fixed],
  ];
  const cells = [["", ...columns.map(({ title }) => title)]].concat(
    rows.map(([name, verdict]) => [name, ...columns.map(({ read }) => read(verdict))]),
  );
  const widths = ["", ...columns].map((_, at) => Math.max(...cells.map((row) => row[at]?.length ?? 0)));
  return cells.map((row) =>
    row.map((cell, at) => at === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[at] ?? 0)).join("  ")
  );
}

/** The figure that changes most without the number. */
function explainWorth({ without }: Worth, best: Verdict): string {
  const figures: readonly (readonly [text: string, without: number, best: number])[] = [
    [`OOM kills ${without.oomKills}`, without.oomKills, best.oomKills],
    [`CPU slack ${formatQuantity(without.slack, "cpu")}`, without.slack, best.slack],
    [`CPU under ${formatQuantity(without.under, "cpu")}`, without.under, best.under],
    [`throttled ${formatSpan(without.throttledSeconds)}`, without.throttledSeconds, best.throttledSeconds],
    [`memory slack ${formatQuantity(without.memorySlack * MIB, "memory")}`, without.memorySlack, best.memorySlack],
    [`resizes/h ${formatNumber(without.resizesPerHour)}`, without.resizesPerHour, best.resizesPerHour],
  ];
  const worse = figures.map(([text, from, to]) => ({ text, gain: from <= to ? 0 : (from - to) / from }))
    .filter(({ gain }) => gain > 0).toSorted((a, b) => b.gain - a.gain);
  return worse.length === 0
    ? "the most is gained with the others"
    : `without it: ${worse.slice(0, 2).map(({ text }) => text).join(", ")}`;
}
