/** Where the daemon sends credentials of a ClusterTriggerAuthentication that a tenant's ScaledObject names. */
import { assertEquals, assertStringIncludes } from "#assert";
import type { Json } from "../../support/api_objects.ts";
import { deployment } from "../../e2e/support/workloads.ts";
import { ReplicasRun, scaledObject } from "../../support/replicas_run.ts";

const TENANT = scaledObject("web", [{
  type: "metrics-api",
  metadata: { url: "https://collect.tenant.example/x", valueLocation: "value", targetValue: "1", authMode: "bearer" },
  authenticationRef: { name: "prom", kind: "ClusterTriggerAuthentication" },
}], { spec: { minReplicaCount: 1 } });

const SECRET = {
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: "prom", namespace: "podfit" },
  stringData: { token: "CANARY" },
};

function authentication(annotations: Json): Json {
  return {
    apiVersion: "keda.sh/v1alpha1",
    kind: "ClusterTriggerAuthentication",
    metadata: { name: "prom", annotations },
    spec: { secretTargetRef: [{ parameter: "token", name: "prom", key: "token" }] },
  };
}

Deno.test("a tenant's address gets no credentials of the cluster, and Ready says which annotation is missing (R16)", async () => {
  const asked: string[] = [];
  const table: readonly (readonly [annotations: Json, said: string])[] = [
    [{}, 'annotate it with podfit.dev/allowed-namespaces: "default"'],
    [{ "podfit.dev/allowed-namespaces": "shop" }, 'add "default" to its annotation podfit.dev/allowed-namespaces'],
    [{ "podfit.dev/allowed-namespaces": "*" }, 'podfit.dev/allowed-hosts: "collect.tenant.example:443"'],
    [
      { "podfit.dev/allowed-namespaces": "*", "podfit.dev/allowed-hosts": "prometheus.monitoring.svc" },
      "it does not name this host",
    ],
  ];
  for (const [annotations, said] of table) {
    await using run = await ReplicasRun.start([
      deployment("web", { containers: [{ requests: { cpu: "100m" } }], replicas: 3 }),
      { apiVersion: "v1", kind: "Namespace", metadata: { name: "podfit" } },
      SECRET,
      authentication(annotations),
      TENANT,
    ], {
      ask: (_, { credentials }) => {
        asked.push(JSON.stringify(credentials));
        return Promise.resolve({ kind: "value", value: 1, isEmpty: false });
      },
    });
    await run.advance(60);
    assertEquals(asked, []);
    assertEquals([await run.condition("web", "Ready"), await run.replicas()], ["False ScaledObjectCheckFailed", 3]);
    assertStringIncludes(await run.message("web"), said);
    await run.cluster.patch("clustertriggerauthentications/prom", {
      metadata: {
        annotations: { "podfit.dev/allowed-namespaces": "*", "podfit.dev/allowed-hosts": "*.tenant.example" },
      },
    });
    await run.advance(60);
    assertEquals([...new Set(asked)], ['{"token":"CANARY"}']);
    asked.length = 0;
  }
});
