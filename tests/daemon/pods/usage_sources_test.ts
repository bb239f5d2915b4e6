/** Which source serves which node is told in metrics and in the log (C54). */
import { assertEquals } from "#assert";
import type { Served } from "../../../lib/api/usage.ts";
import { UsageSources } from "../../../lib/daemon/pods/usage_health.ts";
import type { FailureReport } from "../../../lib/daemon/health.ts";

const KUBELET: Served = { source: "kubelet", because: null };
const API: Served = { source: "metrics-api", because: "Cannot read usage of it" };
const WHAT = "Usage of nodes is read from another source";

function start() {
  const told: FailureReport[] = [];
  let counts: Readonly<Record<string, number>> = {};
  const sources = new UsageSources({
    metrics: { setNodesBySource: (given) => counts = Object.fromEntries(given) },
    onTrouble: (trouble) => told.push(trouble),
  });
  const note = (node: string, served?: Served) =>
    sources.recordReading({
      kind: "usage",
      node,
      readAt: 0,
      clockOffsetMs: 0,
      pods: new Map(),
      skipped: 0,
      durationMs: 0,
      ...(served && { served }),
    });
  return { told, note, forget: (node: string) => sources.forget(node), counts: () => counts };
}

Deno.test("nodes are counted by their source, and a change is told once (C54)", () => {
  const { told, note, counts } = start();
  for (const node of ["n1", "n2"]) note(node, KUBELET);
  assertEquals([counts(), told], [{ kubelet: 2 }, []]);
  for (let times = 0; times < 3; times++) note("n1", API);
  assertEquals(counts(), { kubelet: 1, "metrics-api": 1 });
  assertEquals(told.splice(0), [{
    kind: "failure",
    level: "warn",
    message: 'Usage of node "n1" is read from metrics-api: Cannot read usage of it',
    autoscaler: null,
    fields: { node: "n1", source: "metrics-api" },
    topic: { what: WHAT, reason: "metrics-api", subject: "n1" },
  }]);
  for (let times = 0; times < 3; times++) note("n1", KUBELET);
  assertEquals(counts(), { kubelet: 2, "metrics-api": 0 });
  assertEquals(told, [
    { kind: "recovered", what: WHAT, subject: "n1", message: "Usage of node is read from kubelet again" },
  ]);
});

Deno.test("a node that is polled no more counts no more, and its trouble is over", () => {
  const { told, note, forget, counts } = start();
  note("n1", API);
  note("n2", KUBELET);
  told.length = 0;
  for (const node of ["n1", "n2", "n3"]) forget(node);
  assertEquals([counts(), told], [{ "metrics-api": 0, kubelet: 0 }, [{
    kind: "recovered",
    what: WHAT,
    subject: "n1",
  }]]);
});

Deno.test("where there is one source nothing is told of it", () => {
  const { told, note, counts } = start();
  note("n1");
  assertEquals([counts(), told], [{}, []]);
});
