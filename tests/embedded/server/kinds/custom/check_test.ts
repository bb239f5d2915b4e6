/**
 * What the schema of a definition finds wrong with an object. The answers of the table are those of Kubernetes 1.36.3 to
 * the same manifests, word for word.
 */
import { assertEquals } from "#assert";
import { prune } from "../../../../../lib/embedded/server/kinds/custom_types.ts";
import type { Json } from "../../../../support/api_objects.ts";
import { readDefinition } from "../../../../support/definition.ts";
import { createChecks } from "../../../../support/embedded/custom/check.ts";
import {
  DOWN,
  type Edits,
  EXPRESSIONS,
  LABELS,
  MAX,
  MIN,
  NO_TARGET,
  toManifest,
  UP,
} from "../../../../support/manifests.ts";

const SCHEMA = readDefinition<Json>("podresourceautoscaler").spec.versions[0].schema.openAPIV3Schema;
const CHECKS = createChecks(SCHEMA);

type Cause = readonly [field: string, reason: string, message: string];

const UNCHECKED: Cause = [
  "<nil>",
  "Invalid",
  "Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing " +
  "errors to complete validation",
];

const ANSWERS: Readonly<Record<string, readonly [edits: Edits, causes: readonly Cause[]]>> = {
  "a missing field": [{ "spec.target.name": undefined }, [
    ["spec.target.name", "Required", "Required value"],
    UNCHECKED,
  ]],
  "a text that is empty, by structure and by rule": [{ "spec.containerName": "" }, [
    ["spec.containerName", "Invalid", 'Invalid value: "": spec.containerName in body should be at least 1 chars long'],
    [
      "spec.containerName",
      "Invalid",
      'Invalid value: "": containerName must be the name of a container, such as my-app: lower case letters, digits ' +
      'and "-", or "*" for every container',
    ],
  ]],
  "a text that is too long, once": [{ [LABELS]: { app: "a!".repeat(32) }, ...NO_TARGET }, [
    [`${LABELS}.app`, "TooLong", "Too long: may not be more than 63 bytes"],
    UNCHECKED,
  ]],
  "a text that matches no pattern, as Go quotes it": [{ [LABELS]: { app: "\u0000" }, ...NO_TARGET }, [
    [
      `${LABELS}.app`,
      "Invalid",
      `Invalid value: "\\x00": ${LABELS}.app in body should match '^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$'`,
    ],
  ]],
  "another type": [{ "spec.paused": "true" }, [
    ["spec.paused", "TypeInvalid", 'Invalid value: "string": spec.paused in body must be of type boolean: "string"'],
    UNCHECKED,
  ]],
  "a fraction, by type and by format": [{ "spec.priority": 1.5 }, [
    [
      "spec.priority",
      "TypeInvalid",
      'Invalid value: "float64": spec.priority in body must be of type int32: "float64"',
    ],
    ["<nil>", "Invalid", 'Invalid value: "": Checked value must be of type integer with format int32 in spec.priority'],
    UNCHECKED,
  ]],
  "an integer that its format has no room for, which blocks no rule": [{ "spec.priority": 2147483648 }, [
    ["<nil>", "Invalid", 'Invalid value: "": Checked value must be of type integer with format int32 in spec.priority'],
    [
      "spec.priority",
      "Invalid",
      "Invalid value: 2147483648: spec.priority in body should be less than or equal to 2147483647",
    ],
  ]],
  "a number out of bounds": [{ [DOWN]: -1 }, [
    [DOWN, "Invalid", `Invalid value: -1: ${DOWN} in body should be greater than or equal to 0`],
  ]],
  "a number beyond any integer": [{ [UP]: 1e19 }, [
    [UP, "TypeInvalid", `Invalid value: "float64": ${UP} in body must be of type int32: "float64"`],
    ["<nil>", "Invalid", `Invalid value: "": Checked value must be of type integer with format int32 in ${UP}`],
    [UP, "Invalid", `Invalid value: 1e+19: ${UP} in body should be less than or equal to 200`],
    UNCHECKED,
  ]],
  "neither an integer nor a text": [{ [MAX]: 1.5 }, [
    [MAX, "TypeInvalid", `Invalid value: "number": ${MAX} in body must be of type integer,string: "number"`],
    ["<nil>", "Invalid", `Invalid value: "": "${MAX}" must validate at least one schema (anyOf)`],
    [MAX, "TypeInvalid", `Invalid value: "number": ${MAX} in body must be of type integer: "number"`],
    ["<nil>", "Invalid", `Invalid value: "": Checked value must be of type integer (default format) in ${MAX}`],
    UNCHECKED,
  ]],
  "a word that is not listed": [{ "spec.target.kind": "job" }, [
    [
      "spec.target.kind",
      "NotSupported",
      'Unsupported value: "job": supported values: "deployment", "daemonset", "statefulset", ' +
      '"Deployment", "DaemonSet", "StatefulSet"',
    ],
    UNCHECKED,
  ]],
  "too many items": [{ [EXPRESSIONS]: Array(101).fill({ key: "a", operator: "Exists" }), ...NO_TARGET }, [
    [EXPRESSIONS, "TooMany", "Too many: 101: must have at most 20 items"],
    UNCHECKED,
  ]],
  "a rule of a text, with the text": [{ [MAX]: "9001G" }, [[
    MAX,
    "Invalid",
    'Invalid value: "9001G": max must be less than 9T',
  ]]],
  "a rule of an integer, with the integer": [{ [MIN]: undefined, [MAX]: -1 }, [
    [MAX, "Invalid", "Invalid value: -1: max must not be negative"],
  ]],
  "a rule of an object, at a field of it": [{ [UP]: 40 }, [
    [UP, "Invalid", "Invalid value: scaleUpThreshold must be greater than scaleDownThreshold"],
  ]],
  "a rule with a reason of its own": [{ "spec.selector": { matchLabels: { app: "web" } } }, [
    ["spec.selector", "Forbidden", "Forbidden: selector must not be set together with target: keep one of them"],
  ]],
  "a rule of an item of a list": [{ [EXPRESSIONS]: [{ key: "a", operator: "In" }], ...NO_TARGET }, [
    [
      `${EXPRESSIONS}[0].values`,
      "Required",
      "Required value: values must have at least one entry for operator In or NotIn",
    ],
  ]],
  "a rule that cannot be evaluated": [{ "spec.policy.cooldown": "9999999h" }, [
    [
      "spec.policy.cooldown",
      "Invalid",
      "Invalid value: \"string\": type conversion error from 'string' to 'google.protobuf.Duration' evaluating rule: " +
      "cooldown must be shorter than 292 years",
    ],
  ]],
};

for (const [name, [edits, causes]] of Object.entries(ANSWERS)) {
  Deno.test(`check() reports ${name} (C7)`, () => {
    assertEquals(toCauses(CHECKS.check(toPruned(edits), null)), sorted(causes));
  });
}

Deno.test("check() finds nothing wrong with what the rules read in each of its notations (C2, C7)", () => {
  for (const delay of ["0", "+0s", "1\u03bcs", "1\u00b5s", ".5s", "5.s", "1h1m1.5s"]) {
    assertEquals(CHECKS.check(toPruned({ "spec.policy.delay": delay }), null), [], delay);
  }
  for (const max of [4, "4", "4000m", "4e0", "0.004k"]) {
    assertEquals(CHECKS.check(toPruned({ [MAX]: max }), null), [], String(max));
  }
});

Deno.test("check() lets an update keep what an older schema let through, and nothing else", () => {
  const bad = toPruned({ "spec.containerName": "", [MIN]: "3", [UP]: 40 });
  const labelled = { ...bad, metadata: { ...bad.metadata, labels: { a: "b" } } };
  assertEquals(CHECKS.check(labelled, bad), []);
  const next = toPruned({ "spec.containerName": "", [MIN]: "4", [UP]: 40 });
  assertEquals(CHECKS.check(next, bad).map(({ field }) => field), [MIN]);
});

Deno.test("checkStatus() checks the status alone, and names its fields from there (C5)", () => {
  const before = toPruned({ "spec.containerName": "" });
  const condition = {
    type: "Ready",
    status: "True",
    reason: "Valid",
    message: "",
    lastTransitionTime: "2026-01-02T03:04:05Z",
  };
  const ask = (status: Json) => toCauses(CHECKS.checkStatus({ ...before, status }, before));
  assertEquals(
    ask({ conditions: [condition], observedGeneration: 1, lastScaleTime: "2026-01-02T03:04:05.5+02:00" }),
    [],
  );
  assertEquals(ask({ conditions: [{ ...condition, reason: "" }] }), [[
    "status.conditions[0].reason",
    "Invalid",
    'Invalid value: "": conditions[0].reason in body should be at least 1 chars long',
  ]]);
  assertEquals(ask({ conditions: [condition, condition] }), [[
    "status.conditions[1]",
    "Duplicate",
    'Duplicate value: {"type":"Ready"}',
  ]]);
  assertEquals(ask({ lastScaleTime: "soon" })[1], [
    "status.lastScaleTime",
    "TypeInvalid",
    'Invalid value: "soon": lastScaleTime in body must be of type date-time: "soon"',
  ]);
  assertEquals(ask({ observedGeneration: 1.5 })[1], [
    "status",
    "Invalid",
    'Invalid value: "": Checked value must be of type integer with format int64 in observedGeneration',
  ]);
  assertEquals(ask("text")[1], [
    "status",
    "TypeInvalid",
    'Invalid value: "string":  in body must be of type object: "string"',
  ]);
});

function toPruned(edits: Edits): Json {
  const { apiVersion, kind, metadata, ...own } = toManifest(edits) as Json;
  return { apiVersion, kind, metadata, ...prune(own, SCHEMA) as Json };
}

function toCauses(problems: readonly { field: string; reason: string; message: string }[]): readonly Cause[] {
  return sorted(
    problems.map(({ field, reason, message }): Cause => [field, reason.replace("FieldValue", ""), message]),
  );
}

/** A real server walks through maps in no order. */
function sorted(causes: readonly Cause[]): readonly Cause[] {
  return causes.toSorted((a, b) => a.join() < b.join() ? -1 : 1);
}
