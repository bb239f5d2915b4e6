import { assertEquals } from "@std/assert";
import type { Order } from "../../lib/core/decision.ts";
import { createActuator, toPatch } from "../../lib/daemon/actuator.ts";
import { createClient } from "../../lib/kube/client.ts";
import type { Transport } from "../../lib/kube/transport.ts";
import { MI, policy, resources, SIZE } from "../support/builders.ts";
import { FakeClock } from "../support/fake_clock.ts";

const POD = { namespace: "shop", name: "web-1" };

function newOrder(overrides: Partial<Order> = {}): Order {
  return {
    policy: policy(),
    container: "main",
    kind: "container",
    action: "scaleUp",
    uid: "pod-1",
    resourceVersion: "100",
    generation: 1,
    from: SIZE,
    to: { ...SIZE, "cpu.requests": 150, "memory.limits": 300 * MI },
    changes: ["cpu.requests", "memory.limits"],
    why: "cpu.requests at 90 %",
    ...overrides,
  };
}

const PATCHES: Record<string, { order: Partial<Order>; spec: unknown }> = {
  "only the fields that change": {
    order: {},
    spec: {
      containers: [{ name: "main", resources: { requests: { cpu: "150m" }, limits: { memory: "300Mi" } } }],
    },
  },
  "one side alone": {
    order: { changes: ["cpu.requests"] },
    spec: { containers: [{ name: "main", resources: { requests: { cpu: "150m" } } }] },
  },
  "a native sidecar under initContainers (C15)": {
    order: { kind: "sidecar", changes: ["cpu.requests"] },
    spec: { initContainers: [{ name: "main", resources: { requests: { cpu: "150m" } } }] },
  },
  "never a removal, whatever is said to change (C37)": {
    order: { to: resources({ "cpu.requests": 150 }) },
    spec: { containers: [{ name: "main", resources: { requests: { cpu: "150m" } } }] },
  },
};

Deno.test("toPatch() has, guarded by uid and resourceVersion (C40)", async (t) => {
  for (const [name, { order, spec }] of Object.entries(PATCHES)) {
    await t.step(name, () => {
      assertEquals<unknown>(toPatch(newOrder(order)), { metadata: { uid: "pod-1", resourceVersion: "100" }, spec });
    });
  }
});

function actuateWith(transport: Transport, clock = new FakeClock()) {
  const actuate = createActuator({ client: createClient({ origin: "http://api.test", transport }), clock });
  return { clock, answer: actuate(newOrder(), POD) };
}

Deno.test("createActuator() gives the generation of the pod that the server answers with", async () => {
  const { answer, clock } = actuateWith(() => Promise.resolve(Response.json({ metadata: { generation: 7 } })));
  assertEquals(await answer, { kind: "accepted", generation: 7 });
  assertEquals(clock.pending, 0);
});

Deno.test("createActuator() gives no generation where the server has none", async () => {
  const { answer } = actuateWith(() => Promise.resolve(Response.json({ metadata: {} })));
  assertEquals(await answer, { kind: "accepted", generation: null });
});

Deno.test("createActuator() takes a connection that breaks for a refusal to be tried later", async () => {
  const { answer } = actuateWith(() => Promise.reject(new TypeError("connection reset")));
  assertEquals(await answer, {
    kind: "refused",
    reason: "RetryLater",
    message: "connection reset",
    resources: [],
    waitMs: null,
  });
});

Deno.test("createActuator() waits ten seconds for an answer and no longer", async () => {
  const clock = new FakeClock();
  const { answer } = actuateWith(
    ({ signal }) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    clock,
  );
  await clock.advance(10_000);
  const refused = await answer;
  assertEquals(refused.kind === "refused" && [refused.reason, refused.message], [
    "RetryLater",
    "Timed out after 10000 ms",
  ]);
  assertEquals(clock.pending, 0);
});

Deno.test("createActuator() gives what the server refused, in its words", async () => {
  const body = { kind: "Status", message: "node didn't have enough allocatable resources: cpu", code: 403 };
  const { answer } = actuateWith(() => Promise.resolve(Response.json(body, { status: 403 })));
  assertEquals(await answer, {
    kind: "refused",
    reason: "NodeCapacity",
    message: "node didn't have enough allocatable resources: cpu",
    resources: ["cpu"],
    waitMs: null,
  });
});
