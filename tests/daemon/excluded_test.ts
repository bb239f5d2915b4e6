/** Namespaces that the operator excludes: nothing is resized or scaled there, and the objects say why (L56). */
import { assertEquals, assertStringIncludes } from "#assert";
import { findExclusion, NO_OPERATOR_LIMITS } from "../../lib/resources/pod_resource_autoscaler/parse.ts";
import { limitScaledObject } from "../../lib/daemon/cluster/scaled_objects.ts";
import { parseScaledObject } from "../../lib/resources/scaled_object/scaled_object.ts";
import { toScaledObject } from "../support/scaled_objects.ts";
import { deployment } from "../e2e/support/workloads.ts";
import { autoscalerObject } from "../support/api_objects.ts";
import { Run } from "../support/daemon_run.ts";
import { ReplicasRun, scaledObject, workloadTrigger } from "../support/replicas_run.ts";

const EXCLUDED = { ...NO_OPERATOR_LIMITS, excludedNamespaces: ["kube-system", "shop", "default"] };

Deno.test("createDaemon() resizes no pod of an excluded namespace, and the autoscaler says why and what to do (L56)", async () => {
  const resizes = async (limits: typeof EXCLUDED) => {
    await using run = new Run({ limits });
    run.use({ "web-1": { cpu: 900 } });
    await run.advance(120);
    const sent = run.api.calls.filter(({ path }) => path.endsWith("/resize")).length;
    const ready = run.status().conditions.find(({ type }: { type: string }) => type === "Ready");
    return {
      isResized: sent > 0,
      ready: `${ready.status} ${ready.reason}`,
      message: ready.message,
      events: run.events,
    };
  };
  const open = await resizes({ ...EXCLUDED, excludedNamespaces: ["kube-system"] });
  assertEquals([open.isResized, open.ready], [true, "True Valid"]);
  const excluded = await resizes(EXCLUDED);
  assertEquals([excluded.isResized, excluded.ready], [false, "False NamespaceExcluded"]);
  assertEquals(excluded.events, ["NamespaceExcluded x1"]);
  assertStringIncludes(
    excluded.message,
    'podfit leaves namespace "shop" alone (--exclude-namespace): delete this object',
  );
});

Deno.test("createDaemon() says of an excluded autoscaler that it is excluded, also where its spec is invalid (L56)", async () => {
  await using run = new Run({ limits: EXCLUDED, autoscalers: [autoscalerObject({ spec: { paused: 7 } })] });
  await run.advance(10);
  assertEquals(run.condition("Ready"), "False NamespaceExcluded");
});

Deno.test("createDaemon() scales nothing in an excluded namespace, and lets go of a deleted ScaledObject (L56)", async () => {
  const restoring = { advanced: { restoreToOriginalReplicaCount: true } };
  await using run = await ReplicasRun.start([
    deployment("web", { containers: [{ requests: { cpu: "100m" } }], replicas: 1 }),
    deployment("jobs", { containers: [{ requests: { cpu: "100m" } }], replicas: 3 }),
    {
      ...scaledObject("web", [workloadTrigger("app=jobs")], { spec: restoring }),
      metadata: { name: "web", namespace: "default", finalizers: ["finalizer.keda.sh"] },
    },
  ], { limits: EXCLUDED });
  await run.advance(90);
  assertEquals(await run.replicas(), 1);
  assertEquals(await run.condition("web", "Ready"), "False ScaledObjectCheckFailed");
  assertStringIncludes(await run.message("web"), "NamespaceExcluded: metadata.namespace: podfit leaves namespace");
  await run.cluster.delete("scaledobjects/web");
  await run.advance(30);
  assertEquals(await run.cluster.find("scaledobjects/web"), null);
  assertEquals(await run.replicas(), 1);
});

Deno.test("limitScaledObject() leaves nothing to scale, to restore or to pause of an excluded object, valid or not (L56)", () => {
  const restoring = { advanced: { restoreToOriginalReplicaCount: true } };
  const valid = { "metadata.namespace": "shop", "metadata.annotations": { "autoscaling.keda.sh/paused": "true" } };
  for (const edits of [valid, { ...valid, "spec.pollingInterval": -1 }]) {
    const facts = parseScaledObject(toScaledObject({ ...edits, "spec.advanced": restoring.advanced }));
    assertEquals([facts.isPaused, (facts.scaledObject ?? facts.restoring)?.restoresReplicas], [true, true]);
    const limited = limitScaledObject(facts, EXCLUDED);
    assertEquals([limited.scaledObject, limited.restoring, limited.isPaused], [null, null, false]);
    assertEquals(limited.problems.map(({ path, reason }) => [path, reason]), [
      ["metadata.namespace", "NamespaceExcluded"],
    ]);
  }
});

Deno.test("findExclusion() compares whole names (L56)", () => {
  const names = ["shop", "shop-2", "sho", "kube-system", ""];
  assertEquals(names.filter((name) => findExclusion(name, EXCLUDED) !== null), ["shop", "kube-system"]);
});
