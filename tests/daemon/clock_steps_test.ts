/**
 * The wall clock of podfit alone is set: durations stay as long as before.
 * Clauses: C22, C42.
 */
import { assertEquals } from "#assert";
import { podObject } from "../support/api_objects.ts";
import { busyRun, Run } from "../support/daemon_run.ts";

const TWO_HOURS_MS = 7_200_000;

function setClock(run: Run, byMs: number): void {
  run.clock.setNow(run.clock.now() + byMs);
  run.kubelet.aheadMs -= byMs;
}

for (const byMs of [TWO_HOURS_MS, -TWO_HOURS_MS]) {
  const how = `${byMs > 0 ? "forward" : "back"} by two hours`;

  Deno.test(`a wall clock that is set ${how} ends no usage, and no event says so (C22)`, async () => {
    const pods = Array.from({ length: 5 }, (_, index) => podObject({ name: `web-${index}` }));
    await using run = new Run({ pods });
    run.kubelet.measuresEveryMs = 17_000;
    run.use(Object.fromEntries(pods.map(({ metadata }) => [metadata.name, { cpu: 60 }])));
    await run.advance(303);
    for (const stepMs of [byMs, -byMs]) {
      setClock(run, stepMs);
      await run.advance(120);
    }
    assertEquals([run.events, run.condition("Metrics"), run.resizes.length], [[], "True Available", 0]);
  });

  Deno.test(`a wall clock that is set ${how} ends no streak, and neither shortens nor stretches a cooldown (C31, C42)`, async () => {
    await using run = busyRun();
    await run.advance(7);
    setClock(run, byMs);
    await run.advance(5);
    assertEquals(run.cpu(), "250m", "the second sample in a row");
    setClock(run, byMs);
    run.use({ "web-1": { cpu: 240 } });
    await run.advance(55);
    assertEquals(run.resizes.length, 1);
    await run.advance(15);
    assertEquals([run.resizes.length, run.cpu()], [2, "400m"]);
  });
}

Deno.test("a node that falls silent is told of after a minute, whatever the wall clock does meanwhile (C22)", async () => {
  await using run = new Run();
  await run.advance(30);
  run.kubelet.failure = "no route to host";
  for (let minute = 0; minute < 2; minute++) {
    setClock(run, TWO_HOURS_MS * (minute === 0 ? 1 : -1));
    await run.advance(50);
    assertEquals(run.events, minute === 0 ? [] : ["MetricsUnavailable x1"]);
  }
});
