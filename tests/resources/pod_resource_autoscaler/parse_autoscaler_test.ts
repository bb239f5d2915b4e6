import { assert, assertEquals, assertStringIncludes } from "#assert";
import { parse } from "../../../lib/runtime/yaml.ts";
import fc from "fast-check";
import { parseAutoscaler } from "../../../lib/resources/pod_resource_autoscaler/parse.ts";
import type { Autoscaler } from "../../../lib/model/autoscaler.ts";
import type { Problem } from "../../../lib/units/untrusted.ts";
import { BAD_MANIFESTS } from "../../support/bad_manifests.ts";
import { GOOD_MANIFESTS } from "../../support/good_manifests.ts";
import { EXAMPLE, QUICK_START, toManifest } from "../../support/manifests.ts";
import { side } from "../../support/builders.ts";

for (const { sentence, manifest } of GOOD_MANIFESTS) {
  Deno.test(`parseAutoscaler() accepts ${sentence}`, () => assertEquals(problemsOf(manifest), []));
}

for (const { sentence, manifest, path } of BAD_MANIFESTS) {
  Deno.test(`parseAutoscaler() names ${path} when there is ${sentence}`, () => {
    const problems = problemsOf(manifest);
    assert(problems.some((problem) => isNamed(problem, path)), JSON.stringify(problems));
    assert(problems.every(({ message }) => message !== ""));
  });
}

Deno.test("C3 C36 parseAutoscaler() applies defaults and resolves what a side overrides", () => {
  const { autoscaler } = accept(toManifest({
    "metadata": { name: "web", namespace: "shop", uid: "u-1", generation: 7 },
    "spec.policy.memory.limits": {
      scaleUpThreshold: 90,
      scaleDownThreshold: 60,
      targetUtilization: 75,
      consecutiveSamples: 9,
      cooldown: "0s",
    },
  }));
  assertEquals(autoscaler, {
    namespace: "shop",
    name: "web",
    uid: "u-1",
    generation: 7,
    paused: false,
    priority: 0,
    target: { kind: "deployment", name: "web" },
    selector: null,
    containerName: "app",
    key: "u-1",
    isWildcard: false,
    excludeContainers: [],
    profile: null,
    mode: "apply",
    newPods: "template",
    veto: "all",
    oom: "raise",
    throttling: "measure",
    restartToShrink: false,
    pollIntervalMs: 10_000,
    cooldownMs: 120_000,
    after: "containerReady",
    delayMs: 15_000,
    sides: [
      side("cpu.requests", {
        scaleUpThresholdPercent: 80,
        scaleDownThresholdPercent: 50,
        targetUtilizationPercent: 70,
        consecutiveSamples: 3,
        cooldownMs: 120_000,
        bounds: { min: 100, max: 2000, step: 100, stepPercent: 25 },
      }),
      side("memory.limits", {
        scaleUpThresholdPercent: 90,
        scaleDownThresholdPercent: 60,
        targetUtilizationPercent: 75,
        consecutiveSamples: 9,
        cooldownMs: 0,
        down: { windowMs: 900_000 },
      }),
    ],
  });
});

Deno.test("parseAutoscaler() reads the documentation's example in full", () => {
  const { autoscaler, warnings } = accept(parse(EXAMPLE));
  assertEquals(autoscaler.sides.map(({ key }) => key), [
    "cpu.requests",
    "cpu.limits",
    "memory.requests",
    "memory.limits",
  ]);
  assertEquals(autoscaler.sides[3]?.bounds, {
    min: 300 * 2 ** 20,
    max: 3 * 2 ** 30,
    step: 64 * 2 ** 20,
    stepPercent: 25,
  });
  assertEquals([autoscaler.pollIntervalMs, autoscaler.cooldownMs, autoscaler.delayMs], [5_000, 120_000, 10_000]);
  const limits = ["spec.policy.cpu.limits.targetUtilization", "spec.policy.memory.limits.targetUtilization"];
  assertEquals(warnings.map(({ path }) => path), limits);
});

Deno.test("C2 parseAutoscaler() reads a kind as Kubernetes writes it as the kind in lower case", () => {
  const kinds = ["deployment", "daemonset", "statefulset", "Deployment", "DaemonSet", "StatefulSet"];
  const read = kinds.map((kind) => accept(toManifest({ "spec.target.kind": kind })).autoscaler.target?.kind);
  assertEquals(read, ["deployment", "daemonset", "statefulset", "deployment", "daemonset", "statefulset"]);
});

Deno.test("parseAutoscaler() gives the selector when there is no target", () => {
  const { autoscaler } = accept(toManifest({ "spec.target": undefined, "spec.selector.matchLabels": { app: "web" } }));
  assertEquals(autoscaler.target, null);
  assertEquals(autoscaler.selector?.source, { matchLabels: { app: "web" } });
});

Deno.test("parseAutoscaler() reads a file's object, which has no namespace, uid and generation", () => {
  const { autoscaler } = accept(toManifest({}));
  assertEquals([autoscaler.namespace, autoscaler.uid, autoscaler.generation], ["default", "", 0]);
});

Deno.test("C8 parseAutoscaler() finds every problem, each once", () => {
  const manifest = toManifest({
    "spec.paused": "yes",
    "spec.target.kind": "DEPLOYMENT",
    "spec.containerName": undefined,
    "spec.policy.cooldown": "1d",
    "spec.policy.cpu.requests.scaleUpThreshold": 250,
    "spec.policy.memory": {},
    "spec.bounds.cpu.requests.step": 0,
    "spec.bounds.storage": {},
  });
  assertEquals(problemsOf(manifest).map(({ path }) => path).sort(), [
    "spec.bounds.cpu.requests.step",
    "spec.bounds.storage",
    "spec.containerName",
    "spec.paused",
    "spec.policy.cooldown",
    "spec.policy.cpu.requests.scaleUpThreshold",
    "spec.policy.memory",
    "spec.target.kind",
  ]);
});

Deno.test("C8 parseAutoscaler() warns of a target outside its thresholds and accepts it", () => {
  const path = "spec.policy.cpu.requests.targetUtilization";
  const cases = { 49: true, 50: true, 51: false, 79: false, 80: true, 81: true };
  for (const [target, warned] of Object.entries(cases)) {
    const { warnings } = accept(toManifest({ [path]: Number(target) }));
    assertEquals(warnings.map((warning) => warning.path), warned ? [path] : [], target);
  }
  assertEquals(accept(parse(QUICK_START)).warnings.map((warning) => warning.path), [path]);
});

Deno.test("parseAutoscaler() warns of bounds for a side that the policy does not manage", () => {
  const { warnings } = accept(toManifest({ "spec.bounds.cpu.limits.max": "2", "spec.bounds.memory.requests": {} }));
  assertEquals(warnings.map(({ path }) => path), ["spec.bounds.cpu.limits", "spec.bounds.memory.requests"]);
});

Deno.test("C1 parseAutoscaler() refuses another kind, another version and metadata that no API server would store", () => {
  for (
    const [path, value] of Object.entries({
      "kind": "Deployment",
      "apiVersion": "keda.sh/v1alpha1",
      "metadata": undefined,
      "metadata.name": "Web",
      "metadata.namespace": 5,
      "metadata.uid": {},
      "metadata.generation": -1,
    })
  ) assertEquals(problemsOf(toManifest({ [path]: value })).map((problem) => problem.path), [path]);
});

Deno.test("parseAutoscaler() says what is wrong with its reason", () => {
  const cases = {
    "spec.policy.cpu.requests.scaleUpThreshold": [201, "Cannot use 201 as scaleUpThreshold: must be an integer from 1"],
    "spec.policy.cooldown": ["1d", `Cannot parse duration "1d": unknown unit "d"`],
    "spec.bounds.cpu.requests.max": ["2Q", `Cannot parse quantity "2Q": unknown suffix "Q"`],
    "spec.bounds.cpu.requests.min": ["3", `Cannot use min "3": greater than max "2"`],
    "spec.target.kind": ["Job", "must be one of deployment, daemonset, statefulset"],
  };
  for (const [path, [value, message]] of Object.entries(cases)) {
    assertStringIncludes(problemsOf(toManifest({ [path]: value }))[0]?.message ?? "", String(message));
  }
});

Deno.test("parseAutoscaler() bounds the list of problems of a hostile object", () => {
  const fields = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`field${index}`, 1]));
  assertEquals(problemsOf(toManifest({ "spec": fields })).length, 100);
});

Deno.test("parseAutoscaler() takes names of an object's prototype for the unknown fields they are", () => {
  const manifest = JSON.parse(`{"metadata":{"name":"web"},"spec":{"__proto__":{"paused":true},"toString":1}}`);
  const paths = problemsOf(manifest).map(({ path }) => path);
  assert(paths.includes("spec.__proto__") && paths.includes("spec.toString"), paths.join());
});

Deno.test("parseAutoscaler() never throws, and is ok or has problems, for any value", () => {
  fc.assert(fc.property(fc.anything({ withBigInt: true, withNullPrototype: true }), (value) => {
    const parsed = parseAutoscaler(value);
    return parsed.ok || parsed.problems.length > 0;
  }));
});

Deno.test("parseAutoscaler() never throws when any one field of a manifest holds any value", () => {
  const paths = [...leafPaths(parse(EXAMPLE)), ...leafPaths(toManifest({ "spec.selector.matchExpressions": [] }))];
  fc.assert(
    fc.property(fc.constantFrom(...paths), fc.oneof(fc.jsonValue(), fc.string(), fc.integer()), (path, value) => {
      const parsed = parseAutoscaler(toManifest({ [path]: value }));
      return parsed.ok || parsed.problems.every((problem) => problem.message !== "");
    }),
    { numRuns: 1_000 },
  );
});

function accept(manifest: unknown): { readonly autoscaler: Autoscaler; readonly warnings: readonly Problem[] } {
  const parsed = parseAutoscaler(manifest);
  assert(parsed.ok, JSON.stringify(parsed));
  return parsed;
}

function problemsOf(manifest: unknown): readonly Problem[] {
  const parsed = parseAutoscaler(manifest);
  return parsed.ok ? [] : parsed.problems;
}

/** A problem may be deeper than the field that is wrong in the manifest. */
function isNamed({ path }: Problem, expected: string): boolean {
  return path === expected || path.startsWith(`${expected}.`);
}

/** Every path into a manifest, of objects and of what they hold. */
function leafPaths(value: unknown, prefix = ""): readonly string[] {
  if (typeof value !== "object" || value === null) return [prefix];
  const below = Object.entries(value).flatMap(([key, inner]) => leafPaths(inner, prefix ? `${prefix}.${key}` : key));
  return prefix === "" ? below : [prefix, ...below];
}
