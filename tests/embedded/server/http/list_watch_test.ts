/** Lists and watches of the embedded API server, asked by hand and by the client that podfit uses. */
import { assert, assertEquals } from "#assert";
import type { KubeObject } from "../../../../lib/kube/list.ts";
import { watchList } from "../../../../lib/kube/watch.ts";
import { settleEventLoop } from "../../../support/virtual_clock.ts";
import type { Json } from "../../../support/api_objects.ts";
import { ORIGIN, podManifest, SimServer } from "../../../support/sim_server.ts";

const PODS = "/api/v1/namespaces/rec/pods";

async function start(count = 0, options = {}): Promise<SimServer> {
  const sim = new SimServer(options);
  await sim.createNamespace("rec");
  for (let index = 0; index < count; index++) {
    await sim.create(PODS, podManifest(`p${index}`, {}, { nodeName: `node${index % 2}` }));
  }
  return sim;
}

/** Follows a collection as podfit does, and tells what it saw. */
function follow(sim: SimServer, query: { fieldSelector?: string; pageSize?: number } = {}) {
  const ending = new AbortController();
  const seen: string[] = [];
  const errors: string[] = [];
  const following = (async () => {
    const events = watchList(sim.api.handle, {
      origin: ORIGIN,
      path: PODS,
      clock: sim.clock,
      random: () => 0,
      signal: ending.signal,
      ...query,
      project: ({ metadata }: KubeObject) => metadata.name,
      onError: (error) => void errors.push(error.message),
    });
    for await (const event of events) {
      seen.push(event.kind === "listed" ? `listed ${event.objects.join(" ")}` : `${event.kind} ${event.object}`);
    }
  })();
  const stop = async () => {
    ending.abort();
    await following;
  };
  return { seen, errors, [Symbol.asyncDispose]: stop };
}

/** The lines of a watch until now; it goes on. */
async function openWatch(sim: SimServer, query: string) {
  const response = await sim.send("GET", `${PODS}?watch=true&${query}`);
  assert(response.body !== null);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const events: Json[] = [];
  let end = "";
  const reading = (async () => {
    try {
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        events.push(...part.value.split("\n").filter(Boolean).map((line) => JSON.parse(line)));
      }
      end = "closed";
    } catch (error) {
      end = String(error);
    }
  })();
  await settleEventLoop();
  return {
    events,
    types: () => events.map(({ type, object }) => `${type} ${object.metadata?.name ?? object.reason ?? ""}`.trim()),
    end: () => end,
    async [Symbol.asyncDispose]() {
      await reader.cancel();
      await reading;
    },
  };
}

Deno.test("a list pages through one snapshot, whatever changes meanwhile", async () => {
  const sim = await start(5);
  const first = await sim.get(`${PODS}?limit=2`);
  assertEquals([first.kind, first.items.length, first.metadata.remainingItemCount], ["PodList", 2, 3]);
  await sim.call("DELETE", `${PODS}/p4?gracePeriodSeconds=0`);
  await sim.create(PODS, podManifest("p9"));
  const second = await sim.get(`${PODS}?limit=2&continue=${first.metadata.continue}`);
  const third = await sim.get(`${PODS}?limit=2&continue=${second.metadata.continue}`);
  const names = [first, second, third].flatMap(({ items }) => items.map((item: Json) => item.metadata.name));
  assertEquals(names, ["p0", "p1", "p2", "p3", "p4"]);
  assertEquals([second, third].map(({ metadata }) => metadata.resourceVersion), [
    first.metadata.resourceVersion,
    first.metadata.resourceVersion,
  ]);
  assertEquals(third.metadata.continue, undefined);
  // As Go writes lists: an item does not say again what it is.
  assertEquals([first.items[0].kind, first.items[0].apiVersion], [undefined, undefined]);
});

Deno.test("a token is too old after five minutes and after the history expired", async () => {
  const sim = await start(3);
  for (const age of [() => sim.clock.advance(300_000), () => sim.api.expireHistory()]) {
    const { metadata } = await sim.get(`${PODS}?limit=1`);
    await age();
    const { code, body } = await sim.call("GET", `${PODS}?limit=1&continue=${metadata.continue}`);
    assertEquals([code, body.reason], [410, "Expired"]);
  }
});

Deno.test("lists are refused as a real server did: bad limit, selector and versions", async () => {
  const sim = await start();
  const answers = await Promise.all([
    sim.call("GET", `${PODS}?limit=abc`),
    sim.call("GET", `${PODS}?fieldSelector=spec.foo%3Dx`),
    sim.call("GET", `${PODS}?resourceVersion=99999999`),
    sim.call("GET", `${PODS}?resourceVersion=1&resourceVersionMatch=Exact`),
    sim.call("GET", "/api/v1/podz"),
    sim.call("GET", "/nothing"),
  ]);
  assertEquals(answers.map(({ code, body }) => [code, body.message ?? body]), [
    [400, 'strconv.ParseInt: parsing "abc": invalid syntax'],
    [400, "field label not supported: spec.foo"],
    [504, `Timeout: Too large resource version: 99999999, current: ${sim.api.store.version}`],
    [410, "The resourceVersion for the provided list is too old."],
    [404, "the server could not find the requested resource"],
    [404, "404 page not found\n"],
  ]);
});

Deno.test("selectors choose by labels and fields, in lists and watches alike", async () => {
  const sim = await start(4);
  const names = async (query: string) => (await sim.get(`${PODS}?${query}`)).items.map((it: Json) => it.metadata.name);
  assertEquals(await names("fieldSelector=spec.nodeName%3Dnode1"), ["p1", "p3"]);
  assertEquals(await names("fieldSelector=spec.nodeName!%3Dnode1,metadata.name!%3Dp0"), ["p2"]);
  for (
    const [selector, wanted] of [
      ["app=p1", ["p1"]],
      ["app in (p1, p2),app!=p2", ["p1"]],
      ["app notin (p0,p1),!none", ["p2", "p3"]],
      ["app", ["p0", "p1", "p2", "p3"]],
    ] as const
  ) assertEquals(await names(`labelSelector=${encodeURIComponent(selector)}`), [...wanted], selector);
  assertEquals((await sim.call("GET", `${PODS}?labelSelector=a%20in%20x`)).code, 400);
});

Deno.test("a watch tells what changed since a version, then what changes, and of what its selector sees alone", async () => {
  const sim = await start(2);
  const { metadata } = await sim.get(PODS);
  await sim.create(PODS, podManifest("p2"));
  await using watch = await openWatch(sim, `resourceVersion=${metadata.resourceVersion}`);
  await using labelled = await openWatch(sim, "labelSelector=tier%3Dfront");
  await sim.patch(`${PODS}/p0`, { metadata: { labels: { tier: "front" } } });
  await sim.patch(`${PODS}/p0`, { metadata: { annotations: { a: "b" } } });
  await sim.patch(`${PODS}/p0`, { metadata: { labels: { tier: null } } });
  await sim.call("DELETE", `${PODS}/p1?gracePeriodSeconds=0`);
  await settleEventLoop();
  assertEquals(watch.types(), ["ADDED p2", "MODIFIED p0", "MODIFIED p0", "MODIFIED p0", "DELETED p1"]);
  assertEquals(labelled.types(), ["ADDED p0", "MODIFIED p0", "DELETED p0"]);
  // The state it was last seen in, at the version of the change.
  const { object } = labelled.events[2];
  assertEquals([object.metadata.labels.tier, object.metadata.resourceVersion], [
    "front",
    watch.events[3].object.metadata.resourceVersion,
  ]);
});

Deno.test("a watch of one node's pods follows a pod that is bound to it", async () => {
  const sim = await start(1);
  await using watch = await openWatch(sim, "fieldSelector=spec.nodeName%3Dnode7");
  await sim.create(PODS, podManifest("late"));
  const binding = { target: { kind: "Node", name: "node7" } };
  assertEquals((await sim.call("POST", `${PODS}/late/binding`, binding)).code, 201);
  assertEquals((await sim.call("POST", `${PODS}/late/binding`, binding)).code, 409);
  await settleEventLoop();
  assertEquals(watch.types(), ["ADDED late"]);
  assertEquals(watch.events[0].object.metadata.generation, 1);
});

Deno.test("bookmarks come each minute, as recorded, and a watch ends when its time is over", async () => {
  const sim = await start(1);
  await using watch = await openWatch(sim, "resourceVersion=0&allowWatchBookmarks=true&timeoutSeconds=130");
  await sim.clock.advance(125_000);
  assertEquals(
    watch.events.slice(1),
    Array(2).fill({
      type: "BOOKMARK",
      object: {
        kind: "Pod",
        apiVersion: "v1",
        metadata: { resourceVersion: String(sim.api.store.version) },
        spec: { containers: null },
        status: {},
      },
    }),
  );
  await sim.clock.advance(5000);
  assertEquals([watch.events.length, watch.end()], [3, "closed"]);
  assertEquals([sim.api.faults.openWatches, sim.clock.pending], [0, 0]);
});

Deno.test("a watch from a version that is forgotten ends with 410 in its stream, as recorded", async () => {
  const sim = await start(1, { historyLimit: 5 });
  for (let index = 0; index < 12; index++) {
    await sim.patch(`${PODS}/p0`, { metadata: { annotations: { index: String(index) } } });
  }
  await using watch = await openWatch(sim, "resourceVersion=3");
  assertEquals(watch.events, [{
    type: "ERROR",
    object: {
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message: `too old resource version: 3 (${sim.api.store.version})`,
      reason: "Expired",
      code: 410,
    },
  }]);
  assertEquals(watch.end(), "closed");
});

Deno.test("sendInitialEvents lists first and marks its end, and needs its match, as recorded", async () => {
  const sim = await start(1);
  const query = "sendInitialEvents=true&allowWatchBookmarks=true";
  const refused = await sim.call("GET", `${PODS}?watch=true&${query}`);
  assertEquals([refused.code, refused.body.message], [
    422,
    'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: ' +
    "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
  ]);
  await using watch = await openWatch(sim, `${query}&resourceVersionMatch=NotOlderThan`);
  assertEquals(watch.types(), ["ADDED p0", "BOOKMARK"]);
  assertEquals(watch.events[1].object.metadata.annotations, { "k8s.io/initial-events-end": "true" });
});

Deno.test("an abandoned watch leaves nothing behind, and one that is aborted breaks with its reason", async () => {
  const sim = await start();
  const ending = new AbortController();
  const request = new Request(`${ORIGIN}${PODS}?watch=true`, { signal: ending.signal });
  const response = await sim.api.handle(request);
  assertEquals(sim.api.faults.openWatches, 1);
  ending.abort(new Error("enough"));
  let said = "";
  await response.text().catch((error) => said = error.message);
  assertEquals([said, sim.api.faults.openWatches, sim.clock.pending], ["enough", 0, 0]);
});

Deno.test("podfit's client lists and follows pods through pages, an expired history and dropped connections", async () => {
  const sim = await start(3);
  await using pods = follow(sim, { pageSize: 2 });
  await sim.clock.advance(1000);
  assertEquals(pods.seen, ["listed p0 p1 p2"]);
  await sim.create(PODS, podManifest("p3"));
  await sim.clock.advance(1000);
  sim.api.faults.dropWatches();
  await sim.create(PODS, podManifest("p4"));
  await sim.clock.advance(5000);
  assertEquals(pods.seen.slice(1), ["added p3", "added p4"]);
  sim.api.faults.dropWatches();
  await sim.call("DELETE", `${PODS}/p0?gracePeriodSeconds=0`);
  sim.api.expireHistory();
  await sim.clock.advance(30_000);
  assertEquals(pods.seen.slice(3), ["listed p1 p2 p3 p4"]);
  assert(pods.errors.some((error) => error.includes("too old resource version")), pods.errors.join());
});

Deno.test("podfit's client outlives forty minutes of watching with nothing to tell", async () => {
  const sim = await start(1);
  await using pods = follow(sim);
  await sim.clock.advance(2_400_000);
  await sim.create(PODS, podManifest("late"));
  await sim.clock.advance(1000);
  assertEquals([pods.seen, pods.errors], [["listed p0", "added late"], []]);
});
