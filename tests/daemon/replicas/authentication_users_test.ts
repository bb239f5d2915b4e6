/** Which ScaledObjects use an authentication, in its status, as `kubectl get ta -o wide` shows it (R99). */
import { assertEquals } from "#assert";
import { createReplicasManager } from "../../../lib/daemon/replicas/manager.ts";
import { ScaledObjectCache } from "../../../lib/daemon/cluster/scaled_objects.ts";
import { WHOLE_CLUSTER } from "../../../lib/daemon/cluster/facts.ts";
import { parseScaledObject } from "../../../lib/resources/scaled_object/scaled_object.ts";
import {
  formatUsers,
  parseAuthentication,
} from "../../../lib/resources/trigger_authentication/trigger_authentication.ts";
import type { Json } from "../../support/api_objects.ts";
import { ClusterRun } from "../../support/cluster_run.ts";
import { replicasBy, ReplicasRun, scaledObject } from "../../support/replicas_run.ts";

type Kind = "TriggerAuthentication" | "ClusterTriggerAuthentication";

function authentication(name: string, kind: Kind = "TriggerAuthentication"): Json {
  return {
    apiVersion: "keda.sh/v1alpha1",
    kind,
    metadata: {
      name,
      annotations: { "podfit.dev/allowed-namespaces": "*", "podfit.dev/allowed-hosts": "*.shop.svc" },
      ...(kind === "TriggerAuthentication" && { namespace: "default" }),
    },
    spec: { secretTargetRef: [{ parameter: "token", name: "prom", key: "token" }] },
  };
}

/** As another program does. */
async function setStatus({ cluster }: ClusterRun, path: string, status: Json): Promise<void> {
  await cluster.client.patch(`/apis/keda.sh/v1alpha1/${path}/prom/status`, "merge", { status });
}

const OWN_PATH = "namespaces/default/triggerauthentications";

function trigger(name: string, kind: Kind = "TriggerAuthentication"): Json {
  return {
    type: "metrics-api",
    metadata: { url: "https://api.shop.svc/x", valueLocation: "value", targetValue: "1", authMode: "bearer" },
    authenticationRef: { name, kind },
  };
}

const OWN = "triggerauthentications/prom";
const CLUSTERS = "clustertriggerauthentications/prom";

async function listUsers(run: { readonly cluster: ClusterRun }, name = OWN): Promise<string | undefined> {
  return (await run.cluster.get(name)).status?.scaledobjects;
}

function countWrites({ podfit }: ReplicasRun): number {
  return podfit.requests.filter((one) => one.startsWith("PATCH ") && one.includes("authentications/")).length;
}

Deno.test("an authentication lists the ScaledObjects that use it, in the order in which they came (R99)", async () => {
  await using run = await ReplicasRun.start([
    authentication("prom", "ClusterTriggerAuthentication"),
    authentication("unused"),
    scaledObject("web", [trigger("prom"), trigger("prom"), trigger("prom", "ClusterTriggerAuthentication")]),
    scaledObject("cart", [trigger("prom")], { target: "cart" }),
    scaledObject("plain", [{ type: "cron", metadata: {} }], { target: "plain" }),
  ]);
  await run.cluster.create(authentication("prom"));
  await setStatus(run.cluster, OWN_PATH, { scaledobjects: "old,web", scaledjobs: "job" });
  await run.advance(5);
  assertEquals([await listUsers(run), await listUsers(run, CLUSTERS)], ["web,cart", "web"]);
  assertEquals((await run.cluster.get(OWN)).status.scaledjobs, "job", "KEDA's other list stays");
  assertEquals(await listUsers(run, "triggerauthentications/unused"), undefined);
  assertEquals(countWrites(run), 2);
  await run.advance(60);
  assertEquals(countWrites(run), 2, "nothing is written again");
  await run.cluster.create(scaledObject("app", [trigger("prom")], { target: "app" }));
  await run.advance(10);
  assertEquals(await listUsers(run), "web,cart,app");
  await run.cluster.delete("scaledobjects/web");
  await run.cluster.patch("scaledobjects/cart", { spec: { triggers: [trigger("unused")] } });
  await run.advance(10);
  assertEquals(
    [await listUsers(run), await listUsers(run, CLUSTERS), await listUsers(run, "triggerauthentications/unused")],
    ["app", undefined, "cart"],
  );
});

Deno.test("a list that another program has changed is written again, and a refused one is tried again (R99)", async () => {
  let isRefused = true;
  await using run = await ReplicasRun.start([authentication("prom"), scaledObject("web", [trigger("prom")])], {
    answer: (request) =>
      isRefused && request.url.includes("triggerauthentications/prom/status")
        ? Response.json({ kind: "Status", status: "Failure", code: 409, message: "changed" }, { status: 409 })
        : null,
  });
  await run.advance(5);
  assertEquals(await listUsers(run), undefined);
  isRefused = false;
  await run.advance(20);
  assertEquals(await listUsers(run), "web");
  await run.advance(70);
  await setStatus(run.cluster, OWN_PATH, { scaledobjects: "other" });
  await run.advance(10);
  assertEquals(await listUsers(run), "web");
});

Deno.test("next to KEDA the lists of authentications are KEDA's (R99, M22)", async () => {
  const object = scaledObject("web", [trigger("prom")], {
    annotations: { "podfit.dev/scale": "true", "autoscaling.keda.sh/paused": "true" },
  });
  await using run = await ReplicasRun.start([authentication("prom"), object], { settings: { isNextToKeda: true } });
  await setStatus(run.cluster, OWN_PATH, { scaledobjects: "kedas" });
  await run.advance(30);
  assertEquals([await listUsers(run), countWrites(run)], ["kedas", 0]);
});

Deno.test("a podfit for some namespaces leaves the lists of the cluster's authentications alone (R99)", async () => {
  const cluster = await ClusterRun.start();
  await using _cluster = cluster;
  await cluster.defineKeda();
  await cluster.create(
    authentication("prom"),
    authentication("prom", "ClusterTriggerAuthentication"),
    scaledObject("web", [trigger("prom"), trigger("prom", "ClusterTriggerAuthentication")]),
  );
  await setStatus(cluster, "clustertriggerauthentications", { scaledobjects: "elsewhere" });
  const replicas = replicasBy(() => Promise.resolve({ kind: "failed", message: "no", isEmpty: false }));
  assertEquals(replicas.create, createReplicasManager);
  await using _podfit = cluster.startPodfit({ ...WHOLE_CLUSTER, namespaces: ["default"] }, { replicas });
  await cluster.advance(10);
  assertEquals([await listUsers({ cluster }), await listUsers({ cluster }, CLUSTERS)], ["web", "elsewhere"]);
});

Deno.test("a new list of users checks no ScaledObject again, and another spec does (R16, R99)", () => {
  const cache = new ScaledObjectCache();
  const checked: string[] = [];
  using _subscription = cache.subscribe({
    onObject() {},
    onObjectGone() {},
    onRelatedChange: ({ name }) => void checked.push(name),
  });
  const set = (resourceVersion: string, own: Json = {}) =>
    cache.setAuthentication(parseAuthentication({
      ...authentication("prom"),
      metadata: { ...authentication("prom").metadata, resourceVersion, uid: "a" },
      ...own,
    }));
  const { metadata, ...object } = scaledObject("web", [trigger("prom")], { spec: { minReplicaCount: 1 } });
  cache.setObject(parseScaledObject({ ...object, metadata: { ...metadata, uid: "so-1" } }));
  set("1");
  assertEquals(checked.splice(0), ["web"]);
  set("2", { status: { scaledobjects: "web" } });
  assertEquals(checked.splice(0), []);
  set("3", { spec: { secretTargetRef: [{ parameter: "token", name: "other", key: "token" }] } });
  assertEquals(checked.splice(0), ["web"]);
  set("4", { spec: { vault: {} } });
  set("5", { spec: { awsSecretManager: {} } });
  assertEquals(checked.splice(0), ["web", "web"], "another problem is another message");
});

Deno.test("formatUsers() keeps the place of names, and adds new ones in their order (R99)", () => {
  assertEquals(formatUsers("", []), "");
  assertEquals(formatUsers("", ["web", "cart", "web"]), "cart,web");
  assertEquals(formatUsers("web,old,cart", ["cart", "app", "web"]), "web,cart,app");
  assertEquals(formatUsers("web,web", ["web"]), "web");
});

Deno.test("formatUsers() has at most 4,096 characters of names, and the same ones each time (R99)", () => {
  const names = Array.from({ length: 200 }, (_, index) => `${"x".repeat(60)}${String(index).padStart(3, "0")}`);
  const text = formatUsers("", names);
  assertEquals([text.split(",").length, text.length, text.endsWith("063,...")], [65, 4099, true]);
  assertEquals(formatUsers(text, names), text);
  assertEquals(formatUsers("", names.slice(0, 64)).length, 4095);
});
