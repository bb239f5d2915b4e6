/** Manifests that the parser and the API server accept: a sentence each, and what differs from the base. */
import { parse } from "../../lib/runtime/yaml.ts";
import {
  DOWN,
  type Edits,
  EXAMPLE,
  EXPRESSIONS,
  LABELS,
  type Manifest,
  MAX,
  MIN,
  NO_TARGET,
  QUICK_START,
  SIDE,
  STEP,
  STEP_PERCENT,
  TARGET,
  toManifest,
  UP,
} from "./manifests.ts";

export interface GoodManifest {
  readonly sentence: string;
  readonly manifest: Manifest;
}

type GoodRow = readonly [sentence: string, edits: Edits];

const GOOD: readonly GoodRow[] = [
  ["the base", {}],
  ["a target of kind daemonset", { "spec.target.kind": "daemonset" }],
  ["a target of kind statefulset", { "spec.target.kind": "statefulset" }],
  ["a target whose name has dots", { "spec.target.name": "web.v2" }],
  ["the longest name of a target", { "spec.target.name": "a".repeat(253) }],
  ["the longest name of a container", { "spec.containerName": "a".repeat(63) }],
  ["a selector of labels", { ...NO_TARGET, [LABELS]: { "app.kubernetes.io/name": "web", tier: "" } }],
  ["a selector of every operator", {
    ...NO_TARGET,
    [EXPRESSIONS]: [
      { key: "tier", operator: "In", values: ["front", "back"] },
      { key: "track", operator: "NotIn", values: ["canary"] },
      { key: "example.com/team", operator: "Exists" },
      { key: "legacy", operator: "DoesNotExist", values: [] },
    ],
  }],
  ["a selector with an empty list beside its labels", { ...NO_TARGET, [LABELS]: { app: "web" }, [EXPRESSIONS]: [] }],
  ["a selector with a null label beside another", { ...NO_TARGET, [LABELS]: { app: "web", tier: null } }],
  ["20 labels", { ...NO_TARGET, [LABELS]: Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`k${n}`, "v"])) }],
  ["the longest label key", { ...NO_TARGET, [LABELS]: { [`${"a".repeat(253)}/${"b".repeat(63)}`]: "v" } }],
  ["paused, with a negative priority", { "spec.paused": true, "spec.priority": -2147483648 }],
  ["the highest priority", { "spec.priority": 2147483647 }],
  ["no wait at all", { "spec.policy.cooldown": "0s", "spec.policy.delay": "0s" }],
  ["a bare 0 as duration, which Go reads", { "spec.policy.cooldown": "0", "spec.policy.delay": "0" }],
  ["a duration of several units", { "spec.policy.cooldown": "1h2m3.5s" }],
  ["durations with fractions", { "spec.policy.cooldown": "1.5h", "spec.policy.delay": ".5m" }],
  ["small units", { "spec.policy.pollInterval": "500ms", "spec.policy.delay": "1us2µs3ns" }],
  ["a duration with a plus sign", { "spec.policy.cooldown": "+30s" }],
  ["after running", { "spec.policy.after": "running" }],
  ["after podReady", { "spec.policy.after": "podReady" }],
  ["all four sides", { "spec.policy.cpu": both(SIDE), "spec.policy.memory": both(SIDE) }],
  ["memory alone, its limits alone", {
    "spec.policy.cpu": undefined,
    "spec.policy.memory": { limits: SIDE },
    "spec.bounds": undefined,
  }],
  ["a side's own consecutiveSamples and cooldown", {
    "spec.policy.cpu.requests.consecutiveSamples": 1,
    "spec.policy.cpu.requests.cooldown": "0s",
  }],
  ["the widest thresholds", { [UP]: 200, [DOWN]: 0, [TARGET]: 100 }],
  ["the highest thresholds", { [UP]: 200, [DOWN]: 199, [TARGET]: 100 }],
  ["the narrowest thresholds", { [UP]: 1, [DOWN]: 0, [TARGET]: 1 }],
  ["a target above its thresholds", { [TARGET]: 90 }],
  ["a target below its thresholds", { [TARGET]: 10 }],
  ["no bounds", { "spec.bounds": undefined }],
  ["bounds of a side without any", { "spec.bounds.cpu.requests": {} }],
  ["bounds of a side that is not managed", { "spec.bounds.memory.limits": { max: "1Gi" } }],
  ["quantities as integers", { [MIN]: 1, [MAX]: 4, [STEP]: 1 }],
  ["min equal to max in another notation", { [MIN]: "1000m", [MAX]: 1 }],
  ["a min of 0", { [MIN]: 0 }],
  ["quantities with fractions, exponents and signs", { [MIN]: "0.1", [MAX]: "2e1", [STEP]: "+.5" }],
  ["memory in decimal and binary units", { "spec.bounds.memory.requests": { min: "100M", max: "1Ti", step: "64Ki" } }],
  ["stepPercent at its ends", { [STEP_PERCENT]: 1, "spec.bounds.memory.limits.stepPercent": 100 }],
  ["null for what is optional", {
    "spec.paused": null,
    "spec.priority": null,
    "spec.selector": null,
    "spec.policy.after": null,
    "spec.policy.delay": null,
    "spec.policy.memory": null,
    "spec.policy.cpu.limits": null,
    "spec.policy.cpu.requests.consecutiveSamples": null,
    "spec.policy.cpu.requests.cooldown": null,
    [MIN]: null,
    [STEP_PERCENT]: null,
    "spec.bounds.memory": null,
  }],
  ["null for bounds", { "spec.bounds": null }],
  ["L50: a target and a profile alone", {
    "spec": { target: { kind: "deployment", name: "web" }, profile: "balanced" },
  }],
  ["L50: a profile with one container", { ...profile("latency"), "spec.containerName": "app" }],
  ["L50: a profile with an empty policy", { ...profile("thrifty"), "spec.policy": {} }],
  ["L50: a profile with null for what it fills in", {
    ...profile("balanced"),
    "spec.policy": { pollInterval: null, cooldown: null, cpu: null, memory: { requests: null } },
    "spec.containerName": null,
  }],
  ["L50: a profile with parts of resources and sides", {
    ...profile("balanced"),
    "spec.policy": {
      cpu: { throttling: "ignore", scaleDown: { percentile: 90, halfLife: "5m" }, limits: { targetUtilization: 50 } },
      memory: { oom: "ignore", requests: {}, limits: { scaleDown: { window: "1h" } } },
    },
  }],
  ["L50: a profile with containers left out", { ...profile("balanced"), "spec.excludeContainers": ["proxy"] }],
  ["L50: every container by *", { "spec.containerName": "*" }],
  ["L50: every container by * but two", { "spec.containerName": "*", "spec.excludeContainers": ["proxy", "log"] }],
  ["no container left out", { "spec.excludeContainers": [] }],
  ["recommend", { "spec.mode": "recommend" }],
  ["apply", { "spec.mode": "apply" }],
  ["inherit", { "spec.newPods": "inherit" }],
  ["the template's size", { "spec.newPods": "template" }],
  ["a veto of the resource", { "spec.policy.veto": "resource" }],
  ["a veto of all", { "spec.policy.veto": "all" }],
  ["L70: a number of pods that may restart", { "spec.policy.maxUnavailable": 3 }],
  ["L70: a share of pods that may restart", { "spec.policy.maxUnavailable": "50%" }],
  ["L70: no pod that may restart", { "spec.policy.maxUnavailable": 0 }],
  ["what memory does on a restart and a kill", {
    "spec.policy.memory": { requests: SIDE, restartToShrink: true, oom: "ignore" },
  }],
  ["usage alone", { "spec.policy.cpu.throttling": "ignore" }],
  ["directions of the policy", {
    "spec.policy.scaleUp": { consecutiveSamples: 1, cooldown: "0s" },
    "spec.policy.scaleDown": { consecutiveSamples: 5, cooldown: "10m", window: "24h" },
  }],
  ["directions of a side", {
    "spec.policy.memory.limits": {
      ...SIDE,
      scaleUp: { targetUtilization: 60, consecutiveSamples: 1, cooldown: "0s" },
      scaleDown: { targetUtilization: 70, consecutiveSamples: 5, cooldown: "10m", window: "0s" },
    },
  }],
  ["directions that say nothing", { "spec.policy.scaleUp": {}, "spec.policy.cpu.requests.scaleDown": {} }],
  ["a percentile", { "spec.policy.cpu.scaleDown": { percentile: 50 } }],
  ["a percentile and its half-life", { "spec.policy.cpu.scaleDown": { percentile: 100, halfLife: "1m" } }],
  ["a side's half-life of the resource's percentile", {
    "spec.policy.cpu.scaleDown": { percentile: 95 },
    "spec.policy.cpu.requests.scaleDown": { halfLife: "24h" },
  }],
  ["a side's percentile", { "spec.policy.cpu.requests.scaleDown": { percentile: 90, halfLife: "30m" } }],
];

export const GOOD_MANIFESTS: readonly GoodManifest[] = [
  { sentence: "the documentation's example", manifest: parse(EXAMPLE) as Manifest },
  { sentence: "the documentation's quick start", manifest: parse(QUICK_START) as Manifest },
  ...GOOD.map(([sentence, edits]) => ({ sentence, manifest: toManifest(edits) })),
];

/** Edits that leave what only a profile allows to leave out. */
function profile(name: string): Edits {
  return { "spec.containerName": undefined, "spec.policy": undefined, "spec.profile": name };
}

function both(side: unknown): unknown {
  return { requests: side, limits: side };
}
