/** Stories of a daemon that may not read some list: what depends on it waits, and nothing else does. */
import { assertEquals } from "#assert";
import { autoscalerObject, deploymentObject, type Json, podObject } from "../../support/api_objects.ts";
import { busyRun, type Run, type RunOptions } from "../../support/daemon_run.ts";

const AGENT = autoscalerObject({ name: "agent", target: { kind: "daemonset", name: "agent" } });

/** 403 to each list whose path ends so, until `grant`. */
function runWithout(path: string, options: RunOptions = {}): { readonly run: Run; readonly grant: () => void } {
  const run = busyRun(options);
  run.api.intercept = (call) =>
    call.method === "GET" && call.path.endsWith(path) ? Response.json({ code: 403 }, { status: 403 }) : null;
  return { run, grant: () => run.api.intercept = () => null };
}

Deno.test("createDaemon() resizes and tells all that needs no list it may not read (C51)", async (t) => {
  const namespaces = ["shop", "other"];
  const cases: Record<string, { path: string; options?: RunOptions }> = {
    "daemonsets, which nobody targets": { path: "/daemonsets" },
    "daemonsets, which a paused autoscaler targets": {
      path: "/daemonsets",
      options: { autoscalers: [autoscalerObject(), { ...AGENT, spec: { ...AGENT.spec, paused: true } }] },
    },
    "pods of another namespace": {
      path: "/other/pods",
      options: { scope: { namespaces, node: null, pod: null } },
    },
    "autoscalers of another namespace": {
      path: "/other/podresourceautoscalers",
      options: { scope: { namespaces, node: null, pod: null } },
    },
    "nodes": { path: "/nodes" },
  };
  for (const [name, { path, options = {} }] of Object.entries(cases)) {
    await t.step(name, async () => {
      const { run, grant } = runWithout(path, options);
      await using _run = run;
      await run.advance(15);
      assertEquals([run.cpu(), run.condition("Ready"), run.status().lastScaleAction], [
        "250m",
        "True Valid",
        "scaleUp",
      ]);
      assertEquals(run.daemon.isReady().ok, false);
      grant();
      await run.advance(40);
      assertEquals(run.daemon.isReady().ok, true);
    });
  }
});

Deno.test("createDaemon() acts on no pod of a namespace while one of its autoscalers names a kind not listed (C12, C51)", async () => {
  // Were it known, it would own the pod: same labels, higher priority.
  const first = { ...AGENT, spec: { ...AGENT.spec, priority: 5, bounds: { cpu: { requests: { max: "120m" } } } } };
  const { run, grant } = runWithout("/daemonsets", { autoscalers: [autoscalerObject(), first] });
  await using _run = run;
  run.api.put("daemonsets", agentDaemonSet());
  await run.advance(30);
  assertEquals([run.resizes.length, run.events], [0, []]);
  assertEquals([run.condition("Ready"), run.condition("Active")], ["True Valid", "True Tracking"]);
  assertEquals(run.status("agent"), {}, "not said to be missing");
  assertEquals(await run.series("kedify_agent_pra_total"), ['kedify_agent_pra_total{namespace="shop"} 2']);
  grant();
  await run.advance(60);
  assertEquals([run.cpu(), run.status("agent").lastScaleAction], ["120m", "scaleUp"]);
});

Deno.test("createDaemon() goes on in a namespace whose autoscalers name listed kinds alone", async () => {
  const elsewhere = structuredClone(AGENT);
  elsewhere.metadata.namespace = "other";
  const { run } = runWithout("/daemonsets", { autoscalers: [autoscalerObject(), elsewhere] });
  await using _run = run;
  await run.advance(15);
  assertEquals([run.cpu(), run.api.get("podresourceautoscalers", "agent", "other").status], ["250m", undefined]);
});

Deno.test("createDaemon() says nothing of an autoscaler's pods before they are listed (C51)", async () => {
  const { run, grant } = runWithout("/pods");
  await using _run = run;
  await run.advance(10);
  assertEquals(run.status(), {});
  grant();
  await run.advance(40);
  assertEquals(run.condition("Active"), "True Tracking");
});

Deno.test("a node that is not listed is no failed read until nodes are, and then it is", async () => {
  const { run, grant } = runWithout("/nodes", { pods: [podObject({ node: "node9" })] });
  await using _run = run;
  run.kubelet.isDialed = true;
  await run.advance(30);
  assertEquals(run.condition("Metrics"), "True Available");
  assertEquals(await run.series("podfit_kubelet_reads_total"), []);
  await run.advance(45);
  const { message } = run.status().conditions[3];
  assertEquals(
    message,
    'no usage of 1 of 1 pod: pod "web-1" has had no new usage for 1m or more: node is not known',
    "silence has its cause",
  );
  grant();
  await run.advance(50);
  assertEquals(run.status().conditions[3].message, "no usage of 1 of 1 pod: node is not known");
});

function agentDaemonSet(): Json {
  const { metadata, spec } = deploymentObject();
  return { apiVersion: "apps/v1", kind: "DaemonSet", metadata: { ...metadata, name: "agent", uid: "agent" }, spec };
}
