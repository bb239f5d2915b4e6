/**
 * The statuses of ScaledObjects that the writer gets, and what is counted with them.
 * Clauses: R90, R93.
 */
import { assertEquals } from "#assert";
import { type ScaledObjectStatus, seedReplicasState, toScaledObjectStatus } from "../../../../lib/horizontal/status.ts";
import { ReplicasSweep, type ScaledObjectSnapshot } from "../../../../lib/daemon/replicas/reports.ts";
import { getComputeQueue } from "../../../../lib/runtime/event_loop.ts";
import { VirtualClock } from "../../../support/virtual_clock.ts";
import { parseScaledObject } from "../../../../lib/resources/scaled_object/scaled_object.ts";

function seen(name: string, isSeen = true, minReplicaCount = 1): ScaledObjectSnapshot {
  const cpu = { type: "cpu", metricType: "Utilization", metadata: { value: "60" } };
  const facts = parseScaledObject({
    apiVersion: "keda.sh/v1alpha1",
    kind: "ScaledObject",
    metadata: { name, namespace: "shop", uid: `uid-${name}`, generation: 1 },
    spec: { scaleTargetRef: { name }, minReplicaCount, triggers: [cpu] },
  });
  return { facts, state: isSeen ? seedReplicasState(null) : null };
}

class Desk {
  readonly written: string[] = [];
  readonly registered: unknown[] = [];
  answer: "later" | null = null;
  dueAtMs = 0;
  minorField: string | undefined;
  readonly clock = new VirtualClock();
  unknown: readonly string[] = [];
  stale: string | null = null;
  last: ScaledObjectStatus | null = null;
  list: readonly ScaledObjectSnapshot[] = [];
  readonly sweep = new ReplicasSweep({
    clock: this.clock,
    compute: getComputeQueue(this.clock),
    list: () => this.list,
    writer: {
      write: ({ object, status, minorField }) => {
        this.minorField = minorField;
        this.last = status;
        this.written.push(object.name);
        if (this.stale !== null) return this.answer;
        const one = this.list.find(({ facts }) => facts.uid === object.uid);
        const expected = one?.state === undefined || one.state === null
          ? null
          : toScaledObjectStatus(one.facts, one.state);
        assertEquals(status, expected);
        return this.answer;
      },
      getDueAtMs: () => this.dueAtMs,
      settle: async () => {},
      isIdle: true,
      forget: (uid) => void this.written.push(`forgets ${uid}`),
    },
    authentications: null,
    metrics: { setRegistered: (registered) => void this.registered.push(registered) },
    isKnown: (namespace) => !this.unknown.includes(namespace),
    findStale: () => this.stale,
  });

  async look(): Promise<readonly string[]> {
    await this.sweep.sweep(new AbortController().signal);
    return this.written.splice(0);
  }
}

Deno.test("a status is looked at when the object or its state is another, and until it is written (R90)", async () => {
  const desk = new Desk();
  const [web, cart] = [seen("web"), seen("cart")];
  desk.list = [web, cart];
  assertEquals(await desk.look(), ["web", "cart"]);
  assertEquals(await desk.look(), [], "nothing has changed");
  desk.list = [{ ...web, state: { ...seedReplicasState(null) } }, { ...cart, facts: { ...cart.facts } }];
  desk.answer = "later";
  assertEquals(await desk.look(), ["web", "cart"]);
  assertEquals(await desk.look(), ["web", "cart"], "what is put off is looked at again");
  desk.answer = null;
  await desk.look();
  assertEquals(await desk.look(), []);
});

Deno.test("a status that is put off is looked at when it is due, and at once after another change (R90)", async () => {
  const desk = new Desk();
  const web = seen("web");
  desk.list = [web];
  desk.answer = "later";
  desk.dueAtMs = 300_000;
  assertEquals(await desk.look(), ["web"]);
  await desk.clock.advance(299_999);
  assertEquals(await desk.look(), []);
  await desk.clock.advance(1);
  assertEquals(await desk.look(), ["web"]);
  desk.dueAtMs = 600_000;
  assertEquals([await desk.look(), await desk.look()], [["web"], []]);
  desk.list = [{ ...web, state: { ...seedReplicasState(null) } }];
  assertEquals(await desk.look(), ["web"]);
});

Deno.test("lastActiveTime alone is written seldom where nothing depends on it, and else as it changes (R90)", async () => {
  const desk = new Desk();
  desk.list = [seen("web")];
  await desk.look();
  assertEquals(desk.minorField, "lastActiveTime");
  desk.list = [seen("idle", true, 0)];
  await desk.look();
  assertEquals(desk.minorField, undefined);
});

Deno.test("an object before its first pass has no status to write, and one that is gone is forgotten (R90)", async () => {
  const desk = new Desk();
  desk.list = [seen("web", false)];
  assertEquals(await desk.look(), []);
  desk.list = [seen("web")];
  await desk.look();
  desk.sweep.forget("uid-web");
  assertEquals(await desk.look(), ["forgets uid-web", "web"]);
});

Deno.test("a namespace that is not known stops the statuses of its own objects alone (R90)", async () => {
  const desk = new Desk();
  const cart = seen("cart");
  desk.list = [{ ...cart, facts: { ...cart.facts, namespace: "lost" } }, seen("web")];
  desk.unknown = ["lost"];
  assertEquals(await desk.look(), ["web"]);
  desk.unknown = [];
  assertEquals(await desk.look(), ["cart"]);
});

Deno.test("a status says which list is stale, also where this podfit has decided nothing yet, until it is fresh (R91)", async () => {
  const desk = new Desk();
  const { facts } = seen("web", false);
  const ready = { type: "Ready", status: "True", reason: "ScaledObjectReady", message: "by the podfit before" };
  desk.list = [{ facts: { ...facts, status: { conditions: [ready], originalReplicaCount: 3 } }, state: null }];
  desk.unknown = ["shop"];
  assertEquals(await desk.look(), [], "no list has come yet");
  desk.stale = "pods";
  assertEquals([await desk.look(), await desk.look()], [["web"], []]);
  const told = desk.last?.conditions.map(({ type, status }) => `${type} ${status}`);
  assertEquals(told, ["Ready Unknown", "Active Unknown", "Fallback False", "Paused False", "HPAActive Unknown"]);
  assertEquals(desk.last?.originalReplicaCount, 3);
  desk.stale = "horizontalpodautoscalers";
  assertEquals(await desk.look(), ["web"]);
  desk.list = [seen("web")];
  [desk.stale, desk.unknown] = [null, []];
  assertEquals(await desk.look(), ["web"]);
});

Deno.test("the last sweep looks at every object once more (R90)", async () => {
  const desk = new Desk();
  desk.list = [seen("web")];
  await desk.look();
  await desk.sweep.sweep(new AbortController().signal, { isLast: true });
  assertEquals(desk.written, ["web"]);
});

Deno.test("triggers are counted by type and objects by namespace, seen or not (R93)", async () => {
  const desk = new Desk();
  desk.list = [seen("web"), seen("cart", false)];
  await desk.look();
  assertEquals(desk.registered, [{ triggers: new Map([["cpu", 2]]), objects: new Map([["shop", 2]]) }]);
});
