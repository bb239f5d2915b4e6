/**
 * The fields of the resource by what they hold, and manifests as the JSON text that is sent: for JSON has numbers that
 * no object can hold, such as 1e400.
 */
import { SIDE_KEYS } from "../../lib/units/resources.ts";
import { type Edits, EXPRESSIONS, LABELS, NO_TARGET, SIDE, toManifest } from "./manifests.ts";

/** A path, such as `spec.selector.matchExpressions[0].key`, and the JSON text to put there; without one it is absent. */
export type Edit = readonly [path: string, json: string | undefined];

const SIDES = SIDE_KEYS.map((key) => `spec.policy.${key}`);
const BOUNDS = SIDE_KEYS.map((key) => `spec.bounds.${key}`);
const RESOURCES = ["spec.policy.cpu", "spec.policy.memory", "spec.bounds.cpu", "spec.bounds.memory"];

export const DURATIONS = [
  ...below(["spec.policy"], ["pollInterval", "cooldown", "delay"]),
  ...below(SIDES, ["cooldown"]),
];
export const QUANTITIES = below(BOUNDS, ["min", "max", "step"]);
export const PERCENTS = [
  ...below(SIDES, ["scaleUpThreshold", "scaleDownThreshold", "targetUtilization"]),
  ...below(BOUNDS, ["stepPercent"]),
];
export const COUNTS = below(["spec.policy", ...SIDES], ["consecutiveSamples"]);
export const PRIORITY = ["spec.priority"];
export const PAUSED = ["spec.paused"];
export const NAMES = ["spec.containerName", "spec.target.name"];
export const WORDS = ["spec.target.kind", "spec.policy.after", `${EXPRESSIONS}[0].operator`];
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
];
export const UNKNOWN = below(OBJECTS.filter((path) => path !== LABELS), ["bogus", "Min", "constructor", "a b"]);

/** Every side is there, so that each field has its place; the bounds are empty, for one alone contradicts none. */
export function toText(edits: readonly Edit[]): string {
  const isSelector = edits.some(([path]) => path.startsWith("spec.selector"));
  const marked = edits.map(([path, json], index) => {
    return [path.replace(/\[([0-9]+)\]/g, ".$1"), json === undefined ? undefined : toMark(index)] as const;
  });
  const text = JSON.stringify(toManifest({ ...FULL, ...(isSelector && SELECTOR), ...Object.fromEntries(marked) }));
  return edits.reduce((done, [, json = ""], index) => done.replace(`"${toMark(index)}"`, () => json), text);
}

const FULL: Edits = {
  "spec.policy.cpu": { requests: { ...SIDE }, limits: { ...SIDE } },
  "spec.policy.memory": { requests: { ...SIDE }, limits: { ...SIDE } },
  "spec.bounds": { cpu: { requests: {}, limits: {} }, memory: { requests: {}, limits: {} } },
};
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
