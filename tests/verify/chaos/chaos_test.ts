/** The short form of `deno task chaos`: each scenario of virtual time, once, under one seed. */
import { assertEquals } from "#assert";
import { SCENARIOS } from "./scenarios/all.ts";
import { describeFailures, play, Stage, summarize } from "./stage.ts";

for (const scenario of SCENARIOS.filter(({ isShort }) => isShort)) {
  Deno.test(`podfit recovers by itself, and resizes nothing wrongly or twice: ${scenario.about}`, async () => {
    const stage = await play(scenario, { seed: "podfit", isShort: true });
    assertEquals(describeFailures([stage]), []);
  });
}

Deno.test("summarize() adds up what stages noted, and a size decided on stale data is a wrong one", () => {
  const stage = new Stage("one", { seed: "a" });
  stage.note({ name: "a", recoveredMs: 1234, withinMs: 5000 });
  stage.note({ name: "b", recoveredMs: 5000, withinMs: 5000, why: "it hangs" });
  stage.broke("wrong size", "x");
  stage.broke("stale resize", "y");
  stage.broke("double resize", "z");
  assertEquals(summarize([stage]), "faults: 2, recovered: 1, slowest: 1.2 s, wrong sizes: 2, double resizes: 1");
  assertEquals(describeFailures([stage]), [
    "NOT RECOVERED one: b, within 5 s: it hangs",
    "WRONG SIZE one: x",
    "STALE RESIZE one: y",
    "DOUBLE RESIZE one: z",
  ]);
});
