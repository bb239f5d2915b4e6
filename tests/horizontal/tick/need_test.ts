/** What all triggers together ask for (R40). */
import { assert, assertEquals } from "#assert";
import { chooseNeed, type ReplicasProposal } from "../../../lib/horizontal/replica_calculator.ts";
import { failed, proposal } from "../../support/tick_builders.ts";

function need(proposals: readonly ReplicasProposal[], replicas = 5): number | null {
  const found = chooseNeed(proposals, replicas);
  return found.kind === "need" ? found.need : null;
}

Deno.test("chooseNeed() takes the largest proposal, and the first of those that are equal (R40)", () => {
  const found = chooseNeed([proposal(3), proposal(8), { ...proposal(8), ratio: 2 }, proposal(4)], 5);
  assert(found.kind === "need");
  assertEquals([found.need, found.index, found.decider.ratio], [8, 1, 1]);
});

Deno.test("chooseNeed() goes on with a failure where replicas would not fall (R40, E11)", () => {
  assertEquals([3, 4, 5, 8].map((asked) => need([failed(), proposal(asked)])), [null, null, 5, 8]);
});

Deno.test("chooseNeed() lets replicas fall where nothing failed (R40)", () => {
  assertEquals(need([proposal(3), proposal(2)]), 3);
});

Deno.test("chooseNeed() finds no need where all failed, and has the first one's reason (R40)", () => {
  const first = { kind: "failed", reason: "FailedGetResourceMetric", message: "no pods" } as const;
  assertEquals(chooseNeed([first, failed()], 5), {
    kind: "invalid",
    reason: "FailedGetResourceMetric",
    message: "the HPA was unable to compute the replica count: no pods",
    cause: "invalid metrics (2 invalid out of 2), first error is: no pods",
  });
});

Deno.test("chooseNeed() counts the failures among all triggers (R40)", () => {
  const found = chooseNeed([proposal(1), failed("a"), proposal(2), failed("b")], 5);
  assert(found.kind === "invalid");
  assertEquals(found.cause, "invalid metrics (2 invalid out of 4), first error is: a");
});

Deno.test("chooseNeed() needs no less than nothing (R40)", () => {
  assertEquals(need([proposal(-3)]), 0);
});

Deno.test("chooseNeed() finds no need without triggers (R40)", () => {
  assertEquals(need([]), null);
});
