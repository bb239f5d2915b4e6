/** HorizontalPodAutoscalers, Secrets and ConfigMaps of the embedded API server, as a real one of 1.36.3 answered. */
import { assertEquals } from "#assert";
import type { Json } from "../../../support/api_objects.ts";
import { type Answer, MERGE, SimServer } from "../../../support/sim_server.ts";

const HPAS = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers";
const MAPS = "/api/v1/namespaces/default/configmaps";
const SECRETS = "/api/v1/namespaces/default/secrets";

function toHpa(spec: Json, metadata: Json = {}): Json {
  const scaleTargetRef = { apiVersion: "apps/v1", kind: "Deployment", name: "web" };
  return { metadata: { name: "web", ...metadata }, spec: { scaleTargetRef, maxReplicas: 5, ...spec } };
}

Deno.test("an HPA is given what it leaves out, an empty behavior field by field and a missing one not at all", async () => {
  const sim = new SimServer();
  const plain = await sim.create(HPAS, toHpa({}));
  const target = { type: "Utilization", averageUtilization: 80 };
  assertEquals(plain.spec.metrics, [{ type: "Resource", resource: { name: "cpu", target } }]);
  assertEquals([plain.spec.minReplicas, plain.spec.behavior], [1, undefined]);
  assertEquals([plain.status, plain.metadata.generation], [{ desiredReplicas: 0, currentMetrics: null }, undefined]);
  const filled = await sim.create(HPAS, toHpa({ behavior: { scaleDown: { tolerance: "0.05" } } }, { name: "b" }));
  const percent = { type: "Percent", value: 100, periodSeconds: 15 };
  assertEquals(filled.spec.behavior, {
    scaleUp: {
      stabilizationWindowSeconds: 0,
      selectPolicy: "Max",
      policies: [{ type: "Pods", value: 4, periodSeconds: 15 }, percent],
    },
    scaleDown: { selectPolicy: "Max", policies: [percent], tolerance: "50m" },
  });
});

const HPA_PROBLEMS: Readonly<Record<string, readonly [spec: Json, fields: readonly string[]]>> = {
  "a maximum below its minimum": [{ minReplicas: 6 }, ["maxReplicas"]],
  "a minimum of zero": [{ minReplicas: 0 }, ["minReplicas", "metrics"]],
  "no maximum": [{ maxReplicas: 0 }, ["maxReplicas", "maxReplicas"]],
  "a target without a name or group": [
    { scaleTargetRef: { kind: "Pod", apiVersion: "v1" } },
    ["scaleTargetRef.name", "scaleTargetRef.apiVersion"],
  ],
  "an unknown metric": [{ metrics: [{ type: "Cpu" }] }, ["metrics[0].type"]],
  "bad rules": [{
    behavior: {
      scaleUp: { stabilizationWindowSeconds: 3601, selectPolicy: "Some", policies: [] },
      scaleDown: { policies: [{ type: "Pots", value: 0, periodSeconds: 1801 }], tolerance: "-1" },
    },
  }, [
    ...["stabilizationWindowSeconds", "selectPolicy", "policies"].map((one) => `behavior.scaleUp.${one}`),
    ...["policies[0].type", "policies[0].value", "policies[0].periodSeconds", "tolerance"]
      .map((one) => `behavior.scaleDown.${one}`),
  ]],
};

for (const [what, [spec, fields]] of Object.entries(HPA_PROBLEMS)) {
  Deno.test(`an HPA of ${what} is refused by field`, async () => {
    const { code, body } = await new SimServer().call("POST", HPAS, toHpa(spec));
    assertEquals(code, 422);
    assertEquals(body.details.causes.map(({ field }: Json) => field), fields.map((field) => `spec.${field}`));
  });
}

Deno.test("an HPA is deleted by uid and version, or refused with its group", async () => {
  const sim = new SimServer();
  const { metadata } = await sim.create(HPAS, toHpa({}));
  const remove = (preconditions: Json) => sim.call("DELETE", `${HPAS}/web`, { preconditions });
  const refusals = [await remove({ uid: "7" }), await remove({ uid: metadata.uid, resourceVersion: "1" })];
  const head = 'Operation cannot be fulfilled on HorizontalPodAutoscaler.autoscaling "web": the ';
  assertEquals(
    refusals.map(({ code, body }) => [code, body.message.slice(0, head.length)]),
    Array(2).fill([409, head]),
  );
  const { uid, resourceVersion } = metadata;
  assertEquals((await remove({ uid, resourceVersion })).code, 200);
  assertEquals((await sim.call("GET", `${HPAS}/web`)).code, 404);
});

Deno.test("plain text of a Secret is kept as bytes, and what is no bytes is refused", async () => {
  const sim = new SimServer();
  const secret = await sim.create(SECRETS, { metadata: { name: "a" }, stringData: { token: "äb", none: "" } });
  assertEquals([secret.data, secret.stringData, secret.type], [{ token: "w6Ri", none: "" }, undefined, "Opaque"]);
  await sim.patch(`${SECRETS}/a`, { stringData: { token: "new" } }, { contentType: MERGE });
  assertEquals((await sim.get(`${SECRETS}/a`)).data, { token: "bmV3", none: "" });
  const bad = await sim.call("POST", SECRETS, { metadata: { name: "b" }, data: { token: "?" } });
  const why = "illegal base64 data at input byte 0";
  assertEquals(bad.body.message, `Secret in version "v1" cannot be handled as a Secret: ${why}`);
});

Deno.test("keys, types and what is for good are checked in Secrets and ConfigMaps", async () => {
  const sim = new SimServer();
  await sim.create(SECRETS, { metadata: { name: "a" } });
  await sim.create(MAPS, { metadata: { name: "a" }, data: { a: "1" }, immutable: true });
  const patch = (path: string, body: Json) => sim.patch(path, body, { contentType: MERGE });
  const cases: readonly (readonly [Promise<Answer>, string])[] = [
    [sim.call("POST", SECRETS, { metadata: { name: "b" }, data: { "a b": "" } }), "data[a b]"],
    [sim.call("POST", MAPS, { metadata: { name: "b" }, data: { "a b": "" } }), "data[a b]"],
    [sim.call("POST", MAPS, { metadata: { name: "b" }, data: { a: "" }, binaryData: { a: "" } }), "data[a]"],
    [patch(`${SECRETS}/a`, { type: "example.com/other" }), "type"],
    [patch(`${MAPS}/a`, { data: { a: "2" } }), "data"],
    [patch(`${MAPS}/a`, { immutable: false }), "immutable"],
  ];
  for (const [answer, field] of cases) {
    const { code, body } = await answer;
    assertEquals([code, body.details?.causes?.[0].field], [422, field]);
  }
});
