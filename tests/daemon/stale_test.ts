/** A list is not updated for a long time: podfit does not act on stale data. */
import { assert, assertEquals } from "#assert";
import { autoscalerObject, nodeObject, podObject } from "../support/api_objects.ts";
import { type Call, refuse } from "../support/api_server.ts";
import { busyRun, Run, type RunOptions } from "../support/daemon_run.ts";

const FORBIDDEN = { reason: "Forbidden", message: "forbidden" };
const AUTOSCALERS = "/apis/keda.kedify.io/v1alpha1/podresourceautoscalers";

/** A run that has all lists and nothing to do. Then each GET of the path is refused. */
async function runBlindTo(resource: string, options: RunOptions = {}): Promise<Run> {
  const run = new Run(options);
  run.use({ "web-1": { cpu: 60 } });
  await run.advance(30);
  answer(run, resource, () => refuse(403, FORBIDDEN));
  // Open watches go on and would report changes.
  run.api.closeWatches(resource);
  await run.advance(1);
  return run;
}

function answer(run: Run, resource: string, with_: (call: Call) => Response): void {
  run.api.intercept = (call) => call.method === "GET" && call.path.endsWith(`/${resource}`) ? with_(call) : null;
}

/** Larger steps, because seconds would take long. */
async function passMinutes(run: Run, minutes: number): Promise<void> {
  for (let minute = 0; minute < minutes; minute++) await run.clock.advance(60_000);
}

function heal(run: Run): void {
  run.api.intercept = () => null;
}

/** Messages at warn and info about stale lists. */
function listWords(run: Run): string[] {
  return run.log.filter(({ message }) => message.startsWith("List is ")).map(({ level, path, ageSeconds }) =>
    `${level} ${path} ${ageSeconds > 290 ? "old" : "young"}`
  );
}

for (const what of ["paused", "deleted"] as const) {
  Deno.test(`an autoscaler that was ${what} while its watch is refused resizes nothing after five minutes (C51)`, async () => {
    await using run = await runBlindTo("podresourceautoscalers");
    if (what === "paused") {
      run.api.edit("podresourceautoscalers", "web", (one) => {
        one.spec.paused = true;
        one.metadata.generation = 2;
      });
    } else run.api.remove("podresourceautoscalers", "web");
    await passMinutes(run, 6);
    run.use({ "web-1": { cpu: 150 } });
    await run.advance(60);
    assertEquals([run.resizes.length, run.daemon.isReady().ok, run.daemon.isAlive().ok], [0, false, true]);
    heal(run);
    await run.advance(120);
    assertEquals([run.resizes.length, run.daemon.isReady()], [0, { ok: true, message: "ok" }]);
  });
}

Deno.test("a list that was not heard of for five minutes is told in log, readiness, condition and metric, until it is (C51)", async () => {
  await using run = await runBlindTo("podresourceautoscalers");
  await passMinutes(run, 4);
  assertEquals([run.condition("Ready"), run.daemon.isReady().ok, listWords(run)], ["True Valid", true, []]);
  assertEquals(run.series('podfit_watch_last_contact_age_seconds{resource="podr'), [
    'podfit_watch_last_contact_age_seconds{resource="podresourceautoscalers"} 240',
  ]);
  await passMinutes(run, 6);
  run.use({ "web-1": { cpu: 150 } });
  await run.advance(60);
  assertEquals(run.daemon.isReady(), {
    ok: false,
    message: `${AUTOSCALERS} is stale: the last report came 661 s ago`,
    reason: "lists are stale",
  });
  const conditions = ["Ready", "Active", "Scaling", "Metrics", "Limited"];
  const unknown = ["Unknown Stale", "Unknown Stale", "False Idle", "Unknown Stale", "Unknown Stale"];
  assertEquals(conditions.map((type) => run.condition(type)), unknown);
  assertEquals([run.resizes.length, listWords(run)], [0, [`WARN ${AUTOSCALERS} old`]]);
  assertEquals(run.series("kedify_agent_pod_resource_autoscaler_active"), [
    'kedify_agent_pod_resource_autoscaler_active{namespace="shop",name="web"} 0',
  ]);
  const writes = run.api.calls.filter(({ path }) => path.endsWith("/status")).length;
  await passMinutes(run, 30);
  assertEquals(run.api.calls.filter(({ path }) => path.endsWith("/status")).length, writes, "its words stay the same");
  heal(run);
  await run.advance(120);
  assertEquals(listWords(run), [`WARN ${AUTOSCALERS} old`, `INFO ${AUTOSCALERS} old`]);
  assertEquals([run.cpu(), run.condition("Ready"), run.condition("Metrics")], ["250m", "True Valid", "True Available"]);
});

Deno.test("pods that are not heard of are left alone after an OOM kill, too, and workloads that nobody names harm nobody (C51, L10)", async () => {
  const cases: Record<string, number> = { pods: 0, deployments: 0, daemonsets: 1, nodes: 1, limitranges: 1 };
  for (const [resource, resizes] of Object.entries(cases)) {
    await using run = await runBlindTo(resource);
    await passMinutes(run, 10);
    run.use({ "web-1": { cpu: 150 } });
    await run.advance(40);
    assertEquals([run.resizes.length, run.daemon.isReady().ok], [resizes, resource === "limitranges"], resource);
  }
});

Deno.test("a kill that is seen while another list is too old is answered when that is heard of again (C51, L10)", async () => {
  await using run = await runBlindTo("podresourceautoscalers", { autoscalers: [memoryAutoscaler()] });
  await passMinutes(run, 10);
  const [status] = run.api.get("pods", "web-1").status.containerStatuses;
  run.api.edit("pods", "web-1", (pod) => {
    const finishedAt = new Date(run.clock.now()).toISOString();
    pod.status.containerStatuses = [{
      ...status,
      containerID: "containerd://again",
      lastState: { terminated: { containerID: status.containerID, reason: "OOMKilled", exitCode: 137, finishedAt } },
    }];
  });
  await run.advance(30);
  assertEquals(run.resizes.length, 0);
  heal(run);
  await run.advance(120);
  assertEquals(run.resizes.length, 1);
});

Deno.test("a list that dribbles a byte a minute is no contact, and is given up each time (C51)", async () => {
  await using run = new Run();
  await run.advance(30);
  let lists = 0;
  run.api.intercept = ({ method, path, query }) => {
    if (method !== "GET" || path !== "/api/v1/pods" || query.watch) return null;
    lists++;
    return dribble(run, 50_000, " ");
  };
  run.api.expire(() => {});
  await passMinutes(run, 10);
  run.use({ "web-1": { cpu: 150 } });
  await run.advance(40);
  assert(lists > 5 && lists < 20, `${lists} lists`);
  assertEquals([run.resizes.length, run.daemon.isReady().ok, run.condition("Active")], [0, false, "Unknown Stale"]);
  heal(run);
  await run.advance(120);
  assertEquals([run.cpu(), run.daemon.isReady().ok], ["250m", true]);
});

Deno.test("a watch that dribbles half a line hides a new pod for no more than two minutes", async () => {
  await using run = new Run();
  run.api.intercept = ({ method, path, query }) =>
    method === "GET" && path === "/api/v1/pods" && query.watch ? dribble(run, 80_000, "{") : null;
  await run.advance(30);
  run.api.put("pods", podObject({ name: "web-2" }));
  run.use({ "web-2": { cpu: 150 } });
  await passMinutes(run, 2);
  assertEquals([run.cpu("web-2"), run.daemon.isReady().ok], ["250m", true]);
  heal(run);
});

Deno.test("events alone do not make a list known again that was too old: more may be on their way (C51)", async () => {
  await using run = await runBlindTo("podresourceautoscalers");
  await passMinutes(run, 10);
  const object = run.api.get("podresourceautoscalers", "web");
  let send: (line: unknown) => void = () => {};
  answer(run, "podresourceautoscalers", () =>
    new Response(
      new ReadableStream<Uint8Array>({
        start: (controller) => {
          send = (line) => controller.enqueue(new TextEncoder().encode(JSON.stringify(line) + "\n"));
        },
      }),
    ));
  await run.advance(40);
  send({ type: "MODIFIED", object });
  await run.advance(10);
  assertEquals(run.daemon.isReady().ok, false);
  send({ type: "BOOKMARK", object: { metadata: object.metadata } });
  await run.advance(1);
  assertEquals(run.daemon.isReady().ok, true);
  heal(run);
});

Deno.test("the room of nodes that are not heard of is not gone by (L30)", async () => {
  const node = nodeObject();
  node.status.allocatable = { cpu: "160m", memory: "32Gi" };
  await using run = busyRun();
  run.api.put("nodes", node);
  await run.advance(30);
  assertEquals(run.cpu(), "160m", "all that the node has left");
  answer(run, "nodes", () => refuse(403, FORBIDDEN));
  run.api.closeWatches("nodes");
  run.use({ "web-1": { cpu: 90 } });
  await passMinutes(run, 10);
  run.api.put("nodes", { ...node, status: { ...node.status, allocatable: { cpu: "8", memory: "32Gi" } } });
  run.use({ "web-1": { cpu: 300 } });
  await run.advance(60);
  assertEquals(run.cpu(), "500m");
  heal(run);
});

function memoryAutoscaler() {
  const { metadata, spec, ...rest } = autoscalerObject();
  const limits = { scaleUpThreshold: 90, scaleDownThreshold: 10, targetUtilization: 60 };
  return { ...rest, metadata, spec: { ...spec, policy: { ...spec.policy, cpu: undefined, memory: { limits } } } };
}

/** A body that never ends, one text at a time. */
function dribble(run: Run, everyMs: number, text: string): Response {
  return new Response(
    new ReadableStream<Uint8Array>({
      async pull(controller) {
        await run.clock.sleep(everyMs);
        controller.enqueue(new TextEncoder().encode(text));
      },
    }, { highWaterMark: 0 }),
    { headers: { "content-type": "application/json" } },
  );
}
