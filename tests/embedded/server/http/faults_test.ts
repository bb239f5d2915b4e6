/** What goes wrong with the embedded API server on demand, and that podfit's client sees it as the real thing. */
import { assert, assertEquals } from "#assert";
import { settleEventLoop } from "../../../support/virtual_clock.ts";
import { CollectionFailure, fetchPage, type KubeObject } from "../../../../lib/kube/list.ts";
import type { Fault } from "../../../support/embedded/faults.ts";
import { ORIGIN, SimServer } from "../../../support/sim_server.ts";

const PATH = "/api/v1/namespaces";

/** A list by podfit's client: how it ended, and after how many seconds. */
async function list(sim: SimServer): Promise<{ kind: string; code: number | null; seconds: number }> {
  const from = sim.clock.monotonic();
  let result = { kind: "pending", code: null as number | null, seconds: 0 };
  const ended = fetchPage(sim.api.handle, null, {
    origin: ORIGIN,
    path: PATH,
    clock: sim.clock,
    signal: new AbortController().signal,
    project: (object: KubeObject) => object,
  }).then(() => ({ kind: "fine", code: null }), (error) => {
    assert(error instanceof CollectionFailure, String(error));
    return { kind: error.kind, code: error.code };
  });
  ended.then((how) => result = { ...how, seconds: (sim.clock.monotonic() - from) / 1000 });
  for (let second = 0; second < 100 && result.kind === "pending"; second++) {
    await settleEventLoop();
    if (result.kind === "pending") await sim.clock.advance(1000);
  }
  return result;
}

const CASES: Readonly<Record<string, readonly [Fault["effect"], Awaited<ReturnType<typeof list>>]>> = {
  "a slow answer": [{ kind: "slow", ms: 5000 }, { kind: "fine", code: null, seconds: 5 }],
  "no answer": [{ kind: "hang" }, { kind: "hung", code: null, seconds: 60 }],
  "a broken connection": [{ kind: "disconnect" }, { kind: "unreachable", code: null, seconds: 0 }],
  "half an answer": [{ kind: "truncate", bytes: 100 }, { kind: "dropped", code: null, seconds: 0 }],
  "garbage": [{ kind: "garbage", text: "<html>" }, { kind: "malformed", code: null, seconds: 0 }],
  "a server error": [{ kind: "refuse", code: 500 }, { kind: "status", code: 500, seconds: 0 }],
};

for (const [name, [effect, wanted]] of Object.entries(CASES)) {
  Deno.test(`a fault gives ${name}, until it is disposed of`, async () => {
    const sim = new SimServer();
    {
      using _fault = sim.api.faults.add({ method: "GET", path: /namespaces$/, effect });
      assertEquals(await list(sim), wanted);
    }
    assertEquals(await list(sim), { kind: "fine", code: null, seconds: 0 });
    assertEquals(sim.clock.pending, 0);
  });
}

Deno.test("a fault strikes the requests it is meant for, as often as it is told", async () => {
  const sim = new SimServer();
  using _fault = sim.api.faults.add({ path: /pods/, after: 1, times: 2, effect: { kind: "refuse", code: 503 } });
  const codes: number[] = [];
  for (const path of ["pods", "nodes", "pods", "pods", "pods"]) {
    codes.push((await sim.call("GET", `/api/v1/${path}`)).code);
  }
  assertEquals(codes, [200, 200, 503, 503, 200]);
});

Deno.test("429 says how long to wait, in its header and its body", async () => {
  const sim = new SimServer();
  const effect = { kind: "refuse", code: 429, retryAfterSeconds: 7 } as const;
  using _fault = sim.api.faults.add({ effect });
  const response = await sim.send("GET", PATH);
  const { reason, details } = await response.json();
  assertEquals([response.status, response.headers.get("retry-after"), reason, details], [
    429,
    "7",
    "TooManyRequests",
    { retryAfterSeconds: 7 },
  ]);
});

Deno.test("a watch ends, breaks or falls silent after so long", async () => {
  for (const kind of ["closeWatch", "dropWatch", "silenceWatch"] as const) {
    const sim = new SimServer();
    using _fault = sim.api.faults.add({ isWatch: true, effect: { kind, afterMs: 5000 } });
    const response = await sim.send(
      "GET",
      `${PATH}?watch=true&resourceVersion=${sim.api.store.version}&timeoutSeconds=60`,
    );
    let end = "open";
    const text = response.text().then((text) => (end = "closed", text), (error) => (end = error.message, ""));
    await sim.clock.advance(4000);
    await sim.createNamespace("seen");
    await sim.clock.advance(2000);
    await sim.createNamespace("unseen");
    await settleEventLoop();
    assertEquals([kind, end], [
      kind,
      { closeWatch: "closed", dropWatch: "connection reset", silenceWatch: "open" }[kind],
    ]);
    await sim.clock.advance(60_000);
    const names = [...(await text).matchAll(/"name":"(\w*seen)"/g)].map((match) => match[1]);
    if (kind !== "dropWatch") assertEquals(names, ["seen"]);
    assertEquals(sim.api.faults.openWatches, 0);
  }
});

Deno.test("a clock that is off shows in times and in the Date header", async () => {
  const sim = new SimServer();
  sim.api.faults.skewMs = 90_000;
  const response = await sim.send("POST", PATH, { metadata: { name: "late" } });
  const { metadata } = await response.json();
  const wanted = sim.clock.now() + 90_000;
  assertEquals([Date.parse(metadata.creationTimestamp), Date.parse(response.headers.get("date") ?? "")], [
    wanted,
    wanted,
  ]);
});
