/** The tolerance (R36). */
import { assertEquals } from "#assert";
import { isWithin, toTolerance } from "../../../lib/horizontal/replica_calculator.ts";
import { behavior } from "../../support/tick_builders.ts";

Deno.test("toTolerance() is a tenth where the behavior says nothing, in each direction its own (R36)", () => {
  assertEquals(toTolerance(null), { up: 0.1, down: 0.1 });
  assertEquals(toTolerance(behavior()), { up: 0.1, down: 0.1 });
  assertEquals(toTolerance(behavior({ tolerance: 0.5 })), { up: 0.5, down: 0.1 });
  assertEquals(toTolerance(behavior({}, { tolerance: 0 })), { up: 0.1, down: 0 });
});

Deno.test("isWithin() has both ends within, and neither infinity nor what is not a number (R36)", () => {
  const tolerance = { up: 0.1, down: 0.1 };
  assertEquals([0.9, 1.1, 0.89, 1.11, Infinity, NaN].map((ratio) => isWithin(ratio, tolerance)), [
    ...[true, true],
    ...[false, false, false, false],
  ]);
});
