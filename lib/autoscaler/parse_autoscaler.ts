/**
 * Parses a PodResourceAutoscaler, as the API server or a file has it, into an Autoscaler: defaults applied, overrides
 * resolved (C36). Repeats every check of the custom resource definition, because an older one may be installed (C8).
 */
import { parseSelector } from "../units/parse_selector.ts";
import type { Problem } from "../units/problem.ts";
import { type Resource, SIDE_KEYS, type SideKey, sideOf } from "../units/resources.ts";
import { isEmptySelector, type Selector } from "../units/selector.ts";
import type { Autoscaler, Bounds, DirectionRule, SideRule } from "./autoscaler.ts";
import { type Fields, openFields } from "./fields.ts";
import { NO_BOUNDS, parseBounds, requireSide } from "./parse_bounds.ts";
import { warnOfBounds, warnOfLimits, warnOfTargets } from "./warnings.ts";

export type ParsedAutoscaler =
  | { readonly ok: true; readonly autoscaler: Autoscaler; readonly warnings: readonly Problem[] }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** Gives the autoscaler, or every problem with its path. Takes any value and never throws. */
export function parseAutoscaler(object: unknown): ParsedAutoscaler {
  const problems: Problem[] = [];
  const known = ["apiVersion", "kind", "metadata", "spec", "status"];
  const root = openFields(object, { path: "", problems, known });
  if (root === null) return { ok: false, problems };
  root.word("apiVersion", ["keda.kedify.io/v1alpha1"]);
  root.word("kind", ["PodResourceAutoscaler"]);
  root.require(["metadata", "spec"]);
  const identity = parseIdentity(root);
  const fields = root.object("spec", SPEC_FIELDS);
  const bounds = fields === null ? new Map<SideKey, Bounds>() : parseBounds(fields);
  const spec = fields === null ? null : parseSpec(fields, bounds);
  if (identity === null || spec === null || problems.length > 0) return { ok: false, problems };
  const warnings = [...warnOfTargets(spec), ...warnOfLimits(spec), ...warnOfBounds(spec, bounds.keys())];
  return { ok: true, autoscaler: { ...identity, key: identity.uid, ...spec }, warnings };
}

type Identity = Pick<Autoscaler, "namespace" | "name" | "uid" | "generation">;
type Spec = Omit<Autoscaler, keyof Identity | "key">;

const SPEC_FIELDS = ["paused", "priority", "target", "selector", "containerName", "policy", "bounds"];

/** Takes the place of a value with a problem. It is never seen, since an autoscaler with a problem is not returned. */
const INVALID = 0;

/** The schema's bound, on matchLabels and on matchExpressions each. */
const MAX_REQUIREMENTS = 100;

const NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const NAME_RULE = { max: 253, pattern: NAME, rule: `must be 1 to 253 lower case letters, digits, "-" and "."` };
const LABEL_RULE = { max: 63, pattern: LABEL, rule: `must be 1 to 63 lower case letters, digits and "-"` };

/** A file has neither uid nor generation, and may leave the namespace to whoever applies it. */
function parseIdentity(root: Fields): Identity | null {
  const metadata = root.object("metadata", null);
  if (metadata === null) return null;
  metadata.require(["name"]);
  const name = metadata.text("name", NAME_RULE);
  const namespace = metadata.text("namespace", LABEL_RULE) ?? "default";
  const uid = metadata.text("uid", { max: 128, pattern: /^[^]+$/, rule: "must be a string" }) ?? "";
  const generation = metadata.count("generation") ?? 0;
  return { namespace, name: name ?? "", uid, generation };
}

function parseSpec(spec: Fields, bounds: ReadonlyMap<SideKey, Bounds>): Spec | null {
  spec.require(["containerName", "policy"]);
  const target = parseTarget(spec);
  const selector = parsePodSelector(spec);
  if (spec.has("target") && spec.has("selector")) {
    spec.report("selector", "Cannot use selector together with target: keep one of them");
  }
  if (!spec.has("target") && !spec.has("selector")) {
    spec.report("target", "Missing target or selector: name a workload in target or the labels of pods in selector");
  }
  const common = {
    paused: spec.boolean("paused") ?? false,
    priority: spec.integer("priority") ?? 0,
    target,
    selector,
    containerName: spec.text("containerName", LABEL_RULE) ?? "",
    isWildcard: false,
    excludeContainers: [],
    profile: null,
    mode: "apply",
    newPods: "template",
  } as const;
  const policy = parsePolicy(spec, bounds);
  return policy === null ? null : { ...common, ...policy };
}

function parseTarget(spec: Fields): Autoscaler["target"] {
  const target = spec.object("target", ["kind", "name"]);
  if (target === null) return null;
  target.require(["kind", "name"]);
  const kind = target.word("kind", ["deployment", "daemonset", "statefulset"]);
  const name = target.text("name", NAME_RULE);
  return kind === null || name === null ? null : { kind, name };
}

function parsePodSelector(spec: Fields): Selector | null {
  if (!spec.has("selector")) return null;
  const parsed = parseSelector(spec.get("selector"), spec.pathOf("selector"));
  if (!parsed.ok) {
    for (const problem of parsed.problems) spec.add(problem);
    return null;
  }
  if (isEmptySelector(parsed.selector)) {
    spec.report("selector", "Cannot use an empty selector: it would match every pod of the namespace, name labels");
  }
  for (const [key, entries] of Object.entries(parsed.selector.source)) {
    const count = Object.keys(entries).length;
    if (count > MAX_REQUIREMENTS) {
      spec.add({
        path: spec.pathOf(`selector.${key}`),
        message: `Cannot use ${count} ${key}: at most ${MAX_REQUIREMENTS}`,
      });
    }
  }
  return parsed.selector;
}

/** What stands under `spec.policy`. */
type Policy = Pick<
  Spec,
  | "pollIntervalMs"
  | "cooldownMs"
  | "after"
  | "delayMs"
  | "veto"
  | "oom"
  | "throttling"
  | "restartToShrink"
  | "sides"
>;

function parsePolicy(spec: Fields, bounds: ReadonlyMap<SideKey, Bounds>): Policy | null {
  const known = ["pollInterval", "consecutiveSamples", "cooldown", "after", "delay", "cpu", "memory"];
  const policy = spec.object("policy", known);
  if (policy === null) return null;
  policy.require(["pollInterval", "consecutiveSamples", "cooldown"]);
  const pollIntervalMs = policy.durationMs("pollInterval");
  if (pollIntervalMs === 0) policy.report("pollInterval", "Cannot use pollInterval 0: must be greater, such as 10s");
  const consecutiveSamples = policy.integer("consecutiveSamples", { min: 1 }) ?? INVALID;
  const cooldownMs = policy.durationMs("cooldown") ?? INVALID;
  if (!policy.has("cpu") && !policy.has("memory")) {
    const sides = SIDE_KEYS.join(", ");
    policy.reportWhole(`Cannot use policy without a side: add at least one of ${sides}`);
  }
  return {
    pollIntervalMs: pollIntervalMs ?? INVALID,
    cooldownMs,
    after: policy.word("after", ["running", "containerReady", "podReady"]) ?? "containerReady",
    delayMs: policy.durationMs("delay") ?? 15_000,
    veto: "all",
    oom: "raise",
    throttling: "measure",
    restartToShrink: false,
    sides: (["cpu", "memory"] as const).flatMap((resource) =>
      parseSides(policy, { resource, consecutiveSamples, cooldownMs, bounds })
    ),
  };
}

/** What a side takes from elsewhere in the spec. */
interface SideContext {
  readonly resource: Resource;
  readonly consecutiveSamples: number;
  readonly cooldownMs: number;
  readonly bounds: ReadonlyMap<SideKey, Bounds>;
}

function parseSides(policy: Fields, context: SideContext): readonly SideRule[] {
  const sides = policy.object(context.resource, ["requests", "limits"]);
  if (sides === null) return [];
  requireSide(sides, context.resource);
  return (["requests", "limits"] as const).flatMap((side) => {
    const fields = sides.object(side, [
      "scaleUpThreshold",
      "scaleDownThreshold",
      "targetUtilization",
      "consecutiveSamples",
      "cooldown",
    ]);
    return fields === null ? [] : [parseSide(fields, { ...context, key: `${context.resource}.${side}` })];
  });
}

function parseSide(fields: Fields, { key, resource, ...inherited }: SideContext & { key: SideKey }): SideRule {
  fields.require(["scaleUpThreshold", "scaleDownThreshold", "targetUtilization"]);
  const up = fields.integer("scaleUpThreshold", { min: 1, max: 100 });
  const down = fields.integer("scaleDownThreshold", { min: 0, max: 100 });
  if (up !== null && down !== null && up <= down) {
    fields.report("scaleUpThreshold", `Cannot use scaleUpThreshold ${up}: not greater than scaleDownThreshold ${down}`);
  }
  const either: DirectionRule = {
    targetUtilizationPercent: fields.integer("targetUtilization", { min: 1, max: 100 }) ?? INVALID,
    consecutiveSamples: fields.integer("consecutiveSamples", { min: 1 }) ?? inherited.consecutiveSamples,
    cooldownMs: fields.durationMs("cooldown") ?? inherited.cooldownMs,
  };
  return {
    key,
    resource,
    side: sideOf(key),
    scaleUpThresholdPercent: up ?? INVALID,
    scaleDownThresholdPercent: down ?? INVALID,
    up: either,
    down: { ...either, windowMs: 0, percentile: null },
    hasOwnCooldowns: false,
    isOptional: false,
    bounds: inherited.bounds.get(key) ?? NO_BOUNDS,
  };
}
