import { assertEquals } from "@std/assert";
import type { ResizeRequest } from "../../../lib/core/resize_request.ts";
import { createActuator, toPatch } from "../../../lib/daemon/act/actuator.ts";
import { createClient } from "../../../lib/kube/client.ts";
import type { Tracked } from "../../../lib/daemon/inventory/tracked.ts";
import type { Transport } from "../../../lib/kube/transport.ts";
import { MI, pod, policy, request, resources, SIZE } from "../../support/builders.ts";
import { settle, VirtualClock } from "../../../lib/runtime/virtual_clock.ts";

const POD: Tracked = { pod: pod(), contenders: [policy()] };

function newRequest(overrides: Partial<ResizeRequest> = {}): ResizeRequest {
  const to = { ...SIZE, "cpu.requests": 150, "memory.limits": 300 * MI };
  return request({ to, changes: ["cpu.requests", "memory.limits"], ...overrides });
}

const PATCHES: Record<string, { differs: Partial<ResizeRequest>; spec: unknown }> = {
  "only the fields that change": {
    differs: {},
    spec: {
      containers: [{ name: "main", resources: { requests: { cpu: "150m" }, limits: { memory: "300Mi" } } }],
    },
  },
  "one side alone": {
    differs: { changes: ["cpu.requests"] },
    spec: { containers: [{ name: "main", resources: { requests: { cpu: "150m" } } }] },
  },
  "a native sidecar under initContainers (C15)": {
    differs: { kind: "sidecar", changes: ["cpu.requests"] },
    spec: { initContainers: [{ name: "main", resources: { requests: { cpu: "150m" } } }] },
  },
  "never a removal, whatever is said to change (C37)": {
    differs: { to: resources({ "cpu.requests": 150 }) },
    spec: { containers: [{ name: "main", resources: { requests: { cpu: "150m" } } }] },
  },
};

Deno.test("toPatch() has, guarded by uid and resourceVersion (C40)", async (t) => {
  for (const [name, { differs, spec }] of Object.entries(PATCHES)) {
    await t.step(name, () => {
      assertEquals<unknown>(toPatch(newRequest(differs)), { metadata: { uid: "pod-1", resourceVersion: "100" }, spec });
    });
  }
});

function createWith(transport: Transport, { clock = new VirtualClock(), isCurrent = (): boolean => true } = {}) {
  return createActuator({ client: createClient({ origin: "http://api.test", transport }), clock, isCurrent });
}

function actuateWith(transport: Transport, clock = new VirtualClock()) {
  const actuate = createWith(transport, { clock });
  return { clock, answer: actuate(newRequest(), POD) };
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

Deno.test("createActuator() does not know whether it arrived when a success comes without a pod (C45)", async (t) => {
  const bodies = {
    "no body": "",
    "a body cut off": '{"metadata":{"gener',
    "no object": "[]",
    "a page": "<html>",
    "null": "null",
  };
  for (const [name, body] of Object.entries(bodies)) {
    await t.step(name, async () => {
      const { answer } = actuateWith(() => Promise.resolve(new Response(body, { status: 200 })));
      assertEquals((await answer).kind, "unconfirmed");
    });
  }
});

Deno.test("createActuator() does not know whether it arrived when the connection breaks (C45)", async () => {
  const { answer } = actuateWith(() => Promise.reject(new TypeError("connection reset")));
  assertEquals(await answer, { kind: "unconfirmed", message: "connection reset" });
});

Deno.test("createActuator() waits ten seconds for an answer and no longer", async () => {
  const clock = new VirtualClock();
  const { answer } = actuateWith(
    ({ signal }) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    clock,
  );
  await clock.advance(10_000);
  assertEquals(await answer, { kind: "unconfirmed", message: "Timed out after 10000 ms" });
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

Deno.test("createActuator() sends 32 at once, and each has its ten seconds from when it is sent", async () => {
  const clock = new VirtualClock();
  const waiting: ((response: Response) => void)[] = [];
  let sent = 0;
  const transport: Transport = ({ signal }) => {
    sent++;
    return new Promise((resolve, reject) => {
      waiting.push(resolve);
      signal.addEventListener("abort", () => reject(signal.reason));
    });
  };
  const actuate = createWith(transport, { clock });
  const answers = Array.from({ length: 33 }, () => actuate(newRequest(), POD));
  await clock.advance(6_000);
  assertEquals(sent, 32);
  waiting[0]?.(Response.json({ metadata: { generation: 7 } }));
  await clock.advance(9_000);
  assertEquals(sent, 33);
  waiting[32]?.(Response.json({ metadata: { generation: 8 } }));
  const kinds = (await Promise.all(answers)).map(({ kind }) => kind);
  assertEquals([kinds[0], kinds[1], kinds[31], kinds[32]], ["accepted", "unconfirmed", "unconfirmed", "accepted"]);
  assertEquals(clock.pending, 0);
});

Deno.test("createActuator() gives up waiting for its slot after ten seconds, and tries later", async () => {
  const clock = new VirtualClock();
  const transport: Transport = () => new Promise(() => {});
  const actuate = createWith(transport, { clock });
  for (let i = 0; i < 32; i++) void actuate(newRequest(), POD);
  const last = actuate(newRequest(), POD);
  await clock.advance(10_000);
  assertEquals(await last, {
    kind: "refused",
    reason: "RetryLater",
    message: "Cannot send a resize: 32 at a time, and it was not its turn within 10 s",
    resources: [],
    waitMs: null,
  });
});

Deno.test("createActuator() sends no request that waited for its slot while its pod or its owner changed (C12, C40)", async () => {
  const answers: ((response: Response) => void)[] = [];
  const transport: Transport = () => new Promise((resolve) => answers.push(resolve));
  let isCurrent = true;
  const actuate = createWith(transport, { isCurrent: () => isCurrent });
  for (let i = 0; i < 32; i++) void actuate(newRequest(), POD);
  const last = actuate(newRequest(), POD);
  await settle();
  isCurrent = false;
  answers[0]?.(Response.json({ metadata: { generation: 7 } }));
  assertEquals([await last, answers.length], [{ kind: "withdrawn" }, 32]);
});
