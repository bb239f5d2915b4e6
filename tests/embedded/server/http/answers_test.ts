/**
 * Answers of a real 1.36.3 that tests/e2e/embedded_answers_test.ts found the embedded API server not to give: what it
 * refuses and in which words, and what deletions, lists and subresources leave and show.
 */
import { assertEquals } from "#assert";
import type { Json } from "../../../support/api_objects.ts";
import { toManifest } from "../../../support/manifests.ts";
import { expectOk, MERGE, podManifest, SimServer, STRATEGIC } from "../../../support/sim_server.ts";

const PODS = "/api/v1/namespaces/rec/pods";
const MAPS = "/api/v1/namespaces/rec/configmaps";
const LEASES = "/apis/coordination.k8s.io/v1/namespaces/rec/leases";
const SCALERS = "/apis/keda.kedify.io/v1alpha1/namespaces/rec/podresourceautoscalers";

async function start(): Promise<SimServer> {
  const sim = new SimServer();
  await sim.createNamespace("rec");
  await sim.createDefinition();
  await sim.create(PODS, podManifest("a"));
  await sim.create(MAPS, { metadata: { name: "m", labels: { a: "b" } } });
  await sim.create(LEASES, { metadata: { name: "l" } });
  await sim.create(SCALERS, toManifest({ "metadata.name": "s" }));
  return sim;
}

type Row = readonly [sentence: string, request: Parameters<SimServer["call"]>, code: number, words: string];

const REFUSED: readonly Row[] = [
  [
    "an update of an autoscaler that says no version",
    ["PUT", `${SCALERS}/s`, toManifest({ "metadata.name": "s" })],
    422,
    'podresourceautoscalers.keda.kedify.io "s" is invalid: metadata.resourceVersion: Invalid value: 0: ' +
    "must be specified for an update",
  ],
  [
    "an update of a lease that says no version",
    ["PUT", `${LEASES}/l`, { metadata: { name: "l" }, spec: {} }],
    422,
    'leases.coordination.k8s.io "l" is invalid: metadata.resourceVersion: Invalid value: 0: ' +
    "must be specified for an update",
  ],
  [
    "a new object with a version",
    ["POST", MAPS, { metadata: { name: "x", resourceVersion: "5" } }],
    500,
    "resourceVersion should not be set on objects to be created",
  ],
  [
    "a finalizer without a domain",
    ["POST", MAPS, { metadata: { name: "x", finalizers: ["held"] } }],
    422,
    'ConfigMap "x" is invalid: metadata.finalizers[0]: Invalid value: "held": name is neither a standard finalizer ' +
    "name nor is it fully qualified",
  ],
  [
    "an item of a list without its key",
    ["PATCH", `${PODS}/a`, { spec: { containers: [{ image: "x" }] } }, { contentType: STRATEGIC }],
    500,
    "map: map[image:x] does not contain declared merge key: name",
  ],
  [
    "an exact list of any version",
    ["GET", `${PODS}?resourceVersion=0&resourceVersionMatch=Exact`],
    422,
    'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch "exact" is ' +
    'forbidden for resourceVersion "0"',
  ],
  [
    "a match nobody knows",
    ["GET", `${PODS}?resourceVersion=1&resourceVersionMatch=Some`],
    422,
    'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Unsupported value: "Some": supported values: ' +
    '"Exact", "NotOlderThan", ""',
  ],
  [
    "a page with a match",
    ["GET", `${PODS}?continue=x&resourceVersion=1&resourceVersionMatch=Exact`],
    422,
    'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when ' +
    "continue is provided",
  ],
  [
    "an object at no version",
    ["GET", `${PODS}/a?resourceVersion=abc`],
    500,
    'resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax',
  ],
  [
    "all namespaces away",
    ["DELETE", "/api/v1/namespaces"],
    405,
    "the server does not allow this method on the requested resource",
  ],
  [
    "a namespace with a dot",
    ["POST", "/api/v1/namespaces", { metadata: { name: "a.b" } }],
    422,
    'Namespace "a.b" is invalid: metadata.name: Invalid value: "a.b": must not contain dots',
  ],
];

for (const [sentence, request, code, words] of REFUSED) {
  Deno.test(`the embedded API server refuses ${sentence}, in a real one's words`, async () => {
    const sim = await start();
    const answer = await sim.call(...request);
    assertEquals([answer.code, answer.body.message], [code, words]);
  });
}

for (const selector of ["-a=b", "a=-b", "a in (b,-c)", "!-a"]) {
  Deno.test(`the label selector "${selector}" is refused`, async () => {
    const sim = await start();
    const { code, body } = await sim.call("GET", `${PODS}?labelSelector=${encodeURIComponent(selector)}`);
    assertEquals([code, body.message.slice(0, 29)], [400, "unable to parse requirement: "]);
  });
}

Deno.test("an object takes no status but through its subresource, not even its first one (C54)", async () => {
  const sim = await start();
  const patch = (path: string) =>
    sim.patch(path, { spec: { paused: true }, status: { scaling: true } }, { contentType: MERGE });
  const { spec, status } = expectOk(await patch(`${SCALERS}/s`));
  assertEquals([spec.paused, status], [true, undefined]);
  assertEquals(expectOk(await patch(`${SCALERS}/s/status`)).status, { scaling: true });
});

Deno.test("what is being deleted can be held back by nothing new", async () => {
  const sim = await start();
  const hold = (...finalizers: string[]) =>
    sim.patch(`${MAPS}/m`, { metadata: { finalizers } }, { contentType: MERGE });
  expectOk(await hold("example.com/one", "example.com/two"));
  expectOk(await sim.call("DELETE", `${MAPS}/m`));
  const { code, body } = await hold("example.com/one", "example.com/new");
  assertEquals([code, body.details.causes.length], [422, 2]);
  expectOk(await hold("example.com/one"));
  const last = (await sim.get(`${MAPS}/m`)).metadata.resourceVersion;
  assertEquals(expectOk(await hold()).metadata.resourceVersion, last);
  assertEquals((await sim.call("GET", `${MAPS}/m`)).code, 404);
});

Deno.test("the first mark of a deletion begins a generation, a sooner one does not, and the end shows it", async () => {
  const sim = await start();
  await sim.create(PODS, podManifest("bound", {}, { nodeName: "n" }));
  const remove = async (name: string, grace: string) => {
    const { generation, deletionGracePeriodSeconds } = expectOk(
      await sim.call("DELETE", `${PODS}/${name}?gracePeriodSeconds=${grace}`),
    ).metadata;
    return [generation, deletionGracePeriodSeconds];
  };
  assertEquals(await remove("bound", "30"), [2, 30]);
  assertEquals(await remove("bound", "5"), [2, 5]);
  assertEquals(await remove("bound", "0"), [2, 0]);
  assertEquals(await remove("a", "30"), [2, 0]);
});

Deno.test("deleting a collection lists what it deleted, and one object says its name without a code", async () => {
  const sim = await start();
  const { kind, items } = expectOk(await sim.call("DELETE", PODS));
  assertEquals([kind, items.map(({ metadata }: Json) => metadata.name)], ["PodList", ["a"]]);
  const { status, code, details } = expectOk(await sim.call("DELETE", `${MAPS}/m`));
  assertEquals([status, code, details.name], ["Success", undefined, "m"]);
});

Deno.test("how many remain is told of whole lists alone", async () => {
  const sim = await start();
  for (const name of ["b", "c"]) await sim.create(PODS, podManifest(name));
  assertEquals((await sim.get(`${PODS}?limit=1`)).metadata.remainingItemCount, 2);
  const { metadata } = await sim.get(`${PODS}?limit=1&labelSelector=app`);
  assertEquals([metadata.remainingItemCount, typeof metadata.continue], [undefined, "string"]);
});

Deno.test("the last label takes the labels with it", async () => {
  const sim = await start();
  const patch = { metadata: { labels: { a: null } } };
  const { metadata } = expectOk(await sim.patch(`${MAPS}/m`, patch, { contentType: MERGE }));
  assertEquals(metadata.labels, undefined);
});

Deno.test("a group that is not there answers in plain text, before and behind its version", async () => {
  const sim = await start();
  for (const path of ["/apis/none.example/v1/things", "/apis/apps/v9/deployments"]) {
    assertEquals(await sim.call("GET", path), { code: 404, body: "404 page not found\n" });
  }
  const { message } = (await sim.call("GET", "/apis/apps/v1/things")).body;
  assertEquals(message, "the server could not find the requested resource");
});

Deno.test("a body that is too large or too deep is refused before anybody walks through it", async () => {
  const sim = await start();
  const large = await sim.call("POST", MAPS, { metadata: { name: "x" }, data: { a: "x".repeat(4_000_000) } });
  assertEquals([large.code, large.body.message], [413, "Request entity too large: limit is 3145728"]);
  const text = `{"data":${"[".repeat(200_000)}${"]".repeat(200_000)}}`;
  assertEquals((await sim.call("POST", MAPS, text)).code, 400);
  assertEquals((await sim.call("PATCH", `${MAPS}/m`, text, { contentType: MERGE })).code, 400);
});
