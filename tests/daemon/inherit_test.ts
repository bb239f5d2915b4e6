/**
 * A new pod with siblings that podfit has resized.
 * Clauses: L40.
 */
import { assertEquals } from "#assert";
import { autoscalerObject, type Json, podObject } from "../support/api_objects.ts";
import type { WriteRate } from "../../lib/daemon/permits.ts";
import { Run } from "../support/daemon_run.ts";
import { formatTime } from "../../lib/units/time.ts";

const INHERIT = autoscalerObject({ newPods: "inherit", policy: { delay: "2m", after: "podReady" } });

interface Member {
  readonly name: string;
  readonly replicaSet?: string;
  /** A pod that started now. */
  readonly startedAt?: number;
  readonly requests?: Json;
}

function member({ name, replicaSet = "web-1", startedAt, requests }: Member): Json {
  const pod = podObject({ name, requests, labels: { app: "web", "pod-template-hash": replicaSet } });
  pod.metadata.ownerReferences = [{ kind: "ReplicaSet", name: replicaSet, uid: `uid-${replicaSet}`, controller: true }];
  if (startedAt !== undefined) {
    const at = formatTime(startedAt);
    pod.status.containerStatuses[0].state.running.startedAt = at;
    for (const one of pod.status.conditions) one.lastTransitionTime = at;
  }
  return pod;
}

/** Three pods with 250m, 250m and 300m. */
async function grownRun(pace?: WriteRate): Promise<Run> {
  const names = ["a", "b", "c"];
  const run = new Run({ autoscalers: [INHERIT], pods: names.map((name) => member({ name })), ...(pace && { pace }) });
  run.use({ a: { cpu: 150 }, b: { cpu: 150 }, c: { cpu: 180 } });
  await run.advance(30);
  assertEquals(names.map((name) => run.cpu(name)), ["250m", "250m", "300m"]);
  return run;
}

function resizesOf(run: Run, name: string): number {
  return run.resizes.filter(({ path }) => path.includes(`/pods/${name}/`)).length;
}

Deno.test("a new pod has its siblings' size within ten seconds, by one PATCH (L40)", async () => {
  await using run = await grownRun();
  run.api.put("pods", member({ name: "d", startedAt: run.clock.now() }));
  run.use({ d: { cpu: 150 } });
  await run.advance(10);
  assertEquals([run.cpu("d"), resizesOf(run, "d")], ["250m", 1]);
  assertEquals(run.events, ["ScaleUp x1", "ScaleUp x1", "ScaleUp x1", "Inherited x1"]);
  await run.advance(110);
  assertEquals(resizesOf(run, "d"), 1);
});

Deno.test("ten new pods at once do not outvote the three that know (L40)", async () => {
  await using run = await grownRun();
  const names = Array.from({ length: 10 }, (_, at) => `new-${at}`);
  for (const name of names) run.api.put("pods", member({ name, startedAt: run.clock.now() }));
  await run.advance(10);
  assertEquals(new Set(names.map((name) => run.cpu(name))), new Set(["250m"]));
});

Deno.test("after a rollout with the same resources a pod inherits from the older ones (L40)", async () => {
  await using run = await grownRun();
  run.api.put("pods", member({ name: "d", replicaSet: "web-2", startedAt: run.clock.now() }));
  await run.advance(10);
  assertEquals(run.cpu("d"), "250m");
});

Deno.test("after a rollout with other resources a pod starts at its template's size (L40)", async () => {
  await using run = await grownRun();
  const requests = { cpu: "110m" };
  run.api.put("pods", member({ name: "d", replicaSet: "web-2", startedAt: run.clock.now(), requests }));
  await run.advance(10);
  assertEquals([run.cpu("d"), resizesOf(run, "d")], ["110m", 0]);
});

Deno.test("a podfit that starts anew gives running pods nothing, and new ones their siblings' size (L40)", async () => {
  const first = await grownRun();
  await first.stop();
  first.api.put("pods", member({ name: "old" }));
  await using run = new Run({ after: first });
  await run.advance(10);
  run.api.put("pods", member({ name: "d", startedAt: run.clock.now() }));
  await run.advance(10);
  assertEquals([run.cpu("old"), run.cpu("d")], ["100m", "250m"]);
});

Deno.test("many new pods at once get the size of their siblings though the last wait long for their turn (L40)", async () => {
  await using run = await grownRun({ perSecond: 2, burst: 3 });
  const names = Array.from({ length: 40 }, (_, at) => `new-${at}`);
  for (const name of names) run.api.put("pods", member({ name, startedAt: run.clock.now() }));
  await run.advance(30);
  assertEquals(names.filter((name) => run.cpu(name) !== "250m"), []);
  assertEquals(names.filter((name) => resizesOf(run, name) !== 1), []);
});
