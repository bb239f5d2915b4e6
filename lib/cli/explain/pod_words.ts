/** An explanation of a pod as a person reads it: the answer first, then each container. */
import type { Text } from "../terminal/output.ts";
import { resourceOf, UNIT } from "../../units/resources.ts";
import type {
  ContainerExplanation,
  PodExplanation,
  ResizeExplanation,
  SideExplanation,
  TrialExplanation,
} from "./explanation.ts";
import { CAP_WORDS } from "./gate_words.ts";
import { formatMove } from "./next.ts";
import { breakLines, paint, type TextOptions, toTable } from "./paint.ts";
import { formatAge, formatAgo, formatClock, formatPercent, formatSize, formatWait } from "./say.ts";

/** Lines without their newlines. */
export function describePod(pod: PodExplanation, options: TextOptions): readonly Text[] {
  const { namespace, name, node, qosClass, at, now, resize } = pod;
  const lines: Text[] = breakLines(pod.answer, options).map((line) => paint(line, "strong", options));
  const where = `pod ${namespace}/${name}, ${qosClass ?? "class unknown"}, on ${node ?? "no node"}`;
  lines.push("", `${where}; as of ${formatAgo(at, now)}`);
  if (resize !== null) {
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
  const stands = one.count > 1 ? ` (so for ${formatAge(now - one.since)}, ${one.count} evaluations)` : "";
  return [
    paint(heading, "strong", options),
    ...breakLines(`  ${describeUsage(one, now)}`, { ...options, hang: 2 }),
    ...toTable([toHeading(one), ...one.sides.map(toSideRow)], [1, 2, 3, 4, 5]).map((row) => `  ${row}`),
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
    : `, held back ${formatPercent(heldBackPercent)} of the time`;
  const cpu = `cpu ${formatSize(cpuMillicores, "cpu")}${held} (over ${formatAge(overMs)})`;
  return `Usage, ${formatAgo(at, now)}: ${cpu}, memory ${formatSize(memoryBytes, "memory")}`;
}

function toHeading({ mode }: ContainerExplanation): readonly string[] {
  return ["", mode === "recommend" ? "RECOMMENDED" : "SIZE", ...HEADINGS];
}

const HEADINGS = ["USED", "DOWN BELOW", "UP ABOVE", "TARGET", "BOUNDS", "STREAK"];

function toSideRow(side: SideExplanation): readonly string[] {
  const { key, size, isManaged, usedPercent, downBelowPercent, upAbovePercent, targetPercent, min, max, streak } = side;
  const resource = resourceOf(key);
  if (!isManaged) return [key, formatSize(size, resource), "", "", "", "", "not managed"];
  const bounds = min === null && max === null
    ? "-"
    : `${min === null ? "" : formatSize(min, resource)}..${max === null ? "" : formatSize(max, resource)}`;
  const samples = streak === null ? "-" : `${streak.direction}: ${streak.count} of ${streak.of} samples`;
  const percents = [usedPercent, downBelowPercent, upAbovePercent, targetPercent].map(formatPercent);
  return [key, formatSize(size, resource), ...percents, bounds, samples];
}

function describeSurroundings(
  { limited, siblings }: ContainerExplanation,
  { room }: PodExplanation,
): readonly string[] {
  const lines: string[] = [];
  if (limited !== null) {
    lines.push(`Limited: ${limited} has held its scale-ups for some samples, and does not pass by itself`);
  }
  if (room !== null) {
    const [cpu, memory] = [formatSize(room.cpuMillicores, "cpu"), formatSize(room.memoryBytes, "memory")];
    lines.push(`Room: its node has ${cpu} cpu and ${memory} memory left to request`);
  }
  if (siblings !== null) lines.push(`Siblings: ${siblings.pods} other pods of the workload are known`);
  return lines;
}

function describeTrial(trial: TrialExplanation, now: number, options: TextOptions): readonly Text[] {
  const { direction, isWanted, sides, gates } = trial;
  const isHeld = gates.some(({ passes }) => !passes);
  if (!isWanted) {
    const held = gates.flatMap(({ passes, gate, reason, until }) =>
      passes ? [] : [`${gate} would hold it (${reason}${until === null ? "" : `, until ${formatClock(until, now)}`})`]
    );
    const says = held.length === 0 ? `every one of ${gates.length} gates would let it pass` : held.join(", ");
    return breakLines(`  If it wanted ${direction} now: ${says}`, { ...options, hang: 2 });
  }
  const wanted = sides.flatMap(({ key, from, wanted, to, why, caps, cappedBy }) => {
    const changed = caps.filter((step) => Math.abs(step.to - step.from) >= UNIT[resourceOf(key)]);
    const by = changed.map(({ cap, to }) => `${cap} (${CAP_WORDS[cap]}) makes it ${formatSize(to, resourceOf(key))}`);
    const last = cappedBy === null ? "" : `, capped by ${cappedBy}`;
    const asks = `${why}, which asks for ${formatSize(wanted, resourceOf(key))}`;
    const text = `    ${key} ${formatMove(key, from, to)}: ${[asks, ...by].join("; ")}${last}`;
    return breakLines(text, { ...options, hang: 2 });
  });
  return [
    `  Wanted: ${direction}`,
    ...wanted,
    `  Gates, of which the first that objects decides${isHeld ? "" : ": all let it pass"}`,
    ...toTable(gates.map((one) => toGateRow(one, now))).flatMap((row, index) => {
      const passes = gates[index]?.passes ?? true;
      return breakLines(`    ${row}`, { ...options, hang: 6 }).map((line) =>
        passes ? line : paint(line, "bad", options)
      );
    }),
  ];
}

function toGateRow({ gate, asks, passes, reason, message, until }: TrialExplanation["gates"][number], now: number) {
  if (passes) return ["pass", gate, asks];
  const ends = until === null ? "" : `; until ${formatClock(until, now)}`;
  return ["FAIL", gate, `${reason}: ${message}${ends}`];
}

function describeResizes(
  { resizes, resizedAt, mode }: ContainerExplanation,
  { now, since }: PodExplanation,
  options: TextOptions,
): readonly string[] {
  const back = `in the ${formatAge(now - since)} of records`;
  if (mode === "recommend") return ["  Resizes: none by this autoscaler, which only recommends"];
  if (resizes.length === 0) {
    const last = resizedAt === null ? "" : `; the last was ${formatAgo(resizedAt, now)}`;
    return [`  Resizes: none ${back}${last}`];
  }
  return [
    "  Resizes, newest first",
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
    ? "At the earliest: nobody can say, as time alone does not end what is in the way"
    : earliest <= now
    ? "At the earliest: with the next sample"
    : `At the earliest: ${formatClock(earliest, now)}, in ${formatWait(earliest - now)}`;
  return [
    "  What the next one waits for",
    ...needs.flatMap((need) => breakLines(`    - ${need}`, { ...options, hang: 2 })),
    `    ${when}`,
  ];
}
