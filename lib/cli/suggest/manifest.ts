/** The suggested policy as a YAML manifest, with the reasons as comments. */
import type { Resource } from "../../units/resources.ts";
import { formatNumber, formatQuantity, formatSpan } from "../terminal/numbers.ts";
import { toJson, toLine } from "../terminal/output.ts";
import { breakLines, formatTable } from "../terminal/text.ts";
import { type Levels, type Spec, toSpec, type Value, type Verdict } from "./judge.ts";
import type { Target } from "./observed.ts";
import type { Suggestion, Worth } from "./search.ts";

export interface ManifestOptions {
  readonly target: Target;
  readonly container: string;
  /** Of the autoscaler. */
  readonly name: string;
  readonly suggestion: Suggestion;
  /** The resources that were measured. */
  readonly seen: readonly Resource[];
  /** The source of the usage: `usage of 2 pods, watched for 30m`. */
  readonly source: string;
}

/** Returns one YAML document. */
export function formatManifest(options: ManifestOptions): string {
  const { target, container, name, suggestion } = options;
  const { best, worths } = suggestion;
  const manifest: Spec = {
    apiVersion: "keda.kedify.io/v1alpha1",
    kind: "PodResourceAutoscaler",
    metadata: { name, namespace: target.namespace },
    spec: {
      target: { kind: target.kind, name: target.name },
      containerName: container,
      ...toSpec(best.candidate),
    },
  };
  const comments = new Map(worths.map((worth) => [`spec.${worth.path}`, explainWorth(worth, best.verdict)]));
  return formatComment(listReasons(options)) + formatYaml(manifest, comments);
}

/**
 * Returns a name for the autoscaler of a container that is not in `taken`, and adds it. The containers of one workload, and
 * two workloads of one name, each need a name of their own.
 */
export function takeName(
  { target, container, isOnly }: Pick<ManifestOptions, "target" | "container"> & { readonly isOnly: boolean },
  taken: Set<string>,
): string {
  const base = isOnly ? target.name : toName(target.name, container);
  const names = [
    base,
    toName(base, target.kind),
    ...Array.from({ length: taken.size + 1 }, (_, at) => toName(base, String(at + 2))),
  ];
  const name = names.find((one) => !taken.has(`${target.namespace}/${one}`)) ?? base;
  taken.add(`${target.namespace}/${name}`);
  return name;
}

/** At most as long as a name of an object may be. */
function toName(base: string, end: string): string {
  return `${base.slice(0, 252 - end.length)}-${end}`.replace(/[-.]+$/, "");
}

function listReasons({ target, container, suggestion, seen, source }: ManifestOptions): readonly string[] {
  const { seen: levels, best, tried } = suggestion;
  const { profile, numbers } = best.candidate;
  const count = numbers.size === 1 ? "one number" : `${numbers.size} numbers`;
  return [
    `Suggested for container ${container} of ${target.kind}/${target.name} by what was seen: ${source}.`,
    seen.includes("cpu") ? `CPU: ${describeLevels(levels.cpu, "cpu")}.` : describeUnseen("CPU"),
    seen.includes("memory") ? `Memory: ${describeLevels(levels.memory, "memory")}.` : describeUnseen("Memory"),
    "",
    ...formatVerdicts(suggestion, seen),
    "",
    numbers.size === 0
      ? `Profile ${profile} without changes: none of ${tried} policies was 5 % better.`
      : `Profile ${profile} with ${count}, the best of ${tried} policies. After each number: the result without it.`,
    ...listWarnings(best.verdict, levels.seconds),
  ];
}

function describeUnseen(name: string): string {
  return `${name} was not seen: its numbers are those of the profile, and were not tried.`;
}

function describeLevels({ half, most95, max }: Levels, unit: Resource): string {
  const [a, b, c] = [half, most95, max].map((amount) =>
    // One unit in one sentence.
    unit === "cpu" ? `${formatNumber(amount)}m` : formatQuantity(amount, unit)
  );
  return `at most ${a} half of the time, ${b} for 95 % of it, and ${c} always`;
}

const DAY_SECONDS = 86_400;

function listWarnings({ oomKills }: Verdict, seconds: number): readonly string[] {
  return [
    ...oomKills > 0
      ? [
        `It was killed for memory under every policy, ${
          oomKills === 1 ? "once" : `${oomKills} times`
        } under this: raise its limit.`,
      ]
      : [],
    ...seconds < DAY_SECONDS ? ["Less than a day was seen: peaks of other hours and days are not in it."] : [],
  ];
}

/** A figure of a policy; less is better. */
interface Figure {
  readonly title: string;
  readonly read: (verdict: Verdict) => number;
  readonly format: (value: number) => string;
  readonly resource: Resource | null;
}

const formatCpu = (millicores: number) => formatQuantity(millicores, "cpu");

const formatMebibytes = (mebibytes: number) => formatQuantity(mebibytes * 2 ** 20, "memory");

const OOM_KILLS: Figure = {
  title: "OOM kills",
  read: ({ oomKills }) => oomKills,
  format: formatNumber,
  resource: "memory",
};

const FIGURES: readonly Figure[] = [
  { title: "CPU slack", read: ({ slack }) => slack, format: formatCpu, resource: "cpu" },
  { title: "CPU under", read: ({ under }) => under, format: formatCpu, resource: "cpu" },
  { title: "throttled", read: ({ throttledSeconds }) => throttledSeconds, format: formatSpan, resource: "cpu" },
  { title: "memory slack", read: ({ memorySlack }) => memorySlack, format: formatMebibytes, resource: "memory" },
  OOM_KILLS,
  { title: "resizes/h", read: ({ resizesPerHour }) => resizesPerHour, format: formatNumber, resource: null },
];

function formatVerdicts({ best, profiles, example, fixed }: Suggestion, seen: readonly Resource[]): readonly string[] {
  const columns = FIGURES.filter(({ resource }) => resource === null || seen.includes(resource));
  const isOwn = best.candidate.numbers.size > 0;
  const rows: readonly (readonly [string, Verdict])[] = [
    ...isOwn ? [["this", best.verdict] as const] : [],
    ...profiles.map(({ candidate: { profile }, verdict }) =>
      [!isOwn && profile === best.candidate.profile ? `${profile} (this)` : profile, verdict] as const
    ),
    ["the example", example],
    ["never resized", fixed],
  ];
  const heading = ["", ...columns.map(({ title }) => title)];
  const cells = rows.map(([name, verdict]) => [name, ...columns.map(({ read, format }) => format(read(verdict)))]);
  return formatTable([heading, ...cells], (column) => column > 0);
}

/** The figures that change most without the number. Of equal changes, kills are named first. */
function explainWorth({ without }: Worth, best: Verdict): string {
  const worse = [...new Set([OOM_KILLS, ...FIGURES])].map(({ title, read, format }) => {
    const [from, to] = [read(without), read(best)];
    return { text: `${title} ${format(from)}`, gain: from <= to ? 0 : (from - to) / from };
  }).filter(({ gain }) => gain > 0).toSorted((a, b) => b.gain - a.gain);
  return worse.length === 0
    ? "the most is gained with the others"
    : `without it: ${worse.slice(0, 2).map(({ text }) => text).join(", ")}`;
}

/** A comment behind a field, by its path. */
type Comments = ReadonlyMap<string, string>;

/** Returns the fields as lines of YAML, each object in its own block. Ends with a newline. */
export function formatYaml(fields: Spec, comments: Comments = new Map()): string {
  return listLines(fields, "", comments).map(({ depth, text }) => `${"  ".repeat(depth)}${text}\n`).join("");
}

interface Line {
  readonly depth: number;
  readonly text: string;
}

function listLines(fields: Spec, path: string, comments: Comments): readonly Line[] {
  return Object.entries(fields).flatMap(([name, value]): readonly Line[] => {
    const own = path === "" ? name : `${path}.${name}`;
    if (typeof value === "object") {
      const inner = listLines(value, own, comments).map(({ depth, text }) => ({ depth: depth + 1, text }));
      return [{ depth: 0, text: `${name}:` }, ...inner];
    }
    const comment = comments.get(own);
    return [{
      depth: 0,
      text: `${name}: ${formatScalar(value)}${comment === undefined ? "" : ` # ${toLine(comment)}`}`,
    }];
  });
}

/** Comment lines of a text; long ones go on in the next. */
export function formatComment(lines: readonly string[]): string {
  return lines.flatMap((line) => breakLines(line, { columns: MAX_COMMENT_COLUMNS }))
    .map((line) => `# ${line}`.trimEnd() + "\n").join("");
}

const MAX_COMMENT_COLUMNS = 116;

/** Texts that every YAML parser reads as text, and durations and quantities with a unit. */
const PLAIN_TEXT = /^([a-z][a-z0-9]*([-./][a-z0-9]+)*|\d+(m|s|h|Ki|Mi|Gi))$/i;

/** Words of YAML 1.1, which kubectl reads. */
const YAML_WORDS: ReadonlySet<string> = new Set(["y", "n", "yes", "no", "on", "off", "true", "false", "null"]);

function formatScalar(value: Value): string {
  if (typeof value === "number") return String(value);
  return PLAIN_TEXT.test(value) && !YAML_WORDS.has(value.toLowerCase()) ? value : toJson(value);
}
