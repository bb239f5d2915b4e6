/** An explanation of a workload's number of pods as a person reads it: the answer first, then triggers, limits and pods. */
import { countReplicas } from "./explain_workload.ts";
import type { WorkloadExplanation } from "./explanation.ts";
import type { Text } from "../terminal/output.ts";
import { breakLines, paint, type TextOptions, toTable } from "./paint.ts";
import { describeRules } from "./replica_needs.ts";
import { formatAge, formatAgo, formatPercent, formatSize } from "./say.ts";

/** Lines without their newlines. */
export function describeWorkload(one: WorkloadExplanation, options: TextOptions): readonly Text[] {
  const hanging = { ...options, hang: 2 };
  const { kind, namespace, name, target, at, now } = one;
  const by = kind === "workload" ? "" : `, by ScaledObject ${name}`;
  const section = (heading: string, lines: readonly string[]): readonly Text[] =>
    lines.length === 0
      ? []
      : ["", paint(heading, "strong", options), ...lines.flatMap((line) => breakLines(`  ${line}`, hanging))];
  return [
    ...breakLines(one.answer, options).map((line) => paint(line, "strong", options)),
    "",
    `${target} of namespace ${namespace}${by}; as of ${formatAgo(at, now)}`,
    ...kind === "workload" ? [] : [
      ...section("Replicas", describeReplicas(one)),
      ...section("Triggers", describeTriggers(one)),
      ...section("Limits", describeLimits(one)),
    ],
    ...section("What the next change waits for", one.next),
    ...section(
      "Changes, newest first",
      one.writes.map(({ at, from, to, why }) => `${formatAgo(at, now)}  ${from} -> ${to}  ${why}`),
    ),
    ...section("Conditions", toTable(listConditions(one))),
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
    `${replicas === null ? "not known" : `${countReplicas(replicas)} now`}, wanted ${count(desired)}` +
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
    const asks = lo === hi ? String(replicas) : `${replicas} (${lo} full-grown, ${hi} as born)`;
    const pods = `${ready} ready, ${unready} unready, ${missing} without usage`;
    return [metricName, formatValue(type, value), target, ratio === null ? "-" : ratio.toFixed(2), asks, pods, says];
  });
  return rows.length === 0 ? [] : toTable([["METRIC", "VALUE", "TARGET", "RATIO", "ASKS FOR", "PODS", ""], ...rows]);
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

function describePods({ pods }: WorkloadExplanation): string {
  const ready = pods.filter(({ isReady }) => isReady).length;
  return `Pods that podfit sizes: ${ready} ready, ${pods.length - ready} not`;
}
