/** Field ownership in the embedded API server, against what a real one recorded for the same writes. */
import { assertEquals } from "#assert";
import type { Json } from "../../../support/api_objects.ts";
import { expectOk, MERGE, podManifest, secondsAfterStart, SimServer } from "../../../support/sim_server.ts";
import { type OwnedFields, parseResizeEntries } from "../../../../lib/units/managed_fields.ts";
import { RESOURCE_FIELDS, type ResourceField } from "../../../../lib/units/resources.ts";

const A = "/api/v1/namespaces/rec/pods/a";
const SIZE = { requests: { cpu: "100m", memory: "64Mi" }, limits: { cpu: "200m", memory: "128Mi" } };

async function start(): Promise<SimServer> {
  const sim = new SimServer();
  await sim.createNamespace("rec");
  const pod = podManifest("a", SIZE, { terminationGracePeriodSeconds: 1 });
  Object.assign(pod.spec.containers[0], {
    imagePullPolicy: "Never",
    env: [{ name: "CPU", value: "50" }, { name: "MEM", value: "16" }],
  });
  pod.metadata.annotations = { "kubectl.kubernetes.io/last-applied-configuration": "{}" };
  await sim.create("/api/v1/namespaces/rec/pods", pod, { manager: "kubectl-client-side-apply" });
  await sim.clock.advance(37_000);
  return sim;
}

async function resize(sim: SimServer, manager: string, resources: Json): Promise<Json> {
  const patch = { spec: { containers: [{ name: "main", resources }] } };
  return expectOk(await sim.patch(`${A}/resize`, patch, { manager }));
}

const UP = { requests: { cpu: "150m", memory: "80Mi" }, limits: { cpu: "300m", memory: "160Mi" } };

Deno.test("a created pod's fields belong to who created it, as recorded", async () => {
  const sim = await start();
  const { managedFields } = (await sim.get(A)).metadata;
  const recorded = readRecorded("pods/fresh").metadata.managedFields[0];
  assertEquals(managedFields, [{ ...recorded, time: secondsAfterStart(0) }]);
});

Deno.test("a resize takes its fields from their owner and has an entry of its own, as recorded (C42)", async () => {
  const sim = await start();
  const { managedFields } = (await resize(sim, "podfit", UP)).metadata;
  const entries = withoutTimes(readRecorded("managed_fields/one_manager"));
  // The kubelet writes nothing here.
  assertEquals(withoutTimes(managedFields).at(-1), entries.find((entry: Json) => entry.manager === "podfit"));
  assertEquals(managedFields.at(-1).time, secondsAfterStart(37));
  assertEquals(managedFields[0].fieldsV1["f:spec"]["f:containers"]['k:{"name":"main"}']["f:resources"], {
    ".": {},
    "f:limits": {},
    "f:requests": {},
  });
});

Deno.test("another manager's resize takes only what it changes, and the last field takes the entry (C42)", async () => {
  const sim = await start();
  await resize(sim, "podfit", UP);
  await sim.clock.advance(12_000);
  const shared =
    (await resize(sim, "vpa", { ...UP, requests: { cpu: "160m", memory: "80Mi" } })).metadata.managedFields;
  assertEquals(parseResizeEntries(shared), [
    {
      manager: "podfit",
      at: Date.parse(secondsAfterStart(37)),
      owned: owns(RESOURCE_FIELDS.filter((key) => key !== "cpu.requests")),
    },
    { manager: "vpa", at: Date.parse(secondsAfterStart(49)), owned: owns(["cpu.requests"]) },
  ]);
  const taken = { requests: { cpu: "170m", memory: "81Mi" }, limits: { cpu: "310m", memory: "161Mi" } };
  const { managedFields } = (await resize(sim, "vpa", taken)).metadata;
  assertEquals(parseResizeEntries(managedFields).map(({ manager }) => manager), ["vpa"]);
});

Deno.test("a later resize of the same fields moves the time of its entry (C42)", async () => {
  const sim = await start();
  await resize(sim, "podfit", UP);
  await sim.clock.advance(60_000);
  const { managedFields } = (await resize(sim, "podfit", SIZE)).metadata;
  assertEquals(parseResizeEntries(managedFields).map(({ at }) => at), [Date.parse(secondsAfterStart(97))]);
});

Deno.test("labels in a resize are dropped, yet owned, and move its time, as recorded", async () => {
  const sim = await start();
  await resize(sim, "podfit", UP);
  await sim.clock.advance(10_000);
  const patch = { metadata: { labels: { zz: "1" } }, spec: { containers: [{ name: "main", image: "other" }] } };
  const { metadata } = expectOk(await sim.patch(`${A}/resize`, patch, { manager: "podfit" }));
  assertEquals([metadata.labels, metadata.generation], [{ app: "a" }, 2]);
  const { time, fieldsV1 } = metadata.managedFields.at(-1);
  assertEquals(time, secondsAfterStart(47));
  assertEquals(fieldsV1["f:metadata"], { "f:labels": { "f:zz": {} } });
  assertEquals(fieldsV1["f:spec"]["f:containers"]['k:{"name":"main"}']["f:image"], {});
});

Deno.test("a status has entries apart from the object's, with conditions owned by type", async () => {
  const sim = await start();
  const status = { conditions: [{ type: "Ready", status: "True", lastProbeTime: null }], phase: "Running" };
  const { body } = await sim.patch(`${A}/status`, { status }, { manager: "kubelet" });
  assertEquals(body.status.phase, "Running");
  assertEquals(body.metadata.managedFields.at(-1), {
    manager: "kubelet",
    operation: "Update",
    apiVersion: "v1",
    time: secondsAfterStart(37),
    fieldsType: "FieldsV1",
    fieldsV1: {
      "f:status": {
        "f:conditions": {
          ".": {},
          'k:{"type":"Ready"}': {
            ".": {},
            "f:lastProbeTime": {},
            "f:lastTransitionTime": {},
            "f:status": {},
            "f:type": {},
          },
        },
        "f:phase": {},
      },
    },
    subresource: "status",
  });
});

Deno.test("removed fields leave every entry, and one without fields is gone", async () => {
  const sim = await start();
  await sim.patch(A, { metadata: { labels: { x: "y" } } }, { manager: "labeller" });
  const { body } = await sim.patch(A, { metadata: { labels: { x: null } } }, { manager: "other", contentType: MERGE });
  assertEquals(body.metadata.managedFields.map((entry: Json) => entry.manager), ["kubectl-client-side-apply"]);
});

Deno.test("server-side apply owns what it names, gives up what it no longer names, and forces only when told", async () => {
  const sim = new SimServer();
  await sim.createNamespace("rec");
  const path = "/api/v1/namespaces/rec/configmaps/c";
  const send = (data: Json, manager: string, force = false) =>
    sim.call(
      "PATCH",
      `${path}${force ? "?force=true" : ""}`,
      JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", data }),
      {
        contentType: "application/apply-patch+yaml",
        manager,
      },
    );
  assertEquals((await send({ a: "1", b: "1" }, "one")).code, 201);
  assertEquals((await send({ a: "1" }, "two")).code, 200);
  const refused = await send({ b: "2" }, "two");
  assertEquals([refused.code, refused.body.message], [
    409,
    'Apply failed with 1 conflict: conflict with "one" using v1: .data.b',
  ]);
  assertEquals((await send({ b: "2" }, "two", true)).body.data, { a: "1", b: "2" });
  // Nobody else applied a.
  assertEquals((await send({}, "one")).body.data, { b: "2" });
});

function owns(sides: readonly ResourceField[]): readonly OwnedFields[] {
  return [{ container: "main", sides }];
}

function readRecorded(name: string): Json {
  return JSON.parse(Deno.readTextFileSync(new URL(`../../../testdata/${name}.json`, import.meta.url)));
}

function withoutTimes(entries: Json): Json {
  return entries.map(({ time: _time, ...entry }: Json) => entry);
}
