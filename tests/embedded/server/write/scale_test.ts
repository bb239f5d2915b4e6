/**
 * `/scale` of the embedded API server, as a real one of 1.36.3 answered the same requests (tests/e2e/support/
 * scale_requests.ts has them all).
 */
import { assertEquals } from "#assert";
import type { Json } from "../../../support/api_objects.ts";
import { type Answer, MERGE, SimServer, STRATEGIC } from "../../../support/sim_server.ts";

const WEB = "/apis/apps/v1/namespaces/default/deployments/web";
const JSON_PATCH = "application/json-patch+json";
const APPLY = "application/apply-patch+yaml";

/** The deployment "web" of two replicas, by the manager "kubectl". */
async function start(spec: Json = {}): Promise<SimServer> {
  const sim = new SimServer();
  const labels = { app: "web" };
  await sim.create("/apis/apps/v1/namespaces/default/deployments", {
    metadata: { name: "web" },
    spec: {
      replicas: 2,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "main", image: "x:1" }] } },
      ...spec,
    },
  }, { manager: "kubectl" });
  return sim;
}

function put(sim: SimServer, scale: Json, manager = "podfit"): Promise<Answer> {
  const sent = { kind: "Scale", apiVersion: "autoscaling/v1", ...scale, metadata: { name: "web", ...scale.metadata } };
  return sim.call("PUT", `${WEB}/scale`, sent, { manager });
}

function patch(sim: SimServer, body: Json, contentType: string): Promise<Answer> {
  return sim.patch(`${WEB}/scale`, body, { contentType, manager: "podfit" });
}

/** Who owns the replicas: `manager operation subresource`, and whether a time is said. */
async function readOwners(sim: SimServer): Promise<readonly string[]> {
  const { metadata } = await sim.get(WEB);
  return metadata.managedFields.filter(({ fieldsV1 }: Json) => fieldsV1["f:spec"]?.["f:replicas"] !== undefined)
    .map(({ manager, operation, subresource = "-", time }: Json) =>
      `${manager} ${operation} ${subresource}${time === undefined ? "" : " timed"}`
    );
}

Deno.test("a scale shows replicas and selector of its workload, a PUT writes them, and a generation begins", async () => {
  const sim = await start();
  const { body: scale } = await sim.call("GET", `${WEB}/scale`);
  const { metadata: { uid, resourceVersion, creationTimestamp } } = await sim.get(WEB);
  assertEquals(scale, {
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    metadata: { name: "web", namespace: "default", uid, resourceVersion, creationTimestamp },
    spec: { replicas: 2 },
    status: { replicas: 0, selector: "app=web" },
  });
  const { code, body } = await put(sim, { ...scale, spec: { replicas: 5 } });
  assertEquals([code, body.spec, body.metadata.uid], [200, { replicas: 5 }, uid]);
  const { spec, metadata } = await sim.get(WEB);
  assertEquals([spec.replicas, metadata.generation], [5, 2]);
  assertEquals((await put(sim, { spec: { replicas: 5 } })).body.metadata.resourceVersion, metadata.resourceVersion);
});

Deno.test("a scale of zero has no number, as Go leaves it out", async () => {
  const sim = await start();
  assertEquals((await put(sim, {})).body.spec, {});
  assertEquals((await sim.get(WEB)).spec.replicas, 0);
});

Deno.test("who scales owns the replicas without a time, a zero is nobody's, and what is nobody's stays so until it is applied", async () => {
  const sim = await start();
  assertEquals(await readOwners(sim), ["kubectl Update - timed"]);
  await put(sim, { spec: { replicas: 2 } });
  assertEquals(await readOwners(sim), ["kubectl Update - timed"], "the same number");
  await put(sim, { spec: { replicas: 3 } });
  assertEquals(await readOwners(sim), ["podfit Update scale"]);
  await put(sim, { spec: { replicas: 4 } }, "hpa");
  assertEquals(await readOwners(sim), ["hpa Update scale"]);
  await put(sim, {});
  assertEquals(await readOwners(sim), []);
  await put(sim, { spec: { replicas: 1 } });
  assertEquals(await readOwners(sim), []);
  const applied = { apiVersion: "autoscaling/v1", kind: "Scale", metadata: { name: "web" }, spec: { replicas: 6 } };
  assertEquals(
    (await patch(sim, applied, APPLY)).body.message,
    'Apply failed with 1 conflict: conflict with "before-first-apply" with subresource "scale" using autoscaling/v1: ' +
      ".spec.replicas",
  );
  const forced = await sim.patch(`${WEB}/scale?force=true`, applied, { contentType: APPLY, manager: "podfit" });
  assertEquals([forced.code, await readOwners(sim)], [200, ["podfit Apply scale"]]);
});

const STALE =
  'Operation cannot be fulfilled on deployments.apps "web": the object has been modified; please apply your changes ' +
  "to the latest version and try again";
const BELOW =
  'Scale.autoscaling "web" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0';
const UNREADABLE = 'Scale in version "v1" cannot be handled as a Scale: ';
const FIELD = "into Go struct field ScaleSpec.spec.replicas of type int32";

const REFUSED: Readonly<Record<string, readonly [scale: Json, code: number, message: string | RegExp]>> = {
  "at a stale version": [{ metadata: { resourceVersion: "1" }, spec: { replicas: 3 } }, 409, STALE],
  "below zero": [{ spec: { replicas: -1 } }, 422, BELOW],
  "below zero at a stale version": [{ metadata: { resourceVersion: "1" }, spec: { replicas: -1 } }, 422, BELOW],
  "of another uid": [
    { metadata: { uid: "7" }, spec: { replicas: 3 } },
    409,
    /^Operation .* "web": StorageError: invalid object, Code: 4, .*: UID in precondition: 7, UID in object meta: \S+$/,
  ],
  "of a text": [{ spec: { replicas: "3" } }, 400, `${UNREADABLE}json: cannot unmarshal string ${FIELD}`],
  "of a half": [{ spec: { replicas: 1.5 } }, 400, `${UNREADABLE}json: cannot unmarshal number 1.5 ${FIELD}`],
  "of another name": [
    { metadata: { name: "else" } },
    400,
    "the name of the object (else) does not match the name on the URL (web)",
  ],
  "of no name": [
    { metadata: { name: "" } },
    400,
    "the name of the object (web based on URL) was undeterminable: name must be provided",
  ],
};

for (const [what, [scale, code, message]] of Object.entries(REFUSED)) {
  Deno.test(`a scale ${what} is refused in a real server's words, and nothing is written`, async () => {
    const sim = await start();
    await sim.patch(WEB, { metadata: { labels: { a: "b" } } });
    const before = await sim.get(WEB);
    const answer = await put(sim, scale);
    assertEquals(answer.code, code);
    if (typeof message === "string") assertEquals(answer.body.message, message);
    else assertEquals(message.test(answer.body.message), true, answer.body.message);
    assertEquals(await sim.get(WEB), before);
  });
}

Deno.test("a scale takes every form of patch, and none of metadata", async () => {
  const sim = await start();
  const cases: readonly (readonly [string, Json, number])[] = [
    [MERGE, { spec: { replicas: 3 } }, 3],
    [STRATEGIC, { spec: { replicas: 4 } }, 4],
    [JSON_PATCH, [{ op: "replace", path: "/spec/replicas", value: 5 }], 5],
    [MERGE, { metadata: { labels: { a: "b" } } }, 5],
    [MERGE, { spec: null }, 0],
  ];
  for (const [contentType, body, replicas] of cases) {
    assertEquals((await patch(sim, body, contentType)).code, 200);
    const { spec, metadata } = await sim.get(WEB);
    assertEquals([spec.replicas, metadata.labels], [replicas, undefined], contentType);
  }
  assertEquals((await patch(sim, { metadata: { resourceVersion: "1" } }, MERGE)).body.message, STALE);
  assertEquals((await patch(sim, {}, "application/x")).code, 415);
  assertEquals((await sim.call("POST", `${WEB}/scale`, {})).code, 405);
});

Deno.test("a selector is written as kubectl takes it, with `in` for a single value of an expression", async () => {
  const labels = { tier: "a", app: "web", zone: "y", env: "only" };
  const sim = await start({
    selector: {
      matchLabels: { tier: "a", app: "web" },
      matchExpressions: [
        { key: "zone", operator: "In", values: ["z", "y"] },
        { key: "app", operator: "NotIn", values: ["b"] },
        { key: "tier", operator: "Exists" },
        { key: "old", operator: "DoesNotExist" },
        { key: "env", operator: "In", values: ["only"] },
      ],
    },
    template: { metadata: { labels }, spec: { containers: [{ name: "main", image: "x:1" }] } },
  });
  const { body } = await sim.call("GET", `${WEB}/scale`);
  assertEquals(body.status.selector, "app=web,app notin (b),env in (only),!old,tier=a,tier,zone in (y,z)");
});

Deno.test("a custom kind is scaled by the paths of its definition, and found by discovery", async () => {
  const sim = new SimServer();
  const any = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  const paths = { specReplicasPath: ".spec.pods.count", statusReplicasPath: ".status.count" };
  await sim.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
    metadata: { name: "farms.example.com" },
    spec: {
      group: "example.com",
      scope: "Namespaced",
      names: { plural: "farms", kind: "Farm" },
      versions: [{
        name: "v1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object", properties: { spec: any, status: any } } },
        subresources: { status: {}, scale: { ...paths, labelSelectorPath: ".status.selector" } },
      }],
    },
  });
  const farms = "/apis/example.com/v1/namespaces/default/farms";
  const head = { apiVersion: "example.com/v1", kind: "Farm" };
  await sim.create(farms, { ...head, metadata: { name: "web" }, spec: { pods: { count: 2 }, other: 1 } });
  await sim.patch(`${farms}/web/status`, { status: { count: 1, selector: "app=web" } }, { contentType: MERGE });
  const { body } = await sim.call("PUT", `${farms}/web/scale`, { metadata: { name: "web" }, spec: { replicas: 7 } });
  assertEquals([body.spec, body.status], [{ replicas: 7 }, { replicas: 1, selector: "app=web" }]);
  assertEquals((await sim.get(`${farms}/web`)).spec, { pods: { count: 7 }, other: 1 });
  await sim.create(farms, { ...head, metadata: { name: "none" }, spec: {} });
  assertEquals((await sim.call("GET", `${farms}/none/scale`)).code, 500);
  for (
    const [path, name] of [["/apis/example.com/v1", "farms/scale"], ["/apis/apps/v1", "deployments/scale"]] as const
  ) {
    const { resources } = await sim.get(path);
    const { kind, group, version, verbs } = resources.find((one: Json) => one.name === name);
    assertEquals([kind, group, version, verbs], ["Scale", "autoscaling", "v1", ["get", "patch", "update"]]);
  }
});
