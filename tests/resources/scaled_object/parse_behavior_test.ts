/** What parseScaledObject() makes of a behavior: filled in field by field as the API server does it (R5). */
import { assert, assertEquals } from "#assert";
import type { Behavior } from "../../../lib/model/scaled_object.ts";
import { parseScaledObject } from "../../../lib/resources/scaled_object/scaled_object.ts";
import type { Edits } from "../../support/manifests.ts";
import { DOWN, toScaledObject, UP } from "../../support/scaled_objects.ts";

const POLICIES = {
  up: [{ type: "Pods", value: 4, periodMs: 15_000 }, { type: "Percent", value: 100, periodMs: 15_000 }],
  down: [{ type: "Percent", value: 100, periodMs: 15_000 }],
};
const FILLED_UP = { windowMs: 0, select: "Max", policies: POLICIES.up, tolerance: null };
const FILLED_DOWN = { windowMs: 300_000, select: "Max", policies: POLICIES.down, tolerance: null };
const CONFIG = "spec.advanced.horizontalPodAutoscalerConfig";

Deno.test("parseScaledObject() fills in nothing where there is no behavior, and all where it is empty (R5)", () => {
  assertEquals(parse({}), null);
  assertEquals(parse({ [CONFIG]: { name: "a" } }), null);
  assertEquals(parse({ [CONFIG]: { behavior: null } }), null);
  for (const behavior of [{}, { scaleUp: {} }, { scaleDown: {} }, { scaleUp: null, scaleDown: {} }]) {
    assertEquals(parse({ [CONFIG]: { behavior } }) as unknown, { scaleUp: FILLED_UP, scaleDown: FILLED_DOWN });
  }
});

Deno.test("parseScaledObject() fills in each field of a direction for itself (R5)", () => {
  const policies = [{ type: "Percent", value: 10, periodSeconds: 60 }];
  const read = [{ type: "Percent", value: 10, periodMs: 60_000 }];
  const cases: readonly (readonly [Edits, unknown, unknown])[] = [
    [{ [UP]: { stabilizationWindowSeconds: 60 } }, { ...FILLED_UP, windowMs: 60_000 }, FILLED_DOWN],
    [{ [DOWN]: { stabilizationWindowSeconds: 0 } }, FILLED_UP, { ...FILLED_DOWN, windowMs: 0 }],
    [{ [UP]: { selectPolicy: "Disabled" } }, { ...FILLED_UP, select: "Disabled" }, FILLED_DOWN],
    [{ [DOWN]: { selectPolicy: "Min" } }, FILLED_UP, { ...FILLED_DOWN, select: "Min" }],
    [{ [UP]: { policies } }, { ...FILLED_UP, policies: read }, FILLED_DOWN],
    [{ [DOWN]: { policies } }, FILLED_UP, { ...FILLED_DOWN, policies: read }],
    [{ [UP]: { policies: [] } }, FILLED_UP, FILLED_DOWN],
  ];
  for (const [edits, scaleUp, scaleDown] of cases) assertEquals(parse(edits) as unknown, { scaleUp, scaleDown });
});

Deno.test("parseScaledObject() reads a tolerance as the double that the controller computes with (R5)", () => {
  const read = (tolerance: unknown) => parse({ [UP]: { tolerance } })?.scaleUp.tolerance;
  // What Go's AsApproximateFloat64 gives for 50m, 7m, 9m, 500u and 1500m.
  assertEquals(["0.05", "7m", "0.009", "0.0005", "1500m", 0, 1, "2k"].map(read), [
    0.05,
    0.007,
    0.009000000000000001,
    0.0005,
    1.5,
    0,
    1,
    2000,
  ]);
});

function parse(edits: Edits): Behavior | null {
  const { scaledObject, problems } = parseScaledObject(toScaledObject(edits));
  assert(scaledObject !== null, JSON.stringify(problems));
  return scaledObject.behavior;
}
