/** A whole daemon in memory: usage changes, and the pod's size follows. */
import { assertEquals, assertMatch } from "#assert";
import { autoscalerObject, podObject } from "../support/api_objects.ts";
import { busyRun, Run } from "../support/daemon_run.ts";

Deno.test("createDaemon() sends one PATCH with the changed field alone when usage steps up (C33, C40)", async () => {
  await using run = new Run();
  await run.advance(20);
  assertEquals(run.resizes.length, 0);
  const before = run.api.get("pods", "web-1");
  run.use({ "web-1": { cpu: 150 } });
  await run.advance(20);
  assertEquals(run.resizes.map(({ path, query, contentType, body }) => ({ path, query, contentType, body })), [{
    path: "/api/v1/namespaces/shop/pods/web-1/resize",
    query: { fieldManager: "podfit.main" },
    contentType: "application/strategic-merge-patch+json",
    body: {
      metadata: { uid: "uid-web-1", resourceVersion: before.metadata.resourceVersion },
      spec: { containers: [{ name: "main", resources: { requests: { cpu: "250m" } } }] },
    },
  }]);
  assertEquals(run.events, ["ScaleUp x1"]);
});

Deno.test("createDaemon() tells an accepted PATCH in status, event and metrics (C45, C50 to C52)", async () => {
  await using run = busyRun();
  await run.advance(15);
  const { lastScaleTime, lastScaleAction, lastScaleResourceChange, scaling, effectiveSelector } = run.status();
  assertEquals(
    { lastScaleTime, lastScaleAction, lastScaleResourceChange, scaling, effectiveSelector },
    {
      lastScaleTime: "2026-11-20T11:00:10Z",
      lastScaleAction: "scaleUp",
      lastScaleResourceChange: "cpu.requests 100m -> 250m",
      scaling: true,
      effectiveSelector: { matchLabels: { app: "web" } },
    },
  );
  const conditions = ["Ready", "Active", "Scaling", "Metrics"].map((type) => run.condition(type));
  assertEquals(conditions, ["True Valid", "True Tracking", "True ScaleUp", "True Available"]);
  const event = run.eventsOn("PodResourceAutoscaler")[0];
  assertEquals([event.involvedObject.uid, event.related.uid], ["uid-web-autoscaler", "uid-web-1"]);
  assertMatch(event.message, /container "main" of pod "web-1": cpu.requests 100m -> 250m/);
  const ups = 'namespace="shop",name="web",resource="cpu",side="requests",direction="up"';
  assertEquals(await run.series("kedify_agent_pra_resource_updates"), ["kedify_agent_pra_resource_updates 1"]);
  assertEquals(await run.series("kedify_agent_pra_scale_delta_absolute_sum"), [
    `kedify_agent_pra_scale_delta_absolute_sum{${ups}} 150`,
  ]);
  assertEquals(await run.series("kedify_agent_pra_scaling_active"), [
    'kedify_agent_pra_scaling_active{namespace="shop"} 1',
  ]);
  assertEquals(await run.series("kedify_agent_pra_time_to_apply_seconds_count"), [
    'kedify_agent_pra_time_to_apply_seconds_count{namespace="shop",name="web",direction="up"} 1',
  ]);
  await run.advance(60);
  assertEquals(run.condition("Scaling"), "False Idle", "cleared by time alone");
  assertEquals(run.status().lastScaleAction, "scaleUp");
});

Deno.test("createDaemon() scales down when the load has ended and the cooldown is over (C31, C42)", async () => {
  await using run = busyRun();
  await run.advance(15);
  run.use({ "web-1": { cpu: 20 } });
  await run.advance(50);
  assertEquals(run.cpu(), "250m", "cooling down");
  await run.advance(15);
  assertEquals(run.cpu(), "34m");
  assertEquals(run.events, ["ScaleUp x1", "ScaleDown x1"]);
});

Deno.test("createDaemon() is silent on a conflict and decides again on the newer pod (C40)", async () => {
  await using run = busyRun();
  let isFirst = true;
  run.api.intercept = ({ path }) => {
    if (path.endsWith("/resize") && isFirst) {
      isFirst = false;
      run.api.edit("pods", "web-1", ({ metadata }) => metadata.labels.touched = "yes");
    }
    return null;
  };
  await run.advance(12);
  assertEquals(run.resizes.length, 2, "at once, as the newer pod has arrived");
  assertEquals(run.cpu(), "250m");
  assertEquals(run.events, ["ScaleUp x1"]);
  assertEquals(run.log.filter(({ level }) => level === "WARN"), []);
});

Deno.test("createDaemon() holds still on a conflict until the newer pod arrives (C40)", async () => {
  await using run = busyRun();
  run.api.intercept = ({ path }) => path.endsWith("/resize") ? Response.json({ code: 409 }, { status: 409 }) : null;
  await run.advance(35);
  assertEquals(run.resizes.length, 1);
  assertEquals(run.events, []);
});

Deno.test("createDaemon() lets the autoscaler with the higher priority act alone (C12)", async () => {
  const eager = autoscalerObject({ name: "eager", priority: 5, bounds: { cpu: { requests: { max: "200m" } } } });
  await using run = busyRun({ autoscalers: [autoscalerObject(), eager] });
  await run.advance(15);
  assertEquals(run.cpu(), "200m");
  assertEquals([run.status("eager").lastScaleAction, run.status("web").lastScaleAction], ["scaleUp", undefined]);
  run.api.edit("podresourceautoscalers", "eager", ({ metadata, spec }) => {
    metadata.generation = 2;
    spec.paused = true;
  });
  await run.advance(2);
  assertEquals(["Ready", "Active", "Scaling", "Metrics"].map((type) => run.condition(type, "eager")), [
    "True Paused",
    "False Paused",
    "False Paused",
    "Unknown Paused",
  ]);
  run.use({ "web-1": { cpu: 240 } });
  await run.advance(70);
  assertEquals(run.cpu(), "400m", "the lower one has taken over (C13)");
});

Deno.test("createDaemon() says Metrics=False after three failed reads of a node, and True again after one (C51, C52)", async () => {
  await using run = new Run();
  await run.advance(8);
  run.kubelet.failure = 'Cannot read usage of node "node1": connection refused';
  await run.advance(11);
  assertEquals(run.condition("Metrics"), "True Available", "two are not enough");
  await run.advance(5);
  assertEquals(run.condition("Metrics"), "False MetricsUnavailable");
  const { message } = run.status().conditions.find(({ type }: { type: string }) => type === "Metrics");
  assertEquals(message, 'no usage of 1 of 1 pod: Cannot read usage of node "node1": connection refused');
  await run.advance(20);
  const errors = 'kedify_agent_pra_error_total{namespace="shop",reason="MetricsUnavailable"} 1';
  assertEquals(await run.series("kedify_agent_pra_error_total"), [errors], "once, however long it lasts");
  run.kubelet.failure = null;
  await run.advance(6);
  assertEquals(run.condition("Metrics"), "True Available");
  assertEquals(run.log.filter(({ message }) => message === "Usage of node is read again").length, 1);
});

Deno.test("createDaemon() in dry run decides all and resizes nothing", async () => {
  await using run = busyRun({ dryRun: true });
  await run.advance(60);
  assertEquals([run.resizes.length, run.events], [0, []]);
  assertMatch((await run.series("kedify_agent_pra_scale_blocked_total")).join(), /reason="DryRun"} \d/);
  assertEquals(run.condition("Active"), "True Tracking");
});

Deno.test("createDaemon() looks after the pods that match, and no others (C11, C15)", async (t) => {
  const cases: Record<string, { pod: Record<string, unknown>; requiresAnnotation?: boolean; isTracked: boolean }> = {
    "a pod that matches": { pod: {}, isTracked: true },
    "other labels": { pod: { labels: { app: "other" } }, isTracked: false },
    "not annotated where it must be": { pod: {}, requiresAnnotation: true, isTracked: false },
    "annotated where it must be": {
      pod: { annotations: { "pra.kedify.io/reconcile": "enabled" } },
      requiresAnnotation: true,
      isTracked: true,
    },
    "annotated otherwise": {
      pod: { annotations: { "pra.kedify.io/reconcile": "disabled" } },
      requiresAnnotation: true,
      isTracked: false,
    },
    "a mirror of a static pod": { pod: { annotations: { "kubernetes.io/config.mirror": "x" } }, isTracked: false },
    "no node yet": { pod: { node: null }, isTracked: false },
  };
  for (const [name, { pod, requiresAnnotation = false, isTracked }] of Object.entries(cases)) {
    await t.step(name, async () => {
      await using run = busyRun({ pods: [podObject(pod)], requiresAnnotation });
      await run.advance(15);
      assertEquals(run.resizes.length, isTracked ? 1 : 0);
      assertEquals(run.condition("Active"), isTracked ? "True Tracking" : "False NoPods");
    });
  }
});

Deno.test("createDaemon() resizes a native sidecar under initContainers (C15)", async () => {
  const pods = [podObject({ sidecar: true })];
  await using run = busyRun({ pods, autoscalers: [autoscalerObject({ containerName: "proxy" })] });
  await run.advance(15);
  assertEquals(run.resizes[0]?.body.spec, {
    initContainers: [{ name: "proxy", resources: { requests: { cpu: "250m" } } }],
  });
  assertEquals(run.resizes[0]?.query, { fieldManager: "podfit.proxy" });
});

Deno.test("createDaemon() watches its namespaces alone when it has a scope", async () => {
  await using run = busyRun({ scope: { namespaces: ["shop", "other"], node: "node1", pod: null } });
  await run.advance(15);
  assertEquals(run.cpu(), "250m");
  const lists = run.api.calls.filter(({ method, query }) => method === "GET" && query.watch === undefined);
  const paths = lists.map(({ path, query: { fieldSelector = "" } }) => `${path} ${fieldSelector}`.trim()).sort();
  const workloads = ["daemonsets", "deployments", "statefulsets"];
  assertEquals(
    paths,
    [
      "/api/v1/nodes metadata.name=node1",
      "/version/",
      ...["shop", "other"].flatMap((namespace) => [
        `/api/v1/namespaces/${namespace}/pods spec.nodeName=node1`,
        `/api/v1/namespaces/${namespace}/limitranges`,
        `/api/v1/namespaces/${namespace}/resourcequotas`,
        `/apis/keda.kedify.io/v1alpha1/namespaces/${namespace}/podresourceautoscalers`,
        ...workloads.map((plural) => `/apis/apps/v1/namespaces/${namespace}/${plural}`),
      ]),
    ].sort(),
  );
});
