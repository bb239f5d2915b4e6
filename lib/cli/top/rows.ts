/** What `podfit top` lists: one row per tracked container and per workload with replicas, as plain JSON. Millicores, bytes, percent, epoch ms. */
import type { RecordLine } from "../../record/line.ts";
import type { Resource, Side } from "../../units/resources.ts";
import { explainPod } from "../explain/explain_pod.ts";
import { explainWorkload } from "../explain/explain_workload.ts";
import type { Sort } from "./sort.ts";
import type { ContainerExplanation, PodExplanation } from "../explain/explanation.ts";

export type TopRow = ContainerRow | WorkloadRow;

interface Common {
  readonly namespace: string;
  readonly name: string;
  /** What stands in the way, or why nothing is wanted: a reason. */
  readonly gate: string;
  readonly isHeld: boolean;
}

export interface ContainerRow extends Common {
  readonly kind: "container";
  readonly container: string;
  readonly usedAt: number | null;
  readonly cpu: Amounts;
  readonly memory: Amounts;
}

/** Of one resource of a container; `null` = none, or not known. */
export interface Amounts {
  readonly used: number | null;
  readonly request: number | null;
  readonly limit: number | null;
  /** Of the managed side that is fullest. */
  readonly utilizationPercent: number | null;
  readonly wantedRequest: number | null;
  readonly wantedLimit: number | null;
}

export interface WorkloadRow extends Common {
  readonly kind: "workload";
  readonly replicas: number | null;
  readonly wanted: number | null;
  /** The highest of its triggers' usage to target. */
  readonly ratio: number | null;
}

/** One line for each pod and ScaledObject. */
export function toRows(lines: readonly RecordLine[], now: number): readonly TopRow[] {
  return lines.flatMap((line): readonly TopRow[] => {
    if (line.kind === "pod") {
      return explainPod([line], { now })?.containers.map((one) => toContainerRow(line, one)) ?? [];
    }
    const workload = explainWorkload([line], { now, pods: [] });
    if (workload === null) return [];
    const { namespace, target, replicas, desired, reason, triggers, conditions: { Ready, Paused } } = workload;
    const ratios = triggers.flatMap(({ proposal }) => proposal?.ratio ?? []);
    const gate = Paused?.status === "True" ? "Paused" : Ready?.status === "False" ? Ready.reason : reason ?? "-";
    return [{
      kind: "workload",
      namespace,
      name: target,
      gate,
      isHeld: HELD.test(gate),
      replicas,
      wanted: desired,
      ratio: ratios.length === 0 ? null : Math.max(...ratios),
    }];
  });
}

/** Reasons of replicas that keep them from what the triggers ask for. */
const HELD = /Limit$|^TooMany|^TooFew|Stabilized$|Failed$|^Vertical|^Paused|Error/;

function toContainerRow(
  { namespace, name }: Pick<PodExplanation, "namespace" | "name">,
  one: ContainerExplanation,
): ContainerRow {
  const { kind, reason } = one.decision;
  return {
    kind: "container",
    namespace,
    name,
    container: one.name,
    gate: reason,
    isHeld: kind === "blocked" || reason === "AtBound" || reason === "MetricsUnavailable",
    usedAt: one.usage?.at ?? null,
    cpu: toAmounts(one, "cpu"),
    memory: toAmounts(one, "memory"),
  };
}

function toAmounts({ usage, sides, trials }: ContainerExplanation, resource: Resource): Amounts {
  const find = (side: Side) => sides.find(({ key }) => key === `${resource}.${side}`);
  const sizeOf = (side: Side) => find(side)?.actual ?? null;
  const wanted = trials.filter(({ isWanted }) => isWanted).flatMap((trial) => trial.sides).filter(({ from, to }) =>
    from !== to
  );
  // Where podfit only recommends, the size that it would have is wanted.
  const adviseOf = (side: Side) => find(side)?.size === sizeOf(side) ? null : find(side)?.size ?? null;
  const wantedOf = (side: Side) => wanted.find(({ key }) => key === `${resource}.${side}`)?.to ?? adviseOf(side);
  const percents = sides.flatMap(({ key, usedPercent }) => key.startsWith(resource) ? usedPercent ?? [] : []);
  return {
    used: usage === null ? null : resource === "cpu" ? usage.cpuMillicores : usage.memoryBytes,
    request: sizeOf("requests"),
    limit: sizeOf("limits"),
    utilizationPercent: percents.length === 0 ? null : Math.max(...percents),
    wantedRequest: wantedOf("requests"),
    wantedLimit: wantedOf("limits"),
  };
}

/** By name, or the largest first; workloads, which have no usage, come last then. */
export function sortRows(rows: readonly TopRow[], sort: Sort): readonly TopRow[] {
  const byName = rows.toSorted((a, b) => compare(nameOf(a), nameOf(b)));
  return sort === "name" ? byName : byName.toSorted((a, b) => rank(b, sort) - rank(a, sort));
}

/** Rows in whose namespace, name, container or gate the text stands, whatever its case. */
export function filterRows(rows: readonly TopRow[], text: string): readonly TopRow[] {
  const wanted = text.toLowerCase();
  return rows.filter((row) => `${nameOf(row)} ${row.gate}`.toLowerCase().includes(wanted));
}

function nameOf(row: TopRow): string {
  return `${row.namespace}/${row.name}${row.kind === "container" ? `/${row.container}` : ""}`;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function rank(row: TopRow, sort: Exclude<Sort, "name">): number {
  if (row.kind === "workload") return sort === "wanted" ? toChange(row.replicas, row.wanted) : -1;
  const { cpu, memory } = row;
  switch (sort) {
    case "cpu":
      return cpu.used ?? -1;
    case "memory":
      return memory.used ?? -1;
    case "utilization":
      return Math.max(cpu.utilizationPercent ?? -1, memory.utilizationPercent ?? -1);
    case "wanted":
      return Math.max(...[cpu, memory].flatMap(({ request, limit, wantedRequest, wantedLimit }) => [
        toChange(request, wantedRequest),
        toChange(limit, wantedLimit),
      ]));
  }
}

/** As a part of what there is; -1 = nothing is wanted. */
function toChange(from: number | null, to: number | null): number {
  return from === null || to === null || from === to ? -1 : Math.abs(to - from) / Math.max(from, 1);
}
