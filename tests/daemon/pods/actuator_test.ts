import { assertEquals } from "#assert";
import type { ResizeRequest } from "../../../lib/model/resize_request.ts";
import { createSendResize, toResizePatch } from "../../../lib/daemon/pods/actuator.ts";
import { createClient } from "../../../lib/kube/client.ts";
import type { BusyAnswer } from "../../../lib/runtime/backoff.ts";
import type { TrackedPod } from "../../../lib/daemon/cluster/facts.ts";
import type { Transport } from "../../../lib/kube/transport.ts";
import { MI, pod, policy, request, resources, SIZE } from "../../support/builders.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";

const POD: TrackedPod = { pod: pod(), autoscalers: [policy()] };

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

Deno.test("toResizePatch() has, guarded by uid and resourceVersion (C40)", async (t) => {
  for (const [name, { differs, spec }] of Object.entries(PATCHES)) {
    await t.step(name, () => {
      assertEquals<unknown>(toResizePatch(newRequest(differs)), {
        metadata: { uid: "pod-1", resourceVersion: "100" },
        spec,
      });
    });
  }
});

function createWith(transport: Transport, { clock = new VirtualClock(), isCurrent = (): boolean => true } = {}) {
  return createSendResize({ client: createClient({ origin: "http://api.test", transport }), clock, isCurrent });
}

function actuateWith(transport: Transport, clock = new VirtualClock()) {
  const actuate = createWith(transport, { clock });
  const noted: (BusyAnswer | null)[] = [];
  return { clock, noted, answer: actuate(newRequest(), POD, { report: (busy) => noted.push(busy) }) };
}

Deno.test("createSendResize() gives the generation of the pod that the server answers with", async () => {
  const { answer, clock } = actuateWith(() => Promise.resolve(Response.json({ metadata: { generation: 7 } })));
  assertEquals(await answer, { kind: "accepted", generation: 7 });
  assertEquals(clock.pending, 0);
});

Deno.test("createSendResize() gives no generation where the server has none", async () => {
  const { answer } = actuateWith(() => Promise.resolve(Response.json({ metadata: {} })));
  assertEquals(await answer, { kind: "accepted", generation: null });
});

Deno.test("createSendResize() does not know whether it arrived when a success comes without a pod (C45)", async (t) => {
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

Deno.test("createSendResize() does not know whether it arrived when the connection breaks (C45)", async () => {
  const { answer } = actuateWith(() => Promise.reject(new TypeError("connection reset")));
  assertEquals(await answer, { kind: "unconfirmed", message: "connection reset" });
});

Deno.test("createSendResize() waits ten seconds for an answer and no longer", async () => {
  const clock = new VirtualClock();
  const { answer } = actuateWith(
    ({ signal }) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    clock,
  );
  await clock.advance(10_000);
  assertEquals(await answer, { kind: "unconfirmed", message: "Timed out after 10000 ms" });
  assertEquals(clock.pending, 0);
});

Deno.test("createSendResize() gives what the server refused, in its words", async () => {
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

Deno.test("createSendResize() notes whether the server is busy, and no answer as neither (C44)", async () => {
  const answers: readonly (readonly [Response, readonly (BusyAnswer | null)[]])[] = [
    [Response.json({ metadata: { generation: 7 } }), [null]],
    [new Response("slow down", { status: 429, headers: { "retry-after": "3" } }), [{ waitMs: 3000 }]],
    [new Response("", { status: 503 }), [{ waitMs: null }]],
    [new Response("", { status: 500 }), [null]],
    [Response.json({ kind: "Status", code: 429, message: 'admission webhook "x" denied it' }, { status: 429 }), [null]],
  ];
  for (const [response, expected] of answers) {
    const { answer, noted } = actuateWith(() => Promise.resolve(response));
    await answer;
    assertEquals(noted, expected);
  }
  const { answer, noted } = actuateWith(() => Promise.reject(new TypeError("connection reset")));
  await answer;
  assertEquals(noted, []);
});

Deno.test("createSendResize() sends no request whose pod or owner has changed since (C12, C40)", async () => {
  let sent = 0;
  const transport: Transport = () => {
    sent++;
    return Promise.resolve(Response.json({ metadata: { generation: 7 } }));
  };
  const actuate = createWith(transport, { isCurrent: () => false });
  assertEquals([await actuate(newRequest(), POD, { report() {} }), sent], [{ kind: "withdrawn" }, 0]);
});
