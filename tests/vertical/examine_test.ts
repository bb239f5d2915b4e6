/**
 * `explainSize` shows the same as `decideSize` decides.
 */
import { assert, assertEquals } from "#assert";
import { explainSize } from "../../lib/vertical/explain.ts";
import { GATES } from "../../lib/vertical/gates/gates.ts";
import { CAPS } from "../../lib/vertical/sizing/caps.ts";
import { ExplainRun } from "../support/explain_run.ts";

Deno.test("explainSize() comes to the decision of each evaluation that made one, and its first objection is the reason", async () => {
  await using run = await ExplainRun.start({ spec: { bounds: { cpu: { requests: { max: "600m" } } } } });
  await run.advance(30);
  run.use(300);
  await run.resized(1);
  run.use(1900);
  await run.advance(300);
  const seen = new Set<string>();
  for (const { record: { input, outcome: { state, decisions } } } of run.lines.pod("web")) {
    const [made] = decisions;
    if (made === undefined) continue;
    const [examined] = explainSize(state, input);
    assertEquals(examined?.decision, made.decision);
    const { decision } = made;
    const wanted = examined?.trials.find(({ isWanted }) => isWanted);
    const first = wanted?.gates.find(({ objection }) => objection !== null)?.objection ?? null;
    if (wanted !== undefined && decision.kind !== "revert") {
      assertEquals(first?.reason ?? "scaleUp", decision.kind === "resize" ? decision.action : decision.reason);
    }
    seen.add(decision.kind === "hold" || decision.kind === "blocked" ? decision.reason : decision.kind);
  }
  for (const reason of ["InBand", "StreakShort", "resize", "Warmup", "Cooldown", "AtBound"]) {
    assert(seen.has(reason), reason);
  }
});

Deno.test("explainSize() asks every gate and every cap in their order, whatever the first one says", async () => {
  await using run = await ExplainRun.start();
  await run.advance(30);
  run.use(300);
  await run.resized(1);
  run.use(1900);
  await run.advance(60);
  const newest = run.lines.pod("web").at(-1);
  assert(newest !== undefined);
  const { input, outcome } = newest.record;
  // As with --dry-run.
  const [examined] = explainSize(outcome.state, { ...input, dryRun: true });
  const [trial] = examined?.trials ?? [];
  assertEquals(trial?.gates.map(({ gate }) => gate), Object.keys(GATES));
  const objecting = trial?.gates.filter(({ objection }) => objection !== null).map(({ gate }) => gate);
  assertEquals(objecting, ["cooledDown", "notDryRun"]);
  assertEquals(trial?.caps.map(({ cap }) => cap), Object.keys(CAPS));
});

Deno.test("explainSize() of a pod in its band says what would come of leaving it, in both directions", async () => {
  await using run = await ExplainRun.start();
  await run.advance(40);
  const newest = run.lines.pod("web").at(-1);
  assert(newest !== undefined);
  const { input, outcome } = newest.record;
  const [examined] = explainSize(outcome.state, input);
  const moves = examined?.trials.map((
    { direction, isWanted, candidate: { to } },
  ) => [direction, isWanted, to["cpu.requests"]]);
  assertEquals(moves, [["up", false, 134], ["down", false, 17]]);
});
