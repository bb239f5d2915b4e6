/** Metadata alone, as informers of Go's metadata client ask for it: protobuf first, then JSON. */
import { assertEquals } from "#assert";
import { settleEventLoop } from "../../../support/virtual_clock.ts";
import type { Json } from "../../../support/api_objects.ts";
import { expectOk, podManifest, SimServer } from "../../../support/sim_server.ts";

const PODS = "/api/v1/namespaces/default/pods";
const AS = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const AS_LIST = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

/** As client-go writes it. */
function accept(as: string): { readonly headers: Readonly<Record<string, string>> } {
  const types = [`application/vnd.kubernetes.protobuf${as}`, `application/json${as}`, "application/json"];
  return { headers: { accept: types.join(",") } };
}

Deno.test("a list of metadata has each object's metadata and nothing else of it", async () => {
  const sim = new SimServer();
  await sim.create(PODS, podManifest("a"));
  const { kind, apiVersion, metadata, items } = expectOk(await sim.call("GET", PODS, undefined, accept(AS_LIST)));
  assertEquals([kind, apiVersion], ["PartialObjectMetadataList", "meta.k8s.io/v1"]);
  const pod = await sim.get(`${PODS}/a`);
  assertEquals(metadata.resourceVersion, pod.metadata.resourceVersion);
  assertEquals(items, [{ kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata: pod.metadata }]);
  const plain = expectOk(await sim.call("GET", PODS, undefined, { headers: { accept: "application/json" } }));
  assertEquals([plain.kind, plain.items[0].spec.containers.length], ["PodList", 1]);
});

Deno.test("a watch of metadata tells changes and bookmarks as metadata", async () => {
  const sim = new SimServer();
  await sim.create(PODS, podManifest("a"));
  const query = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
  const response = await sim.send("GET", `${PODS}?${query}`, undefined, accept(AS));
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  await settleEventLoop();
  await sim.create(PODS, podManifest("b"));
  await settleEventLoop();
  const events: Json[] = [];
  while (events.length < 3) {
    const { value = "" } = await reader?.read() ?? {};
    events.push(...value.split("\n").filter(Boolean).map((line) => JSON.parse(line)));
  }
  await reader?.cancel();
  await settleEventLoop();
  assertEquals(events.map(({ type, object }) => `${type} ${object.metadata.name ?? "-"} ${object.kind}`), [
    "ADDED a PartialObjectMetadata",
    "BOOKMARK - PartialObjectMetadata",
    "ADDED b PartialObjectMetadata",
  ]);
  assertEquals(events.filter(({ object }) => "spec" in object || "status" in object), []);
});
