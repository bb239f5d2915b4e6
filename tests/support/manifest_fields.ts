/**
 * The fields of the resource by what they hold, and manifests as the JSON text that is sent: for JSON has numbers that
 * no object can hold, such as 1e400.
 */
import { RESOURCE_FIELDS } from "../../lib/units/resources.ts";
import { type Edits, EXPRESSIONS, LABELS, NO_TARGET, SIDE, toManifest } from "./manifests.ts";

/** A path, such as `spec.selector.matchExpressions[0].key`, and the JSON text to put there; without one it is absent. */
export type Edit = readonly [path: string, json: string | undefined];

const SIDES = RESOURCE_FIELDS.map((key) => `spec.policy.${key}`);
const BOUNDS = RESOURCE_FIELDS.map((key) => `spec.bounds.${key}`);
const SIDE_UPS = below(SIDES, ["scaleUp"]);
const SIDE_DOWNS = below(SIDES, ["scaleDown"]);
const UPS = ["spec.policy.scaleUp", ...SIDE_UPS];
const DOWNS = ["spec.policy.scaleDown", ...SIDE_DOWNS];
const CPU_DOWNS = ["spec.policy.cpu.scaleDown", ...SIDE_DOWNS.filter((path) => path.includes("cpu"))];
const MEMORY_DOWNS = SIDE_DOWNS.filter((path) => path.includes("memory"));
const RESOURCES = ["spec.policy.cpu", "spec.policy.memory", "spec.bounds.cpu", "spec.bounds.memory"];

export const DURATIONS = [
  ...below(["spec.policy"], ["pollInterval", "cooldown", "delay"]),
  ...below([...SIDES, ...UPS, ...DOWNS], ["cooldown"]),
];
/** At most 24h. */
export const WINDOWS = below(DOWNS, ["window"]);
/** From 1m to 24h; in each place there is a percentile. */
export const HALF_LIVES = below(CPU_DOWNS, ["halfLife"]);
export const PERCENTILES = below(CPU_DOWNS, ["percentile"]);
export const QUANTITIES = below(BOUNDS, ["min", "max", "step"]);
export const PERCENTS = [
  ...below(SIDES.filter((side) => side.endsWith("limits")), ["scaleUpThreshold", "scaleDownThreshold"]),
  ...below([...SIDES, ...SIDE_UPS, ...SIDE_DOWNS], ["targetUtilization"]),
  ...below(BOUNDS, ["stepPercent"]),
];
/** At most 200, as usage can exceed a request. */
export const REQUEST_THRESHOLDS = below(SIDES.filter((side) => side.endsWith("requests")), [
  "scaleUpThreshold",
  "scaleDownThreshold",
]);
export const COUNTS = below(["spec.policy", ...SIDES, ...UPS, ...DOWNS], ["consecutiveSamples"]);
/** A number of pods, or a percentage of them. */
export const POD_COUNTS = ["spec.policy.maxUnavailable"];
export const PRIORITY = ["spec.priority"];
export const FLAGS = ["spec.paused", "spec.policy.memory.restartToShrink"];
export const NAMES = ["spec.containerName", "spec.target.name"];
export const WORDS = [
  "spec.target.kind",
  "spec.profile",
  "spec.mode",
  "spec.newPods",
  "spec.policy.after",
  "spec.policy.veto",
  "spec.policy.cpu.throttling",
  "spec.policy.memory.oom",
  `${EXPRESSIONS}[0].operator`,
];
export const CONTAINER_LISTS = ["spec.excludeContainers"];
export const LABEL_VALUES = [`${LABELS}.app`, `${EXPRESSIONS}[0].values[0]`];
export const LABEL_KEYS = [`${EXPRESSIONS}[0].key`];
export const LISTS = [EXPRESSIONS, `${EXPRESSIONS}[0].values`];
export const OBJECTS = [
  "spec",
  "spec.target",
  "spec.selector",
  LABELS,
  `${EXPRESSIONS}[0]`,
  "spec.policy",
  "spec.bounds",
  ...RESOURCES,
  ...SIDES,
  ...BOUNDS,
  ...UPS,
  ...DOWNS,
  "spec.policy.cpu.scaleDown",
];
/** The last ones exist elsewhere: a scale-up has no window, and memory no percentile. */
export const UNKNOWN = [
  ...below(OBJECTS.filter((path) => path !== LABELS), ["bogus", "Min", "constructor", "a b"]),
  ...below(UPS, ["window"]),
  ...below(MEMORY_DOWNS, ["percentile", "halfLife"]),
  "spec.policy.memory.scaleDown",
];

/**
 * Every side is there, so that each field has its place; the bounds are empty, for one alone contradicts none. A
 * half-life has its percentile beside it, and containers that are left out their "*".
 */
export function toText(edits: readonly Edit[]): string {
  const isSelector = edits.some(([path]) => path.startsWith("spec.selector"));
  const isHalfLife = edits.some(([path]) => path.endsWith("halfLife"));
  const isExcluding = edits.some(([path]) => path.startsWith("spec.excludeContainers"));
  const marked = edits.map(([path, json], index) => {
    return [path.replace(/\[([0-9]+)\]/g, ".$1"), json === undefined ? undefined : toMark(index)] as const;
  });
  const text = JSON.stringify(toManifest({
    ...FULL,
    ...(isSelector && SELECTOR),
    ...(isHalfLife && PERCENTILE),
    ...(isExcluding && { "spec.containerName": "*" }),
    ...Object.fromEntries(marked),
  }));
  return edits.reduce((done, [, json = ""], index) => done.replace(`"${toMark(index)}"`, () => json), text);
}

const FULL: Edits = {
  "spec.policy.cpu": { requests: { ...SIDE }, limits: { ...SIDE } },
  "spec.policy.memory": { requests: { ...SIDE }, limits: { ...SIDE } },
  "spec.bounds": { cpu: { requests: {}, limits: {} }, memory: { requests: {}, limits: {} } },
};
const PERCENTILE: Edits = Object.fromEntries(PERCENTILES.map((path) => [path, 90]));
const SELECTOR: Edits = {
  ...NO_TARGET,
  [LABELS]: { app: "web" },
  [EXPRESSIONS]: [{ key: "tier", operator: "In", values: ["front"] }],
};

function toMark(index: number): string {
  return `(edit ${index})`;
}

function below(paths: readonly string[], fields: readonly string[]): readonly string[] {
  return paths.flatMap((path) => fields.map((field) => `${path}.${field}`));
}
