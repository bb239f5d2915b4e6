/**
 * An API server that answers a PATCH late delays only the next resize of that pod.
 * Clauses: C20, C23.
 */
import { assertEquals } from "#assert";
import type { EvaluationSink } from "../../lib/daemon/pods/controller.ts";
import { podObject } from "../support/api_objects.ts";
import { busyRun, type Run } from "../support/daemon_run.ts";

const SLOW_MS = 9_000;

/** Answers the PATCH of "web-1" after 9 s. */
function slowDown(run: Run): void {
  run.api.intercept = async ({ path }) => {
    if (path.endsWith("/web-1/resize")) await run.clock.sleep(SLOW_MS);
    return null;
  };
}

const resized = (run: Run, pod: string) => run.resizes.filter(({ path }) => path.endsWith(`/${pod}/resize`)).length;

Deno.test("createDaemon() samples each pod of a node, and resizes the others, while one PATCH is slow (C20, C23)", async () => {
  const seconds: string[] = [];
  let run: Run | null = null;
  const sink: EvaluationSink = ({ input: { now, pod, observation, inFlight } }) => {
    if (run === null || observation.kind !== "usage" || resized(run, "web-1") === 0) return;
    seconds.push(`${pod.name} ${Math.round((now - Date.UTC(2026, 10, 20, 11)) / 1000)}${inFlight ? " in flight" : ""}`);
  };
  await using slow = busyRun({ pods: [podObject(), podObject({ name: "web-2" })], sinks: [sink] });
  run = slow;
  slowDown(slow);
  while (resized(slow, "web-1") === 0) await slow.advance(1);
  const before = seconds.length;
  slow.use({ "web-2": { cpu: 150 } });
  await slow.advance(8);
  assertEquals(slow.cpu("web-1"), "100m", "not answered yet");
  const during = seconds.slice(before);
  assertEquals(during, ["web-1 15 in flight", "web-2 15"]);
  await slow.advance(8);
  assertEquals([slow.cpu("web-1"), slow.cpu("web-2")], ["250m", "250m"]);
  assertEquals([resized(slow, "web-1"), slow.events.toSorted()], [1, ["ScaleUp x1", "ScaleUp x1"]]);
});

Deno.test("createDaemon() folds a slow answer in when it ends meanwhile, and writes it (C45)", async () => {
  const run = busyRun();
  slowDown(run);
  while (resized(run, "web-1") === 0) await run.advance(1);
  await run.stop();
  assertEquals([run.cpu(), run.status().lastScaleResourceChange], ["250m", "cpu.requests 100m -> 250m"]);
});
