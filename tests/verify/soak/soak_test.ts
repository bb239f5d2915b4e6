/** The short form of `deno task soak`: five virtual minutes of 50 pods, with one fault. */
import { assert, assertEquals } from "#assert";
import { growth, soak } from "./soak.ts";

Deno.test("podfit's counters agree with what the API server saw, through pods that come and go and a fault", async () => {
  const { faults, disagreements, complaints, timers } = await soak({ minutes: 5, pods: 50, seed: "short" });
  assertEquals({ faults, disagreements, complaints }, { faults: 1, disagreements: [], complaints: [] });
  assert(timers > 0);
});

Deno.test("growth() is that from the second quarter to the last, and none where nothing was measured", () => {
  assertEquals(growth([1, 10, 99, 11]), 10.000000000000009);
  assertEquals(growth([500, 8, 8, 8]), 0);
  assertEquals(growth([NaN, NaN, NaN, NaN]), null);
});
