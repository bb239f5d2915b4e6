/**
 * Many pods and autoscalers write at the same time, also while the API server refuses: podfit sends few requests, and
 * everything is written in the end.
 */
import { assert, assertEquals, assertStringIncludes } from "#assert";
import { autoscalerObject, deploymentObject, type Json, podObject } from "../support/api_objects.ts";
import { refuse } from "../support/api_server.ts";
import { Run } from "../support/daemon_run.ts";

function listNames(count: number, prefix = "web-"): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${index + 1}`);
}

/** Pods of one autoscaler. Each uses more than it requests. */
function busyPods(count: number): Run {
  const names = listNames(count);
  const run = new Run({ pods: names.map((name) => podObject({ name })) });
  run.use(Object.fromEntries(names.map((name) => [name, { cpu: 150 }])));
  return run;
}

function countLines(run: Run): number {
  return run.log.filter(({ level }) => level === "WARN" || level === "ERROR").length;
}

function readTotal(run: Run, series: string): number {
  return run.series(series).reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

/** The PATCH requests of pods/resize in two minutes, while the server refuses each of them with that Retry-After. */
async function countAsked(seconds: number): Promise<number> {
  await using run = busyPods(100);
  run.api.intercept = async ({ path }) => {
    if (!path.endsWith("/resize")) return null;
    await run.clock.sleep(50);
    return Response.json({ code: 429 }, { status: 429, headers: { "retry-after": String(seconds) } });
  };
  await run.advance(120);
  return run.resizes.length;
}

Deno.test("createDaemon() asks a busy server seldom for all pods together, and no more often the longer it says (C44)", async () => {
  const [ofOne, ofFive, ofThirty] = [await countAsked(1), await countAsked(5), await countAsked(30)];
  assert(ofOne <= 60 && ofFive <= ofOne && ofThirty <= ofFive, `${ofOne}, ${ofFive}, ${ofThirty}`);
});

Deno.test("createDaemon() resizes all pods soon after a busy server has time again, none of them twice (C40, C44)", async () => {
  await using run = busyPods(100);
  let isBusy = true;
  run.api.intercept = ({ path }) => path.endsWith("/resize") && isBusy ? refuse(503, { message: "busy" }) : null;
  await run.advance(60);
  const before = run.resizes.length;
  isBusy = false;
  await run.advance(60);
  assertEquals(listNames(100).filter((name) => run.cpu(name) !== "250m"), []);
  assertEquals(run.resizes.length - before, 100);
});

for (
  const [sentence, isOther] of [
    ["events", (path: string) => path.includes("/events")],
    ["statuses", (path: string) => path.endsWith("/status")],
  ] as const
) {
  for (const answer of ["refuses", "does not answer"]) {
    Deno.test(`createDaemon() goes on with resizes where the server ${answer} ${sentence} (C44, C50)`, async () => {
      await using run = new Run({
        pods: listNames(20).map((name) => podObject({ name })),
        autoscalers: [
          autoscalerObject({
            bounds: { cpu: { requests: { step: "10m" } } },
            policy: { consecutiveSamples: 1, cooldown: "5s" },
          }),
        ],
      });
      run.use(Object.fromEntries(listNames(20).map((name) => [name, { cpu: 2000 }])));
      let hasRefusedResize = false;
      run.api.intercept = ({ method, path, signal }) => {
        if (method !== "GET" && isOther(path) && run.resizes.length > 100) {
          if (answer === "refuses") return refuse(429, { reason: "TooManyRequests", message: "Too many requests" });
          return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
        }
        // Once, so that each of podfit's writes would have to ask whether the server is busy still.
        if (!path.endsWith("/resize") || hasRefusedResize || run.resizes.length < 200) return null;
        hasRefusedResize = true;
        return refuse(429, { reason: "TooManyRequests", message: "Too many requests" });
      };
      for (let second = 0; !hasRefusedResize && second < 200; second++) await run.advance(1);
      const before = run.resizes.length;
      await run.advance(30);
      assert(hasRefusedResize && run.resizes.length - before >= 80, `${run.resizes.length - before} resizes`);
    });
  }
}

Deno.test("createDaemon() holds no other namespace up for what an admission webhook says (C44)", async () => {
  const other: Json = podObject({ name: "other-1", labels: { app: "other" } });
  const pods = [podObject(), other];
  const autoscalers = [
    autoscalerObject(),
    autoscalerObject({ name: "other", target: { kind: "deployment", name: "other" } }),
  ];
  await using run = new Run({ pods, autoscalers });
  run.use({ "web-1": { cpu: 150 } });
  run.api.intercept = ({ path }) =>
    path.endsWith("/web-1/resize")
      ? refuse(429, { message: 'admission webhook "x" denied the request', details: { retryAfterSeconds: 3600 } })
      : null;
  await run.advance(20);
  assertEquals(run.resizes.length, 1);
  run.api.put("pods", podObject({ name: "web-2" }));
  run.use({ "web-2": { cpu: 150 } });
  await run.advance(20);
  assertEquals(run.cpu("web-2"), "250m");
});

Deno.test("a burst of resizes passes at its pace, each with its event, and no wait for a turn counts as refused (C44, C50)", async () => {
  const count = 600;
  await using run = busyPods(count);
  // Slower than the write rate: while a permit is late, each resize is decided again.
  run.api.intercept = async ({ method }) => {
    if (method !== "GET") await run.clock.sleep(400);
    return null;
  };
  await run.advance(45);
  assertEquals(listNames(count).filter((name) => run.cpu(name) !== "250m").length, 0);
  await run.advance(30);
  assertEquals(run.resizes.length, count, "no PATCH but one for each");
  const events = run.eventsOn("PodResourceAutoscaler");
  assertEquals(events.reduce((sum: number, event) => sum + event.count, 0), count);
  assertEquals(
    [...run.series("kedify_agent_pra_scale_blocked_total"), ...run.series("kedify_agent_pra_error_total")].filter((
      line,
    ) => line.includes("RetryLater")),
    [],
  );
  assertEquals(readTotal(run, "podfit_events_total"), 2 * count, "each on the pod too (L58)");
});

Deno.test("errors whose words change each time make no flood of status writes (C51)", async () => {
  const names = listNames(20);
  await using run = new Run({ autoscalers: names.map((name) => autoscalerObject({ name })) });
  let port = 40_000;
  Object.defineProperty(run.kubelet, "failure", {
    get: () =>
      `Cannot read usage of node "node1" at https://10.0.0.1:10250: error sending request from 10.0.0.5:${port++} for ` +
      `https://10.0.0.1:10250/stats/summary: request ${port} of this kubelet`,
  });
  const writes = () => run.api.calls.filter(({ path }) => path.endsWith("/status")).length;
  await run.advance(60);
  const before = writes();
  await run.advance(300);
  assert(writes() - before <= 6 * names.length, `${writes() - before} writes`);
});

Deno.test("a status that changes and changes again is written at once, then seldom, and the last in the end (C51)", async () => {
  await using run = new Run();
  await run.advance(10);
  const writes = () => run.api.calls.filter(({ path }) => path.endsWith("/status")).length;
  const before = writes();
  for (let index = 0; index < 60; index++) {
    run.api.put("pods", podObject({ name: `more-${index}` }));
    await run.advance(1);
    if (index === 0) assertEquals(writes(), before + 1, "at once");
  }
  assert(writes() - before <= 6, `${writes() - before} writes`);
  await run.advance(60);
  assertStringIncludes(JSON.stringify(run.status().conditions), "61 pods");
});

Deno.test("createDaemon() tells of a server that refuses every resize for long, once, and that it is over (C44, C50)", async () => {
  await using run = busyPods(20);
  let isOut = true;
  run.api.intercept = ({ path }) =>
    path.endsWith("/resize") && isOut ? refuse(500, { message: "etcdserver: no leader" }) : null;
  await run.advance(3_600);
  assertEquals(run.events, ["ScaleFailed x1"]);
  const [{ message }] = run.eventsOn("PodResourceAutoscaler");
  assertEquals(message, "No resize was accepted for 1m or more (RetryLater): etcdserver: no leader");
  const told = run.log.filter(({ level }) => level === "WARN").map(({ message }) => message);
  assertEquals(told, [
    "Cannot resize pods",
    "Notice",
    "Cannot resize pods, still",
    "Cannot resize pods, still",
  ]);
  isOut = false;
  await run.advance(90);
  assertEquals(run.log.filter(({ message }) => message === "Cannot resize pods: recovered").length, 1);
});

Deno.test("createDaemon() tells autoscalers whose resizes all wait for a busy server (C44, C50)", async () => {
  const names = listNames(30);
  const pods = names.map((name) => podObject({ name, labels: { app: name } }));
  const deployments = names.map((name) => deploymentObject(name));
  const autoscalers = names.map((name) => autoscalerObject({ name, target: { kind: "deployment", name } }));
  await using run = new Run({ pods, deployments, autoscalers });
  run.use(Object.fromEntries(names.map((name) => [name, { cpu: 150 }])));
  run.api.intercept = ({ path }) => path.endsWith("/resize") ? refuse(429, { message: "Too many requests" }) : null;
  await run.advance(1_800);
  assert(run.resizes.length <= 300, `${run.resizes.length}`);
  const told = run.eventsOn("PodResourceAutoscaler").map(({ involvedObject: { name }, count }) => `${name} x${count}`);
  assertEquals(told.toSorted(), names.map((name) => `${name} x1`).toSorted());
  assert(countLines(run) <= 12, `${countLines(run)} lines`);
});

Deno.test("one missing right is told once for all autoscalers, and then summed up (C54)", async () => {
  const names = listNames(30);
  await using run = new Run({ autoscalers: names.map((name) => autoscalerObject({ name })) });
  let isGranted = false;
  run.api.intercept = ({ path }) =>
    !isGranted && (path.endsWith("/status") || path.includes("/events")) ? refuse(403, { reason: "Forbidden" }) : null;
  await run.advance(3_600);
  assert(
    countLines(run) <= 10,
    run.log.filter(({ level }) => level === "WARN").map(({ message }) => message).join("\n"),
  );
  const summaries = run.log.filter(({ message }) => message === "Cannot write status, still");
  assertEquals(summaries.map(({ reason, subjects }) => [reason, subjects]), [["403", 30], ["403", 30]]);
  const tried = run.api.calls.filter(({ path }) => path.endsWith("/status")).length;
  assert(tried <= 30 * names.length, `${tried} writes`);
  isGranted = true;
  await run.advance(300);
  assertEquals(run.log.filter(({ message }) => message === "Cannot write status: recovered").length, 1);
});

Deno.test("a watch that fails for an hour is told once, then summed up, and so is its end (C51)", async () => {
  await using run = new Run();
  await run.advance(60);
  const before = countLines(run);
  let isAway = true;
  run.api.intercept = ({ method, path }) =>
    isAway && method === "GET" && path === "/api/v1/pods" ? refuse(503, { reason: "ServiceUnavailable" }) : null;
  run.api.closeWatches("pods");
  await run.advance(3_600);
  assert(countLines(run) - before <= 10, run.log.map(({ message }) => message).join("\n"));
  assert(run.log.some(({ message, reason }) => message === "Cannot watch, still" && reason === "503"));
  isAway = false;
  await run.advance(120);
  assertEquals(run.log.filter(({ message }) => message === "Cannot watch: recovered").length, 1);
});
