/** A whole daemon in memory: restarts, deletions, a failing API server, health, and its end. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "#assert";
import { autoscalerObject, deploymentObject, podObject } from "../support/api_objects.ts";
import { busyRun, Run } from "../support/daemon_run.ts";
import { settleEventLoop } from "../support/virtual_clock.ts";

Deno.test("createDaemon() does not resize twice when it is restarted, and its cooldown holds (C42)", async () => {
  const first = busyRun({ enacts: false });
  await first.advance(11);
  await first.stop();
  assertEquals(first.resizes.length, 1);
  assertEquals(first.status().lastScaleAction, "scaleUp", "written on the way out");
  assertEquals(first.events, ["ScaleUp x1"]);
  await using second = new Run({ after: first });
  second.use({ "web-1": { cpu: 240 } });
  await second.advance(55);
  assertEquals(second.resizes.length, 1);
  assertEquals(second.condition("Scaling"), "True ScaleUp");
  await second.advance(15);
  assertEquals(second.resizes.length, 2);
  assertEquals(second.cpu(), "400m");
});

Deno.test("createDaemon() brings no state back for a pod deleted during its PATCH, and reports the action (C11)", async () => {
  await using run = busyRun();
  let release = () => {};
  const held = new Promise<void>((resolve) => release = resolve);
  run.api.intercept = async ({ path }) => {
    if (!path.endsWith("/resize")) return null;
    await held;
    const pod = run.api.get("pods", "web-1");
    run.api.remove("pods", "web-1");
    await settleEventLoop();
    return Response.json({ ...pod, metadata: { ...pod.metadata, generation: 2 } });
  };
  await run.advance(11);
  release();
  await run.advance(5);
  assertEquals(run.events, ["ScaleUp x1"]);
  assertEquals(run.condition("Active"), "False NoPods");
  assertEquals(await run.series("podfit_tracked_pods"), ["podfit_tracked_pods 0"]);
  assertEquals(await run.series("podfit_node_pollers"), ["podfit_node_pollers 0"]);
});

Deno.test("createDaemon() is silent when the pod of a PATCH is gone (C44)", async () => {
  await using run = busyRun();
  run.api.intercept = ({ path }) => {
    if (path.endsWith("/resize")) run.api.remove("pods", "web-1");
    return null;
  };
  await run.advance(20);
  assertEquals([run.resizes.length, run.events], [1, []]);
});

Deno.test("createDaemon() drops every series of a deleted autoscaler (C52)", async () => {
  await using run = busyRun();
  await run.advance(15);
  assert((await run.series("kedify_")).some((line) => line.includes('name="web"')));
  run.api.remove("podresourceautoscalers", "web");
  await run.advance(20);
  assertEquals((await run.series("kedify_")).filter((line) => line.includes('name="web"')), []);
  assertEquals(await run.series("kedify_agent_pra_total"), []);
});

Deno.test("createDaemon() brings no series back for an autoscaler deleted during its PATCH (C52)", async () => {
  await using run = busyRun();
  run.api.intercept = async ({ path }) => {
    if (!path.endsWith("/resize")) return null;
    run.api.remove("podresourceautoscalers", "web");
    await settleEventLoop();
    return null;
  };
  await run.advance(15);
  assertEquals(run.cpu(), "250m");
  assertEquals((await run.series("kedify_")).filter((line) => line.includes('name="web"')), []);
  assertEquals(await run.series("kedify_agent_pra_resource_updates"), ["kedify_agent_pra_resource_updates 1"]);
});

Deno.test("createDaemon() starts anew the series of an autoscaler deleted and made again during its PATCH (C52)", async () => {
  await using run = busyRun();
  const again = { ...autoscalerObject(), metadata: { ...autoscalerObject().metadata, uid: "uid-again" } };
  run.api.intercept = async ({ path }) => {
    if (!path.endsWith("/resize")) return null;
    run.api.remove("podresourceautoscalers", "web");
    run.api.put("podresourceautoscalers", again);
    await settleEventLoop();
    return null;
  };
  await run.advance(10);
  assertEquals(run.cpu(), "250m");
  assertEquals(await run.series("kedify_agent_pra_scale_d"), [], "neither the decision nor the delta is its own");
  await run.advance(15);
  assertEquals(await run.series("kedify_agent_pra_resource_updates"), ["kedify_agent_pra_resource_updates 1"]);
  const evaluations = await run.series("kedify_agent_pra_evaluation_duration_seconds_count");
  assertEquals(evaluations.length, 1);
});

Deno.test("createDaemon() brings no series back for an autoscaler whose PATCH got no answer (C45, C52)", async () => {
  await using run = busyRun({ enacts: false });
  run.api.intercept = async ({ path }) => {
    if (!path.endsWith("/resize")) return null;
    run.api.remove("podresourceautoscalers", "web");
    await settleEventLoop();
    throw new TypeError("connection reset");
  };
  await run.advance(40);
  assertEquals(run.resizes.length, 1);
  assertEquals(run.events, [], "nobody is left to be told");
  const left = (await run.series("kedify_agent_")).filter((line) => line.includes("{"));
  assertEquals(left, [], "nor of the namespace, whose last autoscaler it was");
});

Deno.test("createDaemon() leaves no timer and no watch behind, and writes its last events", async () => {
  const run = busyRun({ pods: [podObject(), podObject({ name: "web-2" })] });
  run.use({ "web-2": { cpu: 150 } });
  let release = () => {};
  const held = new Promise<void>((resolve) => release = resolve);
  run.api.intercept = async ({ path, method }) => {
    if (path.endsWith("/events") && method === "POST") await held;
    return null;
  };
  await run.advance(12);
  assertEquals([run.resizes.length, run.events], [2, []], "no resize waits for an event");
  const stopping = run.stop();
  await settleEventLoop();
  release();
  await stopping;
  assertEquals(run.events, ["ScaleUp x1", "ScaleUp x1"]);
  assertEquals([run.clock.pending, run.api.openWatches], [0, 0]);
});

Deno.test("createDaemon() writes the resize that was answered while it was ending (C45)", async () => {
  const run = busyRun();
  let release = () => {};
  const held = new Promise<void>((resolve) => release = resolve);
  run.api.intercept = async ({ path }) => {
    if (path.endsWith("/resize")) await held;
    return null;
  };
  await run.advance(12);
  const stopping = run.stop();
  await settleEventLoop();
  assertEquals(run.status().lastScaleTime, undefined);
  release();
  await stopping;
  assertEquals([run.status().lastScaleAction, run.events], ["scaleUp", ["ScaleUp x1"]]);
});

Deno.test("createDaemon() ends all it has begun before it fails of a broken part", async () => {
  const run = busyRun();
  await run.advance(5);
  run.metrics.watchEvent = () => {
    throw new Error("broken");
  };
  run.api.put("pods", podObject({ name: "web-2" }));
  await run.advance(1);
  assertEquals([run.clock.pending, run.api.openWatches], [0, 0]);
  await assertRejects(() => run.stop(), Error, "broken");
});

Deno.test("createDaemon() starts a node's loop again that has failed, and resizes after all", async () => {
  await using run = busyRun();
  const { kubeletRead } = run.metrics;
  run.metrics.kubeletRead = () => {
    run.metrics.kubeletRead = kubeletRead;
    throw new Error("broken");
  };
  await run.advance(20);
  assertEquals(run.log.filter(({ level }) => level === "ERROR").map(({ message, node }) => [message, node]), [
    ["Node loop failed, starting it again", "node1"],
  ]);
  assertEquals([run.cpu(), run.resizes.length], ["250m", 1]);
});

Deno.test("createDaemon() ends within seconds of its signal when the API server has stopped to answer", async () => {
  const autoscalers = Array.from(
    { length: 30 },
    (_, i) => autoscalerObject({ name: `web${i}`, target: { kind: "deployment", name: `none${i}` } }),
  );
  const run = new Run({ autoscalers });
  run.api.intercept = ({ method }) => method === "GET" ? null : hang();
  await run.advance(5);
  const beganMs = run.clock.monotonic();
  await run.stop();
  assert(run.clock.monotonic() - beganMs <= 12_000, `took ${run.clock.monotonic() - beganMs} ms`);
  assertEquals(run.clock.pending, 0);
});

Deno.test("createDaemon() leaves behind 12 s after its signal what the API server has not answered, and says so", async () => {
  const pods = Array.from({ length: 80 }, (_, i) => podObject({ name: `web-${i}` }));
  const run = new Run({ pods });
  run.api.intercept = ({ method }) => method === "GET" ? null : hang();
  await run.advance(10);
  // More PATCH requests than may be sent at once: some wait for their slot.
  run.use(Object.fromEntries(pods.map(({ metadata: { name } }) => [name, { cpu: 150 }])));
  while (run.resizes.length === 0) await run.advance(1);
  const beganMs = run.clock.monotonic();
  await run.stop();
  assertEquals(run.clock.monotonic() - beganMs, 12_000);
  const { level, message, seconds } = run.log.findLast(({ level }) => level === "WARN") ?? {};
  assertEquals([level, message, seconds], ["WARN", "Ending without the answers of the API server", 12]);
  // The daemon ends by its own timeouts.
  await run.clock.advance(60_000);
  assertEquals(run.clock.pending, 0);
});

Deno.test("isAlive() stays true while the API server answers no status write of many autoscalers", async () => {
  const autoscalers = Array.from({ length: 100 }, (_, i) => autoscalerObject({ name: `web${i}` }));
  await using run = new Run({ autoscalers });
  run.api.intercept = ({ path }) => path.endsWith("/status") ? hang() : null;
  for (let minute = 0; minute < 3; minute++) {
    await run.advance(60);
    assertEquals(run.daemon.isAlive(), { ok: true, message: "ok" });
  }
  run.api.intercept = () => null;
});

Deno.test("isAlive() stays true while writes of many statuses are slow, and says when none of them ends", async () => {
  const autoscalers = Array.from({ length: 300 }, (_, i) => autoscalerObject({ name: `web${i}` }));
  await using run = new Run({ autoscalers });
  let isStuck = false;
  const { timeout } = run.clock;
  run.api.intercept = async ({ path }) => {
    if (!path.endsWith("/status")) return null;
    await (isStuck ? hang() : run.clock.sleep(2000));
    return null;
  };
  for (let second = 0; second < 80; second += 5) {
    await run.advance(5);
    assertEquals(run.daemon.isAlive(), { ok: true, message: "ok" });
  }
  assertEquals(run.condition("Ready", "web299"), "True Valid");
  isStuck = true;
  run.clock.timeout = () => ({ signal: new AbortController().signal, [Symbol.dispose]() {} });
  run.api.remove("pods", "web-1");
  await run.advance(65);
  assertEquals(run.daemon.isAlive(), {
    ok: false,
    message: "the status loop is stuck",
    reason: "a loop is stuck",
  });
  run.clock.timeout = timeout;
});

Deno.test("isAlive() names the node whose loop does not turn, until it turns again", async () => {
  await using run = busyRun();
  await run.advance(10);
  let release = () => {};
  run.kubelet.held = new Promise<void>((resolve) => release = resolve);
  await run.advance(60);
  assertEquals(run.daemon.isAlive().ok, true);
  await run.advance(10);
  assertEquals(run.daemon.isAlive(), {
    ok: false,
    message: 'the loop of node "node1" is stuck',
    reason: "a loop is stuck",
  });
  release();
  await run.advance(1);
  assertEquals(run.daemon.isAlive().ok, true);
});

Deno.test("isReady() names the lists that are still waited for, and no status is written before", async () => {
  await using run = busyRun();
  run.api.intercept = ({ path }) => path.endsWith("/deployments") ? new Response("no", { status: 503 }) : null;
  await run.advance(10);
  const message = "waiting for the first list of /apis/apps/v1/deployments";
  assertEquals(run.daemon.isReady(), { ok: false, message, reason: "waiting for the first lists" });
  const reasons = run.log.filter(({ message }) => message === "Not ready").map(({ reasons }) => reasons);
  assertStringIncludes(reasons.join(), "waiting for the first list of ");
  assertEquals([run.status(), run.events], [{}, []], "a target that was not listed yet is not missing");
  run.api.intercept = () => null;
  await run.advance(60);
  assertEquals(run.daemon.isReady().ok, true);
  assertEquals(run.condition("Ready"), "True Valid");
});

Deno.test("createDaemon() learns from a new list what it missed: all that is gone, new or changed", async () => {
  const autoscalers = [
    autoscalerObject(),
    autoscalerObject({ name: "api", target: { kind: "deployment", name: "api" } }),
  ];
  const pods = [podObject(), podObject({ name: "api-1", labels: { app: "api" } })];
  await using run = new Run({ autoscalers, pods, deployments: [deploymentObject(), deploymentObject("api")] });
  await run.advance(10);
  run.api.expire(() => {
    run.api.remove("podresourceautoscalers", "api");
    run.api.remove("deployments", "web");
    run.api.remove("pods", "api-1");
    run.api.put("pods", podObject({ name: "web-2" }));
  });
  await run.advance(10);
  assertEquals([run.condition("Ready"), run.condition("Active")], ["False TargetNotFound", "False TargetNotFound"]);
  assertEquals((await run.series("kedify_")).filter((line) => line.includes('name="api"')), []);
  assertEquals(await run.series("podfit_tracked_pods"), ["podfit_tracked_pods 0"]);
  run.api.expire(() => {
    run.api.put("deployments", deploymentObject());
    run.api.remove("pods", "web-2");
  });
  await run.advance(10);
  assertEquals(await run.series("podfit_tracked_pods"), ["podfit_tracked_pods 1"]);
});

function hang(): Promise<never> {
  return new Promise(() => {});
}
