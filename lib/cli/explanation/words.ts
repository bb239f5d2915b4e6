/** An explanation as text for people: the answer first, then the details of each container, trigger and pod. */
import { SIZE_MEANINGS } from "../../model/meanings/reasons.ts";
import { RESIZE_UNIT, resourceOf } from "../../units/resources.ts";
import {
  formatAge,
  formatAgo,
  formatClock,
  formatCount,
  formatPercent,
  formatSize,
  formatWait,
} from "../terminal/numbers.ts";
import type { Text } from "../terminal/output.ts";
import { breakLines, formatTable, type TextOptions } from "../terminal/text.ts";
import { findResizeByOthers } from "./answers.ts";
import { describeRules } from "./explain_workload.ts";
import type {
  ContainerExplanation,
  Explanation,
  FieldExplanation,
  KedaExplanation,
  PodExplanation,
  ResizeExplanation,
  TrialExplanation,
  TriggerOrigin,
  WorkloadExplanation,
} from "./explanation.ts";
import { formatSizeChange } from "./pod_needs.ts";

function describeAnswer({ answer, origin }: Explanation, options: TextOptions): readonly Text[] {
  const lines: readonly Text[] = breakLines(answer, options).map((line) => options.style.bold(line));
  return origin === "" ? lines : [...lines, ...breakLines(origin, options)];
}

/** Returns lines without their newlines. */
export function describePod(pod: PodExplanation, options: TextOptions): readonly Text[] {
  const { namespace, name, node, qosClass, at, now, resize } = pod;
  const lines: Text[] = [...describeAnswer(pod, options)];
  const where = `pod ${namespace}/${name}, ${qosClass ?? "class unknown"}, on ${node ?? "no node"}`;
  lines.push("", ...breakLines(`${where}; as of ${formatAgo(at, now)}`, options));
  if (resize !== null && !pod.origin.includes(resize.message)) {
    lines.push(
      ...breakLines(`A resize is ${resize.kind} for ${formatAge(now - resize.since)}: ${resize.message}`, options),
    );
  }
  for (const one of pod.containers) lines.push("", ...describeContainer(one, pod, options));
  for (const one of pod.unknown) lines.push("", ...breakLines(`Not known: ${one}`, options));
  return lines;
}

function describeContainer(one: ContainerExplanation, pod: PodExplanation, options: TextOptions): readonly Text[] {
  const { now } = pod;
  const does = one.mode === "recommend" ? "recommended sizes" : "resized";
  const heading = `Container ${one.name}, ${does} by PodResourceAutoscaler ${one.autoscaler}`;
  const { kind, reason, message } = one.decision;
  const stands = one.count > 1 ? ` (unchanged for ${formatAge(now - one.since)}, ${one.count} evaluations)` : "";
  return [
    options.style.bold(heading),
    ...breakLines(`  ${describeUsage(one, now)}`, { ...options, hang: 2 }),
    ...formatTable([toHeading(one), ...one.sides.map(toFieldRow)], (column) => column > 0 && column < 6).map((row) =>
      `  ${row}`
    ),
    ...breakLines(`  Decision: ${kind}, ${reason}: ${message}${stands}`, { ...options, hang: 2 }),
    ...describeSurroundings(one, pod).flatMap((line) => breakLines(`  ${line}`, { ...options, hang: 2 })),
    ...one.trials.flatMap((trial) => describeTrial(trial, now, options)),
    ...describeResizes(one, pod, options),
    ...describeNext(one, now, options),
  ];
}

function describeUsage({ usage }: ContainerExplanation, now: number): string {
  if (usage === null) return "Usage: none has been read yet";
  const { at, overMs, cpuMillicores, memoryBytes, heldBackPercent } = usage;
  const held = heldBackPercent === null || heldBackPercent < 1
    ? ""
    : `, throttled ${formatPercent(heldBackPercent)} of the time`;
  const cpu = `cpu ${formatSize(cpuMillicores, "cpu")}${held} (over ${formatAge(overMs)})`;
  return `Usage, ${formatAgo(at, now)}: ${cpu}, memory ${formatSize(memoryBytes, "memory")}`;
}

function toHeading({ mode }: ContainerExplanation): readonly string[] {
  return ["", mode === "recommend" ? "WANTED" : "SIZE", ...HEADINGS];
}

const HEADINGS = ["USED", "DOWN BELOW", "UP ABOVE", "TARGET", "BOUNDS", "STREAK"];

function toFieldRow(side: FieldExplanation): readonly string[] {
  const { key, size, isManaged, usedPercent, downBelowPercent, upAbovePercent, targetPercent, min, max, streak } = side;
  const resource = resourceOf(key);
  if (!isManaged) return [key, formatSize(size, resource), "", "", "", "", "not managed"];
  const bounds = min === null && max === null
    ? "-"
    : `${min === null ? "" : formatSize(min, resource)}..${max === null ? "" : formatSize(max, resource)}`;
  const samples = streak === null ? "-" : `${streak.direction} ${Math.min(streak.count, streak.of)} of ${streak.of}`;
  const percents = [usedPercent, downBelowPercent, upAbovePercent, targetPercent].map(formatPercent);
  return [key, formatSize(size, resource), ...percents, bounds, samples];
}

function describeSurroundings(
  { limited, siblings }: ContainerExplanation,
  { room }: PodExplanation,
): readonly string[] {
  const lines: string[] = [];
  if (limited !== null) {
    lines.push(`Limited: ${limited} has blocked its scale-ups for some samples, and does not end without a change`);
  }
  if (room !== null) {
    const [cpu, memory] = [formatSize(room.cpuMillicores, "cpu"), formatSize(room.memoryBytes, "memory")];
    lines.push(`Headroom: its node has ${cpu} cpu and ${memory} memory left to request`);
  }
  if (siblings !== null) lines.push(`Siblings: ${siblings.pods} other pods of the workload are known`);
  return lines;
}

function describeTrial(trial: TrialExplanation, now: number, options: TextOptions): readonly Text[] {
  const { direction, isWanted, sides, gates } = trial;
  const failed = gates.filter(({ passes }) => !passes);
  if (!isWanted) {
    const reasons = [...new Set(failed.map((one) => describeShort(one, now)))];
    const says = reasons.length === 0 ? "nothing would block it" : `blocked, because ${reasons.join("; ")}`;
    const what = direction === "up" ? "more" : "less";
    return breakLines(`  If usage asked for ${what} now: ${says}`, { ...options, hang: 2 });
  }
  const wanted = sides.flatMap(({ key, from, wanted, to, why, caps, cappedBy }) => {
    const changed = caps.filter((step) => Math.abs(step.to - step.from) >= RESIZE_UNIT[resourceOf(key)]);
    const by = changed.map(({ cap, to }) => `${formatSize(to, resourceOf(key))} because of ${cap}`);
    const last = cappedBy === null ? "" : ` (${cappedBy})`;
    const asks = `${why}, which asks for ${formatSize(wanted, resourceOf(key))}`;
    const text = `    ${key} ${formatSizeChange(key, from, to)}: ${[asks, ...by].join("; ")}${last}`;
    return breakLines(text, { ...options, hang: 2 });
  });
  const checks = failed.length === 0
    ? `  All ${gates.length} checks pass`
    : `  Blocked (${gates.length - failed.length} of ${gates.length} checks pass):`;
  return [
    `  Wanted: ${direction}`,
    ...wanted,
    checks,
    ...[...new Set(failed.map((one) => describeFailed(one, now)))]
      .flatMap((text) => breakLines(`    ${text}`, { ...options, hang: 2 }))
      .map((line) => options.style.magenta(line)),
  ];
}

type Check = TrialExplanation["gates"][number];

function describeFailed({ reason, message, until }: Check, now: number): string {
  return `${reason}: ${message}${until === null ? "" : `; until ${formatClock(until, now)}`}`;
}

/** The reason alone: a message would be about a size that nothing asks for. */
function describeShort({ reason, until }: Check, now: number): string {
  const words = reason === null ? "" : SIZE_MEANINGS[reason].means;
  return `${words} (${reason}${until === null ? "" : `, until ${formatClock(until, now)}`})`;
}

function describeResizes(
  one: ContainerExplanation,
  { now, since }: PodExplanation,
  options: TextOptions,
): readonly string[] {
  const { resizes, resizedAt, siblingResizedAt, mode } = one;
  if (mode === "recommend") return ["  Resizes: none by this autoscaler, which only recommends"];
  const other = findResizeByOthers(one, since);
  if (resizes.length === 0) {
    const back = `in the ${formatAge(now - since)} of records`;
    if (siblingResizedAt !== null) {
      return [
        `  Resizes: none ${back}; one of another container ${formatAgo(siblingResizedAt, now)} begins the cooldown`,
      ];
    }
    if (resizedAt === null) return [`  Resizes: none ${back}`];
    const by = other === null ? "" : ", by another client,";
    return [`  Resizes: none by podfit ${back}; the last${by} was ${formatAgo(resizedAt, now)}`];
  }
  return [
    "  Resizes, newest first",
    ...other === null ? [] : [`    ${formatAgo(other.at, now)}  by another client, ${other.client}`],
    ...resizes.flatMap((one) => breakLines(`    ${describeResize(one, now)}`, { ...options, hang: 2 })),
  ];
}

function describeResize({ at, change, why, tookMs, refused }: ResizeExplanation, now: number): string {
  const came = refused !== null
    ? `refused, ${refused}`
    : tookMs === null
    ? "not seen in force yet"
    : `in force after ${formatTook(tookMs)}`;
  return `${formatAgo(at, now)}  ${change}  because ${why}; ${came}`;
}

function formatTook(ms: number): string {
  return `${(ms / 1000).toFixed(1)}s`;
}

function describeNext(
  { next: { needs, earliest } }: ContainerExplanation,
  now: number,
  options: TextOptions,
): readonly string[] {
  const when = earliest === null
    ? "At the earliest: not known, because time alone does not end what blocks it"
    : earliest <= now
    ? "At the earliest: with the next sample"
    : `At the earliest: ${formatClock(earliest, now)}, in ${formatWait(earliest - now)}`;
  return [
    "  What the next one waits for",
    ...needs.flatMap((need) => breakLines(`    - ${need}`, { ...options, hang: 2 })),
    `    ${when}`,
  ];
}

/** Returns lines without their newlines. */
export function describeWorkload(one: WorkloadExplanation, options: TextOptions): readonly Text[] {
  const { kind, namespace, name, target, at, now } = one;
  const by = kind === "workload" ? "" : `, by ScaledObject ${name}`;
  const section = (heading: string, lines: readonly string[], hang = 2): readonly Text[] =>
    lines.length === 0
      ? []
      : ["", options.style.bold(heading), ...lines.flatMap((line) => breakLines(`  ${line}`, { ...options, hang }))];
  const conditions = listConditions(one);
  return [
    ...describeAnswer(one, options),
    "",
    ...breakLines(`${target} of namespace ${namespace}${by}; as of ${formatAgo(at, now)}`, options),
    ...kind === "workload" ? [] : [
      ...section("Replicas", describeReplicas(one)),
      ...section("Triggers", describeTriggers(one)),
      ...section("Next to KEDA", one.keda === null ? [] : describeKeda(one.keda, one)),
      ...section("Limits", describeLimits(one)),
    ],
    ...section("What the next change waits for", one.next),
    ...section(
      "Changes, newest first",
      one.writes.map(({ at, from, to, why }) => `${formatAgo(at, now)}  ${from} -> ${to}  ${why}`),
    ),
    ...section("Conditions", formatTable(conditions), findMessageColumn(conditions, options)),
    ...section(
      describePods(one),
      one.pods.map(({ isReady, answer }) => `${isReady ? "ready    " : "not ready"}  ${answer}`),
    ),
    ...section("Not known", one.unknown),
  ];
}

function describeReplicas(
  { replicas, desired, need, stabilized, reason, message, isScaleInPending }: WorkloadExplanation,
) {
  const count = (number: number | null) => number === null ? "not computed" : String(number);
  const lines = [
    `${replicas === null ? "not known" : `${formatCount(replicas, "replica")} now`}, wanted ${count(desired)}` +
    `${reason === null ? "" : ` (${reason}: ${message})`}`,
    `the triggers ask for ${count(need)}; the windows make it ${count(stabilized)}; bounds and rates ${count(desired)}`,
  ];
  if (isScaleInPending) {
    lines.push("there will be fewer: until then coupled sizes of its pods do not go down (ScaleInPending)");
  }
  return lines;
}

function describeTriggers({ triggers }: WorkloadExplanation): readonly string[] {
  const rows = triggers.map(({ type, metricName, value, target, proposal, error, isActive }) => {
    const says = error !== null ? `failed: ${error}` : isActive === null ? "" : isActive ? "active" : "not active";
    if (proposal === null) return [metricName, formatValue(type, value), target, "-", "-", "-", says];
    const { ratio, replicas, lo, hi, ready, unready, missing } = proposal;
    const asks = lo === hi ? String(replicas) : `${replicas} (${lo} max, ${hi} initial)`;
    const others = [unready > 0 ? `, ${unready} unready` : "", missing > 0 ? `, ${missing} without usage` : ""];
    // A value per pod is divided by its target: pods are not counted.
    const pods = ready + unready + missing === 0 ? "-" : `${ready} ready${others.join("")}`;
    return [metricName, formatValue(type, value), target, ratio === null ? "-" : ratio.toFixed(2), asks, pods, says];
  });
  return rows.length === 0
    ? []
    : formatTable([["METRIC", "VALUE", "TARGET", "RATIO", "ASKS FOR", "PODS", ""], ...rows]);
}

/** Who sets the replicas, whether the record can be used, and who measures what. */
function describeKeda(
  { isPaused, record, problem, sources }: KedaExplanation,
  { name, namespace }: Pick<WorkloadExplanation, "name" | "namespace">,
): readonly string[] {
  const run = (verb: string) => `\`podfit ${verb} so/${name} -n ${namespace}\``;
  const records: Readonly<Record<KedaExplanation["record"], string>> = {
    "fits": "fits the triggers",
    "not needed": "not needed, because podfit measures every trigger itself",
    "missing": isPaused
      ? `missing, so podfit does not know what KEDA asks of the triggers: run ${run("release")}, then ${run("adopt")}`
      : "missing: podfit writes it when it sees KEDA's HPA",
    "stale": `made for other triggers, so replicas may grow and do not fall: run ${run("adopt")} again`,
    "unusable": `of no use, because the ${problem}: run ${run("adopt")} again`,
  };
  const listed = (by: TriggerOrigin["measuredBy"]) =>
    sources.filter(({ measuredBy }) => measuredBy === by).map(({ metricName }) => metricName).join(", ");
  const origins = [
    ["from podfit itself", listed("podfit")],
    ["from KEDA, through external.metrics.k8s.io", listed("keda")],
    ["from podfit, or from KEDA where podfit cannot use the authentication", listed("either")],
  ] as const;
  return [
    isPaused
      ? "podfit sets the replicas, and KEDA is paused for the object"
      : `KEDA sets the replicas, because the object is not paused for KEDA: run ${run("adopt")}`,
    `adoption record: ${records[record]}`,
    ...origins.flatMap(([where, names]) => names === "" ? [] : [`values ${where}: ${names}`]),
    ...(record === "fits" ? sources : []).flatMap(({ metricName, problem }) =>
      problem === null ? [] : [`no value of ${metricName}: ${problem}`]
    ),
  ];
}

/** Of cpu in cores and of memory in bytes, summed over the pods. */
function formatValue(type: string, value: number | null): string {
  if (value === null) return "none";
  if (type === "cpu") return formatSize(value * 1000, "cpu");
  return type === "memory" ? formatSize(value, "memory") : String(Number(value.toPrecision(6)));
}

function describeLimits({ minReplicas, maxReplicas, idleReplicas, behavior }: WorkloadExplanation): readonly string[] {
  const idle = idleReplicas === null ? "" : `, ${idleReplicas} when idle`;
  const windowOf = (rules: { readonly windowMs: number } | undefined, plain: string) =>
    rules === undefined ? plain : formatAge(rules.windowMs);
  return [
    `at least ${minReplicas ?? "?"}, at most ${maxReplicas ?? "?"}${idle}`,
    `up: window ${windowOf(behavior?.scaleUp, "0s")}, ${describeRules(behavior?.scaleUp)}`,
    `down: window ${windowOf(behavior?.scaleDown, "5m")}, ${describeRules(behavior?.scaleDown)}`,
    `tolerance: up ${formatTolerance(behavior?.scaleUp.tolerance)}, down ${
      formatTolerance(behavior?.scaleDown.tolerance)
    }`,
  ];
}

function formatTolerance(tolerance: number | null | undefined): string {
  return formatPercent((tolerance ?? 0.1) * 100);
}

function listConditions({ conditions }: WorkloadExplanation): readonly (readonly string[])[] {
  return Object.entries(conditions).map(([type, { status, reason, message }]) => [type, status, reason, message]);
}

/** Messages go on below their beginning, where a narrow terminal has room for them there. */
function findMessageColumn(
  conditions: readonly (readonly string[])[],
  { columns }: Pick<TextOptions, "columns">,
): number {
  const widths = [0, 1, 2].map((at) => Math.max(0, ...conditions.map((row) => row[at]?.length ?? 0)));
  const column = widths.reduce((sum, width) => sum + width + 2, 0);
  return columns < column + MIN_MESSAGE_COLUMNS ? 2 : column;
}

const MIN_MESSAGE_COLUMNS = 30;

function describePods({ pods }: WorkloadExplanation): string {
  const ready = pods.filter(({ isReady }) => isReady).length;
  return `Pods that podfit sizes: ${ready} ready, ${pods.length - ready} not`;
}
