/** Autoscalers in the embedded API server: served, completed and checked as the definition says. */
import { assert, assertEquals } from "#assert";
import { parseAutoscaler } from "../../../../lib/resources/pod_resource_autoscaler/parse.ts";
import type { Json } from "../../../support/api_objects.ts";
import { expectOk, MERGE, SimServer } from "../../../support/sim_server.ts";

const GROUP = "/apis/keda.kedify.io/v1alpha1";
const PATH = `${GROUP}/namespaces/rec/podresourceautoscalers`;

const CONDITION = { reason: "Valid", message: "", lastTransitionTime: "2026-11-20T11:00:00Z" };

async function start(): Promise<SimServer> {
  const sim = new SimServer();
  await sim.createNamespace("rec");
  await sim.createDefinition();
  return sim;
}

function autoscaler(policy: Json = {}): Json {
  const cpu = { requests: { scaleUpThreshold: 80, scaleDownThreshold: 40, targetUtilization: 60 } };
  return {
    apiVersion: "keda.kedify.io/v1alpha1",
    kind: "PodResourceAutoscaler",
    metadata: { name: "web" },
    spec: {
      target: { kind: "deployment", name: "web" },
      containerName: "main",
      policy: { pollInterval: "5s", consecutiveSamples: 2, cooldown: "1m", cpu, ...policy },
    },
  };
}

Deno.test("autoscalers exist from the moment that their definition does, and go with it", async () => {
  const sim = new SimServer();
  await sim.createNamespace("rec");
  const before = await sim.call("GET", `${GROUP}/podresourceautoscalers`);
  assertEquals([before.code, before.body], [404, "404 page not found\n"]);
  await sim.createDefinition();
  const name = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/podresourceautoscalers.keda.kedify.io";
  const { status } = await sim.get(name);
  assertEquals(status.conditions.map(({ type, status }: Json) => `${type}=${status}`), [
    "NamesAccepted=True",
    "Established=True",
  ]);
  await sim.create(PATH, autoscaler());
  assertEquals((await sim.get(`${GROUP}/podresourceautoscalers`)).items[0].kind, "PodResourceAutoscaler");
  expectOk(await sim.call("DELETE", name));
  assertEquals((await sim.call("GET", PATH)).code, 404);
  await sim.createDefinition();
  assertEquals((await sim.get(PATH)).items, []);
});

Deno.test("an autoscaler is completed by the definition's defaults and loses what it does not know (C2, C3)", async () => {
  const sim = await start();
  const sent = autoscaler({ unknown: 1 });
  sent.status = { scaling: true };
  const { spec, status, metadata } = await sim.create(PATH, sent);
  assertEquals([spec.paused, spec.priority, spec.policy.after, spec.policy.delay], [false, 0, "containerReady", "15s"]);
  assertEquals([spec.policy.unknown, status, metadata.generation], [undefined, undefined, 1]);
  assert(parseAutoscaler({ ...sent, spec, metadata, status: undefined }).ok);
});

Deno.test("a field that the definition does not know is refused where the client is strict, as kubectl is", async () => {
  const sim = await start();
  const strict = await sim.call("POST", `${PATH}?fieldValidation=Strict`, autoscaler({ unknownField: 1 }));
  assertEquals([strict.code, strict.body.message], [
    400,
    'PodResourceAutoscaler in version "v1alpha1" cannot be handled as a PodResourceAutoscaler: strict decoding error: ' +
    'unknown field "spec.policy.unknownField"',
  ]);
  assertEquals((await sim.call("POST", `${PATH}?fieldValidation=Strict`, autoscaler())).code, 201);
});

Deno.test("a wrong autoscaler is refused with the path of each problem (C7)", async () => {
  const sim = await start();
  const { code, body } = await sim.call("POST", PATH, autoscaler({ cooldown: "soon", consecutiveSamples: 0 }));
  assertEquals([code, body.reason, body.details.kind], [422, "Invalid", "PodResourceAutoscaler"]);
  assertEquals(body.details.causes.map(({ field }: Json) => field).sort(), [
    "spec.policy.consecutiveSamples",
    "spec.policy.cooldown",
  ]);
  const bare = await sim.call("POST", PATH, { metadata: { name: "x" } });
  assertEquals(bare.body.details.causes[0], {
    reason: "FieldValueRequired",
    message: "Required value",
    field: "spec",
  });
});

Deno.test("an autoscaler's status is written beside its spec and begins no generation (C5)", async () => {
  const sim = await start();
  await sim.create(PATH, autoscaler());
  const conditions = [{
    type: "Ready",
    status: "True",
    reason: "Valid",
    message: "",
    lastTransitionTime: "2026-11-20T11:00:00Z",
  }];
  const patch = { status: { conditions, scaling: false }, spec: { paused: true } };
  const written = expectOk(await sim.patch(`${PATH}/web/status`, patch, { contentType: MERGE, manager: "podfit" }));
  assertEquals([written.metadata.generation, written.spec.paused, written.status.scaling], [1, false, false]);
  const entry = written.metadata.managedFields.find(({ manager }: Json) => manager === "podfit");
  assertEquals(entry.subresource, "status");
  const changed = expectOk(await sim.patch(`${PATH}/web`, { spec: { paused: true } }, { contentType: MERGE }));
  assertEquals([changed.metadata.generation, changed.status.scaling], [2, false]);
});

Deno.test("autoscalers take no strategic merge patch, as a real server says", async () => {
  const sim = await start();
  await sim.create(PATH, autoscaler());
  const { code, body } = await sim.patch(`${PATH}/web`, {});
  assertEquals([code, body.message], [
    415,
    "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, " +
    "application/merge-patch+json, application/apply-patch+yaml",
  ]);
});

Deno.test("kubectl's columns of an autoscaler are those of the definition (C6)", async () => {
  const sim = await start();
  await sim.create(PATH, autoscaler());
  const status = {
    conditions: [
      { ...CONDITION, type: "Ready", status: "True" },
      { ...CONDITION, type: "Active", status: "False" },
      { ...CONDITION, type: "Limited", status: "True" },
    ],
    pods: 3,
    requests: { cpu: "250m", memory: "96Mi" },
    waiting: "Quota",
    lastScaleTime: "2026-11-20T10:58:30Z",
  };
  await sim.patch(`${PATH}/web/status`, { status }, { contentType: MERGE });
  const accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
  const { body } = await sim.call("GET", PATH, undefined, { headers: { accept } });
  assertEquals(body.columnDefinitions.map(({ name }: Json) => name), [
    "Name",
    "Target",
    "Pods",
    "CPU",
    "Memory",
    "Limited",
    "Ready",
    "Age",
    "Mode",
    "Profile",
    "Waiting",
    "Last Change",
    "Last Scale",
  ]);
  const sizes = [3, "250m", "96Mi"];
  assertEquals(body.rows[0].cells, [
    ...["web", "web", ...sizes, "True", "True", "0s", "apply", null, "Quota", null, "90s"],
  ]);
});
