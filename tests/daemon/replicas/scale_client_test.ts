/**
 * Reads and writes of scales, and the results of failures.
 * Clauses: R6, R30, R46.
 */
import { assert, assertEquals, assertStringIncludes } from "#assert";
import {
  createScaleClient,
  createWatchedScales,
  type ScaleReading,
} from "../../../lib/daemon/replicas/scale_client.ts";
import type { AcquirePermit } from "../../../lib/daemon/permits.ts";
import { createClient } from "../../../lib/kube/client.ts";
import type { Blocker, Scale, ScaleWrite } from "../../../lib/model/replicas_decision.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";
import type { Target } from "../../../lib/model/scaled_object.ts";
import type { Json } from "../../support/api_objects.ts";

const WEB: Target = { apiVersion: "apps/v1", kind: "Deployment", name: "web", envContainer: null };
const PATH = "/apis/apps/v1/namespaces/shop/deployments/web/scale";

function scale({ replicas = 3, version = "7", uid = "u", selector = "app=web" } = {}): Json {
  const spec = replicas === 0 ? {} : { replicas };
  return {
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    metadata: { name: "web", namespace: "shop", uid, resourceVersion: version },
    spec,
    status: { replicas: 2, selector },
  };
}

function refusal(code: number, message = "no", details: Json = {}): Response {
  return Response.json({ kind: "Status", status: "Failure", code, message, details }, { status: code });
}

interface Asked {
  readonly request: string;
  readonly body: Json | null;
}

/** Answers in this order. The last answer repeats. `findScale`: what a watch shows; `null` by default. */
function open(answers: readonly (() => Response | Promise<Response>)[], findScale: () => Scale | null = () => null) {
  const asked: Asked[] = [];
  const notes: unknown[] = [];
  let given = 0;
  const client = createClient({
    origin: "http://api",
    transport: async (request) => {
      const body = request.body === null ? null : await request.json();
      asked.push({ request: `${request.method} ${request.url.slice("http://api".length)}`, body });
      const answer = answers[Math.min(given++, answers.length - 1)];
      assert(answer !== undefined);
      return await Promise.race([
        answer(),
        new Promise<never>((_, reject) =>
          request.signal.addEventListener("abort", () => reject(request.signal.reason))
        ),
      ]);
    },
  });
  const clock = new VirtualClock();
  let givenBack = 0;
  const turn = {
    isLate: false,
    refund: () => void givenBack++,
    report: (busy: unknown) => void notes.push(busy),
    [Symbol.dispose]() {},
  };
  const permits: unknown[] = [];
  const acquirePermit: AcquirePermit = (_signal, wanted) => {
    permits.push(wanted);
    return Promise.resolve(turn);
  };
  const scales = createWatchedScales(createScaleClient({ client, clock, acquirePermit }), { clock, findScale });
  const signal = new AbortController().signal;
  const read = (target: Target = WEB, isAsked = false) =>
    scales.get({ namespace: "shop", target }, signal, { isAsked });
  const from = { replicas: 3, statusReplicas: 2, resourceVersion: "7", uid: "u" };
  const wanted: ScaleWrite = { from, replicas: 5, half: "tick", at: 0, reason: "ScaledOut", message: "" };
  const write = (mayWrite = () => true, replicas = wanted.replicas) =>
    scales.write({ namespace: "shop", target: WEB, write: { ...wanted, replicas }, mayWrite, signal });
  return { permits, asked, notes, clock, read, write, countGivenBack: () => givenBack };
}

const json = (object: Json) => () => Response.json(object);
const refuse = (...args: Parameters<typeof refusal>) => () => refusal(...args);

function kindOf(reading: ScaleReading): string {
  return reading.kind === "read" ? "read" : reading.blocker.kind;
}

Deno.test("read() takes spec.replicas, 0 where it is absent, and the selector of the status (R30)", async () => {
  for (const replicas of [3, 0]) {
    const { read, asked } = open([json(scale({ replicas }))]);
    const reading = await read();
    assert(reading.kind === "read");
    assertEquals(reading.scale, { replicas, statusReplicas: 2, resourceVersion: "7", uid: "u" });
    assertEquals(reading.selector.requirements, [{ key: "app", operator: "In", values: ["web"] }]);
    assertEquals(asked, [{ request: `GET ${PATH}`, body: null }]);
  }
});

Deno.test("read() refuses a scale with a selector that is missing or does not parse as InvalidSelector (R30)", async () => {
  for (const selector of ["", "app in ("]) {
    const reading = await open([json(scale({ selector }))]).read();
    assert(reading.kind === "obstacle" && reading.blocker.kind === "selector");
    assertEquals(reading.blocker.reason, "InvalidSelector");
  }
});

Deno.test("read() takes a missing target and a missing right for the target's, all else for a failed GET (R6, R30)", async () => {
  const target = 'Cannot scale "web" of kind "apps/v1.Deployment": no';
  const cases: readonly (readonly [code: number, obstacle: Blocker])[] = [
    [404, { kind: "check", reason: "TargetNotFound", message: target, fault: "Target resource doesn't exist" }],
    [403, { kind: "check", reason: "Rights", message: `${target}; grant get and update of its scale` }],
    [500, { kind: "scale", message: "no" }],
    [429, { kind: "scale", message: "no" }],
  ];
  for (const [code, obstacle] of cases) {
    assertEquals(await open([refuse(code)]).read(), { kind: "obstacle", blocker: obstacle }, String(code));
  }
});

Deno.test("read() looks a kind up once for all who wait, for 12 s, and again when it is asked next (R6)", async () => {
  const { read, asked, clock } = open([() => new Promise<Response>(() => {})]);
  const readings = [read(ROLLOUT), read(ROLLOUT)];
  await clock.advance(12_100);
  assertEquals((await Promise.all(readings)).map(kindOf), ["scale", "scale"]);
  assertEquals(asked.length, 1);
  const again = read(ROLLOUT);
  await clock.advance(12_100);
  assertEquals([kindOf(await again), asked.length], ["scale", 2]);
});

Deno.test("read() gives an API server that does not answer 12 s (R30)", async () => {
  const { read, clock } = open([() => new Promise<Response>(() => {})]);
  const reading = read();
  await clock.advance(11_900);
  assertEquals(await Promise.race([reading, Promise.resolve("waiting")]), "waiting");
  await clock.advance(200);
  assertEquals(kindOf(await reading), "scale");
});

const DISCOVERED = {
  kind: "APIResourceList",
  resources: [
    { name: "rollouts/restart", kind: "Rollout", namespaced: true },
    { name: "rollouts", kind: "Rollout", namespaced: true },
    { name: "rollouts/scale", kind: "Scale", namespaced: true },
    { name: "jobs", kind: "Job", namespaced: true },
  ],
};
const ROLLOUT: Target = { ...WEB, apiVersion: "argoproj.io/v1alpha1", kind: "Rollout" };

Deno.test("read() looks another kind up in discovery, once a minute, and asks its scale by path (R6)", async () => {
  const { read, asked, clock } = open([
    json(DISCOVERED),
    json(scale()),
    json(scale()),
    json(DISCOVERED),
    json(scale()),
  ]);
  const reading = await read(ROLLOUT);
  assert(reading.kind === "read");
  assertEquals(reading.scale.resource, "rollouts");
  await read(ROLLOUT);
  await clock.advance(61_000);
  await read(ROLLOUT);
  const [list, get] = ["/apis/argoproj.io/v1alpha1", "/apis/argoproj.io/v1alpha1/namespaces/shop/rollouts/web/scale"];
  assertEquals(asked.map(({ request }) => request), [list, get, get, list, get].map((path) => `GET ${path}`));
});

Deno.test("read() finds a kind without a scale, and one that is not there, out by discovery (R6)", async () => {
  const job = await open([json(DISCOVERED)]).read({ ...ROLLOUT, kind: "Job" });
  assert(job.kind === "obstacle" && job.blocker.kind === "check");
  assertStringIncludes(job.blocker.message, "no subresource scale");
  assertEquals(job.blocker.fault, "Target resource doesn't expose /scale subresource");
  for (const answer of [json(DISCOVERED), refuse(404)]) {
    const none = await open([answer]).read({ ...ROLLOUT, kind: "Nothing" });
    assert(none.kind === "obstacle" && none.blocker.kind === "check");
    assertStringIncludes(none.blocker.message, "no such kind");
    assertEquals(none.blocker.fault, "Target resource doesn't exist");
  }
});

Deno.test("read() takes a discovery without a list of kinds for one that has no such kind (R6)", async () => {
  for (const resources of [undefined, null, {}]) {
    const reading = await open([json({ kind: "APIResourceList", resources })]).read(ROLLOUT);
    assert(reading.kind === "obstacle" && reading.blocker.kind === "check", JSON.stringify(reading));
    assertStringIncludes(reading.blocker.message, "the API server has no such kind");
  }
});

Deno.test("write() puts the scale, guarded by the resourceVersion and uid that were read (R46)", async () => {
  const { write, asked, notes } = open([json(scale({ replicas: 5 }))]);
  assertEquals(await write(), { kind: "accepted", replicas: 5 });
  assertEquals(asked[0]?.request, `PUT ${PATH}?fieldManager=podfit`);
  const { metadata, spec } = asked[0]?.body ?? {};
  assertEquals(metadata, { namespace: "shop", name: "web", uid: "u", resourceVersion: "7" });
  assertEquals(spec, { replicas: 5 });
  assertEquals(notes, [null]);
});

Deno.test("write() reads again after a conflict and writes once more where replicas are the same (R46)", async () => {
  const { write, asked } = open([refuse(409), json(scale({ version: "8" })), json(scale({ replicas: 5 }))]);
  assertEquals(await write(), { kind: "accepted", replicas: 5 });
  assertEquals(asked.map(({ request }) => request.slice(0, 3)), ["PUT", "GET", "PUT"]);
  assertEquals(asked[2]?.body?.metadata.resourceVersion, "8");
});

Deno.test("write() drops what somebody else has decided meanwhile, and what conflicts twice (R46)", async () => {
  const others = [{ replicas: 4 }, { uid: "another" }];
  for (const other of others) {
    const { write, asked } = open([refuse(409), json(scale(other)), json(scale())]);
    assertEquals([await write(), asked.length], [{ kind: "dropped" }, 2]);
  }
  const { write, asked } = open([refuse(409), json(scale({ version: "8" })), refuse(409)]);
  assertEquals([await write(), asked.length], [{ kind: "dropped" }, 3]);
});

Deno.test("write() passes refusals on, and lets everybody wait who writes where the API server is busy (R46)", async () => {
  for (const code of [403, 422, 429, 500]) {
    const { write, notes } = open([refuse(code, "because")]);
    assertEquals(await write(), { kind: "refused", code, message: "because" });
    assertEquals(notes, [code === 429 ? { waitMs: null } : null]);
  }
});

Deno.test("write() sends nothing that is not wanted any more, nor once more after a conflict (R46, R75)", async () => {
  const first = open([json(scale())]);
  assertEquals([await first.write(() => false), first.asked], [{ kind: "dropped" }, []]);
  assertEquals(first.countGivenBack(), 1, "the turn serves another write");
  const held = Promise.withResolvers<void>();
  const busy = open([() => held.promise.then(() => Response.json(scale()))]);
  let isPaused = false;
  const reads = Array.from({ length: 16 }, () => busy.read());
  const late = busy.write(() => !isPaused);
  await new Promise((resolve) => setTimeout(resolve, 0));
  isPaused = true;
  held.resolve();
  assertEquals([await late, (await Promise.all(reads)).length, busy.asked.length], [{ kind: "dropped" }, 16, 16]);
  let looks = 0;
  const second = open([refuse(409), json(scale({ version: "8" })), json(scale())]);
  assertEquals([await second.write(() => looks++ < 2), second.asked.length], [{ kind: "dropped" }, 2]);
});

Deno.test("write() asks for the next permit of its namespace for more replicas, and for fewer in order of arrival (R46)", async () => {
  const { write, permits } = open([json(scale())]);
  for (const replicas of [4, 2, 0]) await write(() => true, replicas);
  const expected = [true, false, false].map((isUrgent) => ({ namespace: "shop", isUrgent }));
  assertEquals(permits, expected);
});

/** Version 7 of 3 replicas, unless said otherwise. */
function watched(change: Partial<Scale> = {}): Scale {
  return { replicas: 3, statusReplicas: 2, resourceVersion: "7", uid: "u", ...change };
}

Deno.test("read() asks once for a scale that a watch shows, and takes what the watch shows from then on (R30)", async () => {
  let shown: Scale | null = watched();
  const { read, asked, clock } = open([json(scale())], () => shown);
  assertEquals(kindOf(await read()), "read");
  shown = watched({ replicas: 9, statusReplicas: 8, resourceVersion: "12" });
  const reading = await read();
  assert(reading.kind === "read");
  assertEquals([reading.scale, asked.length], [shown, 1]);
  assertEquals(reading.selector.requirements, [{ key: "app", operator: "In", values: ["web"] }]);
  await read(WEB, true);
  assertEquals(asked.length, 2, "by request");
  await clock.advance(299_000);
  await read();
  assertEquals(asked.length, 2);
  await clock.advance(1_000);
  await read();
  assertEquals(asked.length, 3, "after 5 min");
});

Deno.test("read() asks where the watch is late, shows another object or none, or may be dead (R30)", async () => {
  const late: Record<string, Scale | null> = {
    "an older version": watched({ resourceVersion: "6" }),
    "an older version with more digits than letters": watched({ resourceVersion: "06x" }),
    "another object of the name": watched({ uid: "v", resourceVersion: "99" }),
    "no such object, or a watch without contact": null,
  };
  for (const [name, shown] of Object.entries(late)) {
    let current: Scale | null = watched();
    const { read, asked } = open([json(scale())], () => current);
    await read();
    current = shown;
    await read();
    assertEquals(asked.length, 2, name);
  }
  // A kind without a watch.
  const list = {
    kind: "APIResourceList",
    resources: ["rollouts", "rollouts/scale"].map((name) => ({ name, kind: "Rollout", namespaced: true })),
  };
  const { read, asked } = open([json(list), json(scale())], watched);
  for (let time = 0; time < 2; time++) await read(ROLLOUT);
  assertEquals(asked.length, 3);
});

Deno.test("read() asks after each write and each failure: the watch may show the replicas from before (R30, R46)", async () => {
  const { read, write, asked } = open(
    [
      json(scale()),
      json(scale({ replicas: 5, version: "8" })),
      json(scale({ replicas: 5, version: "8" })),
      refuse(503),
    ],
    watched,
  );
  await read();
  assertEquals((await write()).kind, "accepted");
  for (let time = 0; time < 2; time++) {
    const reading = await read();
    // The second time, too: the watch still shows version 7.
    assertEquals(
      reading.kind === "read" ? reading.scale.replicas : reading,
      time === 0 ? 5 : {
        kind: "obstacle",
        blocker: { kind: "scale", message: "no" },
      },
    );
  }
  assertEquals(asked.map(({ request }) => request.split(" ")[0]), ["GET", "PUT", "GET", "GET"]);
});

Deno.test("write() that follows from an old scale of a watch is refused, and other replicas end it (R46)", async () => {
  // The watch shows 3 replicas of version 7. Somebody has written 9 since.
  const changed = open([json(scale()), refuse(409), json(scale({ replicas: 9, version: "8" }))], watched);
  await changed.read();
  const reading = await changed.read();
  assert(reading.kind === "read" && reading.scale.replicas === 3);
  assertEquals(await changed.write(), { kind: "dropped" });
  assertEquals(changed.asked.map(({ request }) => request.split(" ")[0]), ["GET", "PUT", "GET"]);
  assertEquals(changed.asked[1]?.body?.metadata.resourceVersion, "7");
});
