/** A standby observes and changes nothing, until controllers are started on it, and again after they have ended. */
import { assert, assertEquals } from "#assert";
import { DEFAULT_WRITE_RATE } from "../../lib/daemon/permits.ts";
import { FailureLog } from "../../lib/daemon/health.ts";
import { createControllers } from "../../lib/daemon/controllers.ts";
import { LastScales } from "../../lib/daemon/status/last_scales.ts";
import { WHOLE_CLUSTER } from "../../lib/daemon/cluster/facts.ts";
import { createMetrics } from "../../lib/daemon/metrics/metrics.ts";
import { createObserver } from "../../lib/daemon/cluster/observer.ts";
import { createClient } from "../../lib/kube/client.ts";
import { createLog } from "../../lib/runtime/log.ts";
import { parseScaledObject } from "../../lib/resources/scaled_object/scaled_object.ts";
import { VirtualClock } from "../support/virtual_clock.ts";
import { watchKubelets } from "../../lib/usage/kubelet/watch.ts";
import { autoscalerObject, deploymentObject, nodeObject, podObject } from "../support/api_objects.ts";
import { TestApiServer } from "../support/api_server.ts";
import { FakeKubelet } from "../support/daemon_run.ts";

Deno.test("createObserver() takes no pod for current, and decides about none, once its list is too old (C51)", async () => {
  const clock = new VirtualClock();
  const api = new TestApiServer(clock);
  for (const [plural, object] of [["deployments", deploymentObject()], ["pods", podObject()]] as const) {
    api.put(plural, object);
  }
  api.put("podresourceautoscalers", autoscalerObject());
  const { origin, transport } = api.toServer();
  const log = createLog({ level: "error", format: "json", clock, write() {} });
  const common = { clock, random: () => 0, log, metrics: createMetrics({ version: "test" }), onTrouble() {} };
  const observer = createObserver({ ...common, origin, transport, scope: WHOLE_CLUSTER, requiresAnnotation: false });
  const observing = new AbortController();
  const observed = observer.run(observing.signal);
  await clock.advance(1000);
  api.intercept = ({ path }) => path === "/api/v1/pods" ? Response.json({ code: 403 }, { status: 403 }) : null;
  api.closeWatches("pods");
  const [tracked] = observer.cache.trackedPods.values();
  assert(tracked !== undefined);
  const read = () => [observer.isCurrent(tracked), observer.canDecide("shop"), observer.findStale("shop")];
  await clock.advance(299_000);
  assertEquals(read(), [true, true, null]);
  await clock.advance(1000);
  assertEquals(read(), [false, false, "pods"]);
  observing.abort();
  await observed;
});

Deno.test("createObserver() compiles the formula of a ScaledObject and does not run it, as a standby too (R60)", async () => {
  const clock = new VirtualClock();
  const api = new TestApiServer(clock);
  const triggers = [{ type: "kubernetes-workload", name: "jobs", metadata: { podSelector: "app=jobs", value: "1" } }];
  const modifiers = { formula: "[1, 2][int(jobs) + 9]", target: "1" };
  const object = {
    apiVersion: "keda.sh/v1alpha1",
    kind: "ScaledObject",
    metadata: { name: "web", namespace: "shop", uid: "uid-object", resourceVersion: "1" },
    spec: { scaleTargetRef: { name: "web" }, triggers, advanced: { scalingModifiers: modifiers } },
  };
  api.intercept = ({ path, query }) => {
    if (path !== "/apis/keda.sh/v1alpha1/scaledobjects" || query["watch"]) return null;
    return Response.json({ kind: "ScaledObjectList", metadata: { resourceVersion: "1" }, items: [object] });
  };
  const { origin, transport } = api.toServer();
  const log = createLog({ level: "error", format: "json", clock, write() {} });
  const common = { clock, random: () => 0, log, metrics: createMetrics({ version: "test" }), onTrouble() {} };
  const scope = { scope: WHOLE_CLUSTER, requiresAnnotation: false, seesReplicas: true };
  const observer = createObserver({ ...common, origin, transport, ...scope });
  const observing = new AbortController();
  const observed = observer.run(observing.signal);
  await clock.advance(1000);
  const found = observer.scaledObjects.find({ namespace: "shop", uid: "uid-object" });
  assertEquals([found?.scaledObject?.formula?.text, found?.problems], [modifiers.formula, []]);
  assertEquals(parseScaledObject(object).problems.length, 1, "where it runs it fails");
  observing.abort();
  await observed;
});

Deno.test("createObserver() observes alone, and an actor started on it acts until it is stopped", async () => {
  const clock = new VirtualClock();
  const api = new TestApiServer(clock);
  const kubelet = new FakeKubelet(clock, api);
  api.put("nodes", nodeObject());
  api.put("deployments", deploymentObject());
  api.put("podresourceautoscalers", autoscalerObject());
  api.put("pods", podObject());
  kubelet.use({ "web-1": { cpu: 150 } });
  const { origin, transport } = api.toServer();
  const random = () => 0;
  const log = createLog({ level: "error", format: "json", clock, write() {} });
  const common = { clock, random, log, metrics: createMetrics({ version: "test" }), onTrouble() {} };
  const observer = createObserver({ ...common, origin, transport, scope: WHOLE_CLUSTER, requiresAnnotation: false });
  let polls = 0;
  const fetchSummary: FakeKubelet["fetchSummary"] = (node, signal) => {
    polls++;
    return kubelet.fetchSummary(node, signal);
  };
  const act = (signal: AbortSignal) =>
    createControllers({
      ...common,
      observer,
      client: createClient({ origin, transport }),
      watchUsage: watchKubelets({ fetchSummary }, { clock, random }),
      dryRun: false,
      pace: DEFAULT_WRITE_RATE,
      failureLog: new FailureLog({ log, clock }),
      scope: WHOLE_CLUSTER,
      replicas: null,
      minPollIntervalMs: null,
      lastScales: new LastScales(clock),
      isStatusElsewhere: false,
      term: null,
      instance: "test",
      sinks: [],
    }).run(signal);
  const writes = () => api.calls.filter(({ method }) => method !== "GET").length;

  const observing = new AbortController();
  const observed = observer.run(observing.signal);
  await clock.advance(60_000);
  assertEquals([observer.isReady().ok, observer.cache.trackedPods.size, writes(), polls], [true, 1, 0, 0]);

  const acting = new AbortController();
  const acted = act(acting.signal);
  await clock.advance(15_000);
  assertEquals(api.calls.filter(({ path }) => path.endsWith("/resize")).length, 1);
  acting.abort();
  await acted;

  const [writesBefore, pollsBefore] = [writes(), polls];
  assert(pollsBefore > 0);
  api.put("pods", podObject({ name: "web-2" }));
  await clock.advance(60_000);
  assertEquals([observer.cache.trackedPods.size, writes(), polls], [2, writesBefore, pollsBefore]);
  observing.abort();
  await observed;
  assertEquals([clock.pending, api.openWatches], [0, 0]);
});
