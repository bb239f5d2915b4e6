/** Which workload a ScaledObject is about, which pods are a workload's, and what each trigger aims at. */
import type { ScaledObjectLine } from "../../record/line.ts";
import type { Trigger } from "../../scaled_object/trigger.ts";
import { formatPercent, formatSize } from "./say.ts";

/** `deployment/web`; `null` while its manifest is invalid. */
export function nameTarget({ record: { input: { object } } }: ScaledObjectLine): string | null {
  const { scaledObject } = object;
  return scaledObject === null ? null : `${scaledObject.target.kind.toLowerCase()}/${scaledObject.target.name}`;
}

/** Whether a pod's name is one that the controller of the workload gives. */
export function isNameOf(pod: string, target: string): boolean {
  const [kind = "", workload = ""] = target.split("/");
  if (!pod.startsWith(`${workload}-`)) return false;
  const rest = pod.slice(workload.length + 1);
  return NAMES.find(([one]) => one === kind)?.[1].test(rest) ?? false;
}

/** What stands behind the workload's name and a dash. */
const NAMES: readonly (readonly [kind: string, rest: RegExp])[] = [
  ["deployment", /^[0-9a-z]+-[0-9a-z]{5}$/],
  ["statefulset", /^\d+$/],
  ["daemonset", /^[0-9a-z]{5}$/],
];

/** `60 % of requests`, `5 on average`. */
export function describeTarget(trigger: Trigger | undefined): string {
  if (trigger === undefined) return "-";
  if (trigger.kind === "external") {
    return `${formatMilli(trigger.targetMilli)}${trigger.metricType === "Value" ? "" : " per pod"}`;
  }
  const { target, type } = trigger;
  if (target.kind === "Utilization") return `${formatPercent(target.percent)} of requests`;
  const milli = toNumber(target.milli);
  return milli === null ? "-" : `${formatSize(type === "cpu" ? milli : milli / 1000, type)} per pod`;
}

function formatMilli(value: unknown): string {
  const milli = toNumber(value);
  return milli === null ? "-" : `${milli / 1000}`;
}

/** JSON has no bigint: whoever wrote the line may have made a text or a number of it. */
function toNumber(value: unknown): number | null {
  if (typeof value === "bigint" || typeof value === "number") return Number(value);
  return typeof value === "string" && /^-?\d+n?$/.test(value) ? Number(value.replace("n", "")) : null;
}
