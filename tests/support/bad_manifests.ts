/**
 * Manifests that the parser and the API server refuse: a sentence each, what differs from the base, and the path of
 * the problem, which is the first edited field unless the row says otherwise.
 */
import {
  DOWN,
  type Edits,
  EXPRESSIONS,
  LABELS,
  type Manifest,
  MAX,
  MIN,
  NO_TARGET,
  SIDE,
  STEP,
  STEP_PERCENT,
  TARGET,
  toManifest,
  UP,
} from "./manifests.ts";

export interface BadManifest {
  readonly sentence: string;
  readonly manifest: Manifest;
  readonly path: string;
}

type BadRow = readonly [sentence: string, edits: Edits, path?: string];

const BAD: readonly BadRow[] = [
  ["no spec", { "spec": undefined }],
  ["a field beside spec", { "specs": {} }],
  ["a field of spec with a slip", { "spec.container": "app" }],
  ["a field of policy with a slip", { "spec.policy.pollingInterval": "5s" }],
  ["a field of a side with a slip", { "spec.policy.cpu.requests.target": 70 }],
  ["a side with a slip", { "spec.policy.cpu.request": SIDE }],
  ["a third resource in policy", { "spec.policy.storage": { requests: SIDE } }],
  ["C7: both target and selector", { "spec.selector": { matchLabels: { app: "web" } } }],
  ["C7: neither target nor selector", { "spec.target": undefined }],
  ["C7: target and selector null", { "spec.target": null, "spec.selector": null }],
  ["a target as text", { "spec.target": "deployment/web" }],
  ["a target without kind", { "spec.target.kind": undefined }],
  ["a target without name", { "spec.target.name": undefined }],
  ["a target's kind in upper case", { "spec.target.kind": "DEPLOYMENT" }],
  ["a target's kind that is not supported", { "spec.target.kind": "job" }],
  ["a target of another namespace", { "spec.target.namespace": "other" }],
  ["an empty target's name", { "spec.target.name": "" }],
  ["a target's name in upper case", { "spec.target.name": "Web" }],
  ["a target's name that is too long", { "spec.target.name": "a".repeat(254) }],
  ["C7: an empty selector", { "spec.selector": {}, ...NO_TARGET }],
  ["C7: a selector of empty parts", { "spec.selector": { matchLabels: {}, matchExpressions: [] }, ...NO_TARGET }],
  ["a selector's unknown field", { "spec.selector.labels": { app: "web" }, ...NO_TARGET }],
  [
    "an expression's unknown field",
    expression({ key: "a", operator: "Exists", value: "b" }),
    `${EXPRESSIONS}[0].value`,
  ],
  ["C7: a selector whose only label is null", { "spec.selector": { matchLabels: { app: null } }, ...NO_TARGET }],
  ["more than 20 labels", { [LABELS]: manyLabels(21), ...NO_TARGET }],
  ["more than 20 expressions", { [EXPRESSIONS]: manyExpressions(21), ...NO_TARGET }],
  [
    "more than 100 values",
    expression({ key: "a", operator: "In", values: Array.from({ length: 101 }, (_, n) => `v${n}`) }),
    `${EXPRESSIONS}[0].values`,
  ],
  ["a label key with 254 characters before its slash", { [LABELS]: { [`${"a".repeat(254)}/b`]: "c" }, ...NO_TARGET }],
  ["labels as a list", { [LABELS]: ["app"], ...NO_TARGET }],
  ["a label value that is a number", { [LABELS]: { app: 1 }, ...NO_TARGET }, `${LABELS}.app`],
  ["a label value with a space", { [LABELS]: { app: "a b" }, ...NO_TARGET }, `${LABELS}.app`],
  ["a label key with a space", { [LABELS]: { "my app": "web" }, ...NO_TARGET }],
  ["an unknown operator", expression({ key: "a", operator: "Equals", values: ["b"] }), `${EXPRESSIONS}[0].operator`],
  ["an expression without key", expression({ operator: "Exists" }), `${EXPRESSIONS}[0].key`],
  ["an expression without operator", expression({ key: "a" }), `${EXPRESSIONS}[0].operator`],
  ["In without values", expression({ key: "a", operator: "In" }), `${EXPRESSIONS}[0].values`],
  ["NotIn with no value", expression({ key: "a", operator: "NotIn", values: [] }), `${EXPRESSIONS}[0].values`],
  ["Exists with a value", expression({ key: "a", operator: "Exists", values: ["b"] }), `${EXPRESSIONS}[0].values`],
  ["a bad key in an expression", expression({ key: "-a", operator: "Exists" }), `${EXPRESSIONS}[0].key`],
  [
    "a bad value in an expression",
    expression({ key: "a", operator: "In", values: ["b", "c!"] }),
    `${EXPRESSIONS}[0].values[1]`,
  ],
  ["no containerName", { "spec.containerName": undefined }],
  ["an empty containerName", { "spec.containerName": "" }],
  ["a containerName with dots", { "spec.containerName": "my.app" }],
  ["a containerName that is too long", { "spec.containerName": "a".repeat(64) }],
  ["paused as text", { "spec.paused": "true" }],
  ["priority as text", { "spec.priority": "1" }],
  ["a priority with a fraction", { "spec.priority": 1.5 }],
  ["a priority beyond int32", { "spec.priority": 2147483648 }],
  ["no policy", { "spec.policy": undefined }],
  ["no pollInterval", { "spec.policy.pollInterval": undefined }],
  ["a pollInterval of null", { "spec.policy.pollInterval": null }],
  ["no consecutiveSamples", { "spec.policy.consecutiveSamples": undefined }],
  ["no cooldown", { "spec.policy.cooldown": undefined }],
  ["C7: pollInterval 0s", { "spec.policy.pollInterval": "0s" }],
  ["C7: pollInterval 0", { "spec.policy.pollInterval": "0" }],
  ["a duration as number", { "spec.policy.pollInterval": 5 }],
  ["C7: a duration without unit", { "spec.policy.pollInterval": "5" }],
  ["C7: an empty duration", { "spec.policy.cooldown": "" }],
  ["C7: a duration in days", { "spec.policy.cooldown": "1d" }],
  ["C7: a negative cooldown", { "spec.policy.cooldown": "-1m" }],
  ["C7: a negative delay", { "spec.policy.delay": "-1s" }],
  ["C7: a duration with a space", { "spec.policy.delay": "1m 30s" }],
  ["C7: a duration that goes on after its end", { "spec.policy.delay": "10s?" }],
  ["C7: a duration beyond Go's longest", { "spec.policy.cooldown": "9999999h" }],
  ["a duration of more than 32 characters", { "spec.policy.cooldown": `${"1".repeat(32)}s` }],
  ["C7: a side's negative cooldown", { "spec.policy.cpu.requests.cooldown": "-1s" }],
  ["an unknown after", { "spec.policy.after": "ready" }],
  ["C7: consecutiveSamples 0", { "spec.policy.consecutiveSamples": 0 }],
  ["C7: a side's consecutiveSamples 0", { "spec.policy.cpu.requests.consecutiveSamples": 0 }],
  ["consecutiveSamples with a fraction", { "spec.policy.consecutiveSamples": 2.5 }],
  ["C7: no side at all", { "spec.policy.cpu": undefined, "spec.bounds": undefined }, "spec.policy"],
  ["C7: cpu with neither requests nor limits", { "spec.policy.cpu": {} }],
  ["C7: memory with neither requests nor limits", { "spec.policy.memory": {} }],
  ["C7: cpu with null sides", { "spec.policy.cpu": { requests: null, limits: null } }],
  ["a side without scaleUpThreshold", { [UP]: undefined }],
  ["a side without scaleDownThreshold", { [DOWN]: undefined }],
  ["a side without targetUtilization", { [TARGET]: undefined }],
  ["C7: up equal to down", { [UP]: 50 }],
  ["C7: up below down", { [UP]: 40 }],
  ["C7: up below down in memory limits", {
    "spec.policy.memory.limits": { scaleUpThreshold: 10, scaleDownThreshold: 20, targetUtilization: 15 },
  }, "spec.policy.memory.limits.scaleUpThreshold"],
  ["C7: scaleUpThreshold 0", { [UP]: 0 }],
  ["C7: scaleUpThreshold 201", { [UP]: 201 }],
  ["C7: scaleDownThreshold -1", { [DOWN]: -1 }],
  ["C7: scaleDownThreshold 201", { [DOWN]: 201 }],
  ["C7: a limit's scaleUpThreshold 101", limits({ scaleUpThreshold: 101 }), "spec.policy.cpu.limits.scaleUpThreshold"],
  [
    "C7: a limit's scaleDownThreshold 101",
    limits({ scaleDownThreshold: 101 }),
    "spec.policy.cpu.limits.scaleDownThreshold",
  ],
  ["C7: targetUtilization 0", { [TARGET]: 0 }],
  ["C7: targetUtilization 101", { [TARGET]: 101 }],
  ["a threshold with a percent sign", { [UP]: "80%" }],
  ["a threshold with a fraction", { [UP]: 80.5 }],
  ["C7: bounds for another resource", { "spec.bounds.storage": { requests: { max: "1Gi" } } }],
  ["C7: bounds without a resource", { "spec.bounds": {} }],
  ["bounds with neither requests nor limits", { "spec.bounds.cpu": {} }],
  ["bounds with a slip", { "spec.bounds.cpu.requests.maximum": "2" }],
  ["bounds as a list", { "spec.bounds": [] }],
  ["C7: min greater than max", { [MIN]: "3" }],
  ["C7: min greater than max, as integers", { [MIN]: 3, [MAX]: 2 }],
  ["C7: min greater than max in memory limits", {
    "spec.bounds.memory.limits": { min: "2Gi", max: "2G" },
  }, "spec.bounds.memory.limits.min"],
  ["C7: min greater than max by less than a millicore", { [MIN]: "200u", [MAX]: "100u" }],
  ["C7: a negative min", { [MIN]: "-100m" }],
  ["C7: a negative max", { [MAX]: -1, [MIN]: undefined }],
  ["C7: step 0", { [STEP]: "0" }],
  ["C7: step 0 in another notation", { [STEP]: "0m" }],
  ["C7: a negative step", { [STEP]: "-100m" }],
  ["a quantity with an unknown suffix", { [MAX]: "2Q" }],
  ["a quantity of a suffix alone", { [MAX]: "Ki" }],
  ["an empty quantity", { [MAX]: "" }],
  ["a quantity with a space", { [MAX]: "2 Gi" }],
  ["a quantity as a number with a fraction", { [MAX]: 1.5 }],
  ["a quantity as an object", { [MAX]: {} }],
  ["a quantity of more than 64 characters", { [MAX]: "1".repeat(65) }],
  ["a quantity beyond any machine", { "spec.bounds.memory.requests.max": "8Pi" }],
  ["as many cores as no machine has", { [MAX]: "9001G" }],
  ["a quantity with an exponent that wraps around to 0", { [MAX]: "1e4294967296" }],
  ["C7: stepPercent 0", { [STEP_PERCENT]: 0 }],
  ["C7: stepPercent 101", { [STEP_PERCENT]: 101 }],
  ["stepPercent with a percent sign", { [STEP_PERCENT]: "25%" }],
  ["L54: an unknown profile", { "spec.profile": "fast" }],
  ["L54: a profile in upper case", { "spec.profile": "Balanced" }],
  ["an unknown mode", { "spec.mode": "dryRun" }],
  ["an unknown word for new pods", { "spec.newPods": "median" }],
  ["an unknown veto", { "spec.policy.veto": "none" }],
  ["L70: a share of more than all pods", { "spec.policy.maxUnavailable": "101%" }],
  ["L70: fewer pods than none", { "spec.policy.maxUnavailable": -1 }],
  ["L70: a part of a pod", { "spec.policy.maxUnavailable": 0.5 }],
  ["an unknown word for OOM kills", { "spec.policy.memory": { limits: SIDE, oom: "kill" } }, "spec.policy.memory.oom"],
  ["an unknown word for throttling", { "spec.policy.cpu.throttling": true }],
  [
    "restartToShrink as text",
    { "spec.policy.memory": { limits: SIDE, restartToShrink: "yes" } },
    "spec.policy.memory.restartToShrink",
  ],
  ["L54: containers left out beside one", { "spec.excludeContainers": ["proxy"] }],
  [
    "L54: containers left out of a profile with one container",
    { "spec.excludeContainers": ["proxy"], "spec.profile": "balanced" },
  ],
  ["containers left out as text", { "spec.excludeContainers": "proxy", "spec.containerName": "*" }],
  [
    "a container left out by a pattern",
    { "spec.excludeContainers": ["istio-*"], "spec.containerName": "*" },
    "spec.excludeContainers[0]",
  ],
  ["a pattern for containerName", { "spec.containerName": "app-*" }],
  ["L54: a window of more than a day", { "spec.policy.scaleDown": { window: "25h" } }, "spec.policy.scaleDown.window"],
  [
    "L54: a side's window of a day and a moment",
    side({ scaleDown: { window: "24h1ns" } }),
    "spec.policy.cpu.requests.scaleDown.window",
  ],
  ["a negative window", { "spec.policy.scaleDown": { window: "-1s" } }, "spec.policy.scaleDown.window"],
  ["L54: a window of scale-ups", { "spec.policy.scaleUp": { window: "15m" } }, "spec.policy.scaleUp.window"],
  [
    "L54: both directions' windows of a side",
    side({ scaleUp: { window: "15m" }, scaleDown: { window: "15m" } }),
    "spec.policy.cpu.requests.scaleUp.window",
  ],
  [
    "L54: a percentile of memory",
    { "spec.policy.memory": { limits: SIDE, scaleDown: { percentile: 95 } } },
    "spec.policy.memory.scaleDown",
  ],
  [
    "L54: a half-life of a memory side",
    { "spec.policy.memory": { limits: { ...SIDE, scaleDown: { halfLife: "1h" } } } },
    "spec.policy.memory.limits.scaleDown.halfLife",
  ],
  [
    "L54: a percentile of a memory side",
    { "spec.policy.memory": { limits: { ...SIDE, scaleDown: { percentile: 95, halfLife: "1h" } } } },
    "spec.policy.memory.limits.scaleDown.percentile",
  ],
  [
    "L54: a percentile of memory beside a profile",
    { "spec.profile": "balanced", "spec.policy.memory": { requests: { scaleDown: { percentile: 95 } } } },
    "spec.policy.memory.requests.scaleDown.percentile",
  ],
  [
    "a percentile of both resources",
    { "spec.policy.scaleDown": { percentile: 95 } },
    "spec.policy.scaleDown.percentile",
  ],
  ["a percentile of 49", { "spec.policy.cpu.scaleDown": { percentile: 49 } }, "spec.policy.cpu.scaleDown.percentile"],
  ["a percentile of 101", { "spec.policy.cpu.scaleDown": { percentile: 101 } }, "spec.policy.cpu.scaleDown.percentile"],
  [
    "a half-life without percentile",
    { "spec.policy.cpu.scaleDown": { halfLife: "1h" } },
    "spec.policy.cpu.scaleDown.halfLife",
  ],
  [
    "a side's half-life without percentile",
    side({ scaleDown: { halfLife: "1h" } }),
    "spec.policy.cpu.requests.scaleDown.halfLife",
  ],
  [
    "a half-life of less than a minute",
    { "spec.policy.cpu.scaleDown": { percentile: 90, halfLife: "59s" } },
    "spec.policy.cpu.scaleDown.halfLife",
  ],
  [
    "a half-life of more than a day",
    { "spec.policy.cpu.scaleDown": { percentile: 90, halfLife: "24h0.001s" } },
    "spec.policy.cpu.scaleDown.halfLife",
  ],
  ["cpu with a percentile alone", { "spec.policy.cpu": { scaleDown: { percentile: 90 } } }],
  ["memory with words alone", { "spec.policy.memory": { oom: "raise" } }],
  [
    "a direction's negative cooldown",
    side({ scaleUp: { cooldown: "-1s" } }),
    "spec.policy.cpu.requests.scaleUp.cooldown",
  ],
  [
    "a direction's consecutiveSamples 0",
    { "spec.policy.scaleDown": { consecutiveSamples: 0 } },
    "spec.policy.scaleDown.consecutiveSamples",
  ],
  [
    "a direction's targetUtilization 101",
    side({ scaleUp: { targetUtilization: 101 } }),
    "spec.policy.cpu.requests.scaleUp.targetUtilization",
  ],
  [
    "a target of the policy",
    { "spec.policy.scaleUp": { targetUtilization: 50 } },
    "spec.policy.scaleUp.targetUtilization",
  ],
  ["a third direction", side({ scale: {} }), "spec.policy.cpu.requests.scale"],
];

export const BAD_MANIFESTS: readonly BadManifest[] = BAD.map(([sentence, edits, path]) => {
  return { sentence, manifest: toManifest(edits), path: path ?? Object.keys(edits)[0] ?? "" };
});

function side(fields: Readonly<Record<string, unknown>>): Edits {
  return { "spec.policy.cpu.requests": { ...SIDE, ...fields } };
}

function limits(fields: Readonly<Record<string, unknown>>): Edits {
  return { "spec.policy.cpu.limits": { ...SIDE, ...fields } };
}

function expression(requirement: unknown): Edits {
  return { [EXPRESSIONS]: [requirement], ...NO_TARGET };
}

function manyLabels(count: number): unknown {
  return Object.fromEntries(manyExpressions(count).map(({ key }) => [key, "x"]));
}

function manyExpressions(count: number): readonly { readonly key: string; readonly operator: string }[] {
  return Array.from({ length: count }, (_, index) => ({ key: `key${index}`, operator: "Exists" }));
}
