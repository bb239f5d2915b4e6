import { assert, assertEquals, assertRejects } from "#assert";
import { settleEventLoop, VIRTUAL_START_AT, VirtualClock } from "../support/virtual_clock.ts";
import type { Formula, ScaledObject, Trigger } from "../../lib/model/scaled_object.ts";
import type { ResolvedCredentials } from "../../lib/triggers/credentials.ts";
import {
  type Asked,
  createTriggerReader,
  type TriggerLoop,
  type TriggerReaderOptions,
} from "../../lib/triggers/reader.ts";
import { type AskTrigger, type TriggerAnswer, UNCOUNTED } from "../../lib/triggers/value.ts";
import { type CronSchedule, parseCron } from "../../lib/units/cron.ts";
import { apiSource, externalTrigger, prometheusSource, scaledObjectWith } from "../support/triggers.ts";

const PROMETHEUS = externalTrigger(prometheusSource());
const API = externalTrigger(apiSource(), { index: 1 });
const AUTHENTICATION = { kind: "TriggerAuthentication", name: "auth" } as const;

Deno.test("read() asks all external triggers at once, and one that fails stops no other (R50)", async () => {
  const waiting: (() => void)[] = [];
  const asked: number[] = [];
  const ask: AskTrigger = async ({ index }) => {
    asked.push(index);
    await new Promise<void>((resolve) => waiting.push(resolve));
    return index === 0 ? failed("down") : value(index);
  };
  const third = externalTrigger(prometheusSource(), { index: 2 });
  const reader = world({ ask });
  const reading = reader.read([PROMETHEUS, API, third], "poll", 0);
  await settleEventLoop();
  assertEquals(asked, [0, 1, 2]);
  while (waiting.length > 0) {
    for (const resolve of waiting.splice(0)) resolve();
    await settleEventLoop();
  }
  assertEquals(await reading, { 0: "down!", 1: 1, 2: 2 });
});

Deno.test("read() asks nothing for a trigger with a mistake, which fails each time, and is cached as others are (R4, R19)", async () => {
  const seen: unknown[] = [];
  const { read } = world({
    fetchCredentials: ({ ref }) => (seen.push(ref), Promise.resolve(credentials("t"))),
    ask: () => Promise.resolve(value(7)),
    onAsked: ({ trigger }) => seen.push(trigger.metricName),
  });
  const bad = externalTrigger({ kind: "invalid", problem: "no url" }, { authentication: AUTHENTICATION });
  assertEquals(await read([bad, API], "poll", 0), { 0: "no url!", 1: 7 });
  assertEquals(await read([bad, API], "tick", 15_000), { 0: "no url!", 1: 7 });
  assertEquals(await read([{ ...bad, isCached: true }], "poll", 30_000), { 0: "no url!" });
  assertEquals(await read([{ ...bad, isCached: true }], "tick", 45_000), { 0: "no url! again" });
  assertEquals(seen, [API.metricName, API.metricName]);
});

Deno.test("read() leaves cpu and memory triggers to others (R50)", async () => {
  const cpu: Trigger = {
    kind: "resource",
    type: "cpu",
    index: 0,
    name: null,
    container: null,
    target: { kind: "Utilization", percent: 50 },
    baseline: null,
  };
  assertEquals(await world({ ask: () => Promise.resolve(value(7)) }).read([cpu, API], "tick", 0), { 1: 7 });
});

Deno.test("read() asks once for both halves that are due in the same second, and counts once (R8)", async () => {
  for (const [first, second] of [["poll", "tick"], ["tick", "poll"]] as const) {
    const { read, asked } = counting();
    assertEquals(await read([PROMETHEUS], first, 100), { 0: 1 });
    assertEquals(await read([PROMETHEUS], second, 999), { 0: "1 again" });
    assertEquals(asked(), 1);
  }
});

Deno.test("read() shares a failure between both halves too (R8)", async () => {
  let asked = 0;
  const { read } = world({ ask: () => Promise.resolve(failed(`failure ${++asked}`)) });
  assertEquals(await read([PROMETHEUS], "poll", 0), { 0: "failure 2!" });
  assertEquals(await read([PROMETHEUS], "tick", 0), { 0: "failure 2! again" });
});

Deno.test("read() asks anew in another second, and for the same half (R8)", async () => {
  const { read, asked } = counting();
  await read([PROMETHEUS], "poll", 999);
  assertEquals(await read([PROMETHEUS], "tick", 1000), { 0: 2 });
  assertEquals(await read([PROMETHEUS], "tick", 1000), { 0: 3 });
  assertEquals(await read([PROMETHEUS], "poll", 15_000), { 0: 4 });
  assertEquals(asked(), 4);
});

const SCALING_ONLY = { minReplicas: 1 };

Deno.test("read() asks once in 15 s where polling has no effect, however often it polls (R8)", async () => {
  const { read, asked } = counting();
  const half = (name: TriggerLoop, ms: number) => read([PROMETHEUS], name, ms, SCALING_ONLY);
  assertEquals(await half("poll", 0), { 0: 1 }, "nothing is known yet");
  for (const ms of [5_000, 10_000, 14_999]) assertEquals(await half("poll", ms), { 0: "1 again" });
  assertEquals(await half("tick", 15_000), { 0: 2 });
  assertEquals(await half("poll", 20_000), { 0: "2 again" });
  assertEquals(await half("tick", 25_000), { 0: 3 }, "an early scaling check asks");
  assertEquals(await half("poll", 40_000), { 0: 4 }, "15 s are over");
  assertEquals(await half("tick", 40_000), { 0: "4 again" });
  assertEquals(asked(), 4);
});

Deno.test("read() asks in each poll that can change replicas or whose value is used (R8)", async () => {
  const formula: Formula = {
    text: "a",
    program: { names: [], run: () => ({ kind: "number", value: 1 }) },
    target: 1,
    targetMilli: 1000n,
    activationTarget: 0,
    metricType: "AverageValue",
  };
  const polled: readonly (readonly [Trigger, Partial<ScaledObject>])[] = [
    [PROMETHEUS, { minReplicas: 0 }],
    [PROMETHEUS, { minReplicas: 2, idleReplicas: 1 }],
    [{ ...PROMETHEUS, isCached: true }, SCALING_ONLY],
    [PROMETHEUS, { ...SCALING_ONLY, formula }],
  ];
  for (const [trigger, own] of polled) {
    const { read, asked } = counting();
    for (const ms of [0, 5_000]) await read([trigger], "poll", ms, own);
    assertEquals(asked(), 2);
  }
});

Deno.test("read() asks again in a poll for a trigger that has failed, which ends as soon as it works (R8, R70)", async () => {
  const answers = [failed("down"), failed("down"), value(3)];
  const { read } = world({ ask: () => Promise.resolve(answers.shift() ?? value(9)) });
  assertEquals(await read([PROMETHEUS], "tick", 0, SCALING_ONLY), { 0: "down!" });
  assertEquals(await read([PROMETHEUS], "poll", 5_000, SCALING_ONLY), { 0: 3 });
});

Deno.test("read() asks KEDA once a round for both loops, and in each poll while no scaling check runs (M13)", async () => {
  const { read, asked } = counting();
  const kedas = externalTrigger({ kind: "keda", object: "web", problem: null });
  const half = (name: TriggerLoop, ms: number) => read([kedas], name, ms, { minReplicas: 0 });
  for (const [index, ms] of [0, 5_000, 10_000].entries()) assertEquals(await half("poll", ms), { 0: index + 1 });
  assertEquals(await half("tick", 12_000), { 0: 4 });
  for (const ms of [15_000, 20_000, 26_999]) assertEquals(await half("poll", ms), { 0: "4 again" });
  assertEquals(await half("tick", 27_000), { 0: 5 });
  assertEquals(await half("poll", 42_000), { 0: 6 }, "scaling checks have ended");
  assertEquals(asked(), 6);
});

Deno.test("read() asks KEDA once a round where an object with fallback gets a failure, also after a step back of the wall clock (M13)", async () => {
  let asked = 0;
  const { read } = world({
    ask: () => {
      asked++;
      return Promise.resolve(failed("down"));
    },
  });
  const kedas = externalTrigger({ kind: "keda", object: "web", problem: null });
  const overrides = { ...SCALING_ONLY, fallback: { failureThreshold: 3, replicas: 2, behavior: "static" } } as const;
  await read([kedas], "tick", 600_000, overrides);
  await read([kedas], "tick", 605_000, overrides);
  assertEquals(asked, 1);
  await read([kedas], "tick", 0, overrides);
  assertEquals(asked, 2);
});

Deno.test("read() asks KEDA in each scaling check where the object has no fallback (R8, M13)", async () => {
  const { read, asked } = counting();
  const kedas = externalTrigger({ kind: "keda", object: "web", problem: null });
  for (const ms of [0, 5_000]) await read([kedas], "tick", ms, SCALING_ONLY);
  assertEquals(asked(), 2);
});

Deno.test("read() hands on the values by pod, of cached triggers too (R19)", async () => {
  const byPod = { pods: [], others: [7n] };
  const { reader } = world({ ask: () => Promise.resolve({ kind: "value", value: 7, isEmpty: false, byPod }) });
  const object = scaledObjectWith([{ ...PROMETHEUS, isCached: true }]);
  const { signal } = new AbortController();
  for (const half of ["poll", "tick"] as const) {
    const given = await reader.read(object, half, { now: VIRTUAL_START_AT, signal });
    const reading = given.kind === "read" ? given.readings.get(0) : undefined;
    assertEquals(reading?.kind === "value" ? reading.byPod : null, byPod);
  }
});

Deno.test("read() gives a tick the last poll's value of a cached trigger, and no other trigger's (R19)", async () => {
  const { read, asked } = counting();
  const cached = { ...PROMETHEUS, isCached: true };
  assertEquals(await read([cached, API], "poll", 0), { 0: 1, 1: 2 });
  assertEquals(await read([cached, API], "tick", 15_000), { 0: "1 again", 1: 3 });
  assertEquals(await read([cached, API], "tick", 30_000), { 0: "1 again", 1: 4 });
  assertEquals(await read([cached, API], "poll", 31_000), { 0: 5, 1: 6 });
  assertEquals(await read([cached, API], "tick", 45_000), { 0: "5 again", 1: 7 });
  assertEquals(asked(), 7);
});

Deno.test("read() gives a tick the last poll's error of a cached trigger, beside the others' values (R19)", async () => {
  const ask: AskTrigger = ({ index }) => Promise.resolve(index === 0 ? failed("down") : value(5));
  const { read } = world({ ask });
  const cached = [{ ...PROMETHEUS, isCached: true }, { ...API, isCached: true }];
  await read(cached, "poll", 0);
  assertEquals(await read(cached, "tick", 15_000), { 0: "down! again", 1: "5 again" });
});

Deno.test("read() asks for a cached trigger while no poll has been, and a poll of the same second asks nothing twice (R19)", async () => {
  const { read } = counting();
  const cached = { ...PROMETHEUS, isCached: true };
  assertEquals(await read([cached], "tick", 0), { 0: 1 });
  assertEquals(await read([cached], "tick", 15_000), { 0: 2 });
  assertEquals(await read([cached], "poll", 15_500), { 0: "2 again" });
  assertEquals(await read([cached], "tick", 30_000), { 0: "2 again" });
  assertEquals(await read([cached], "poll", 30_000), { 0: 3 });
});

Deno.test("read() keeps nothing over a new generation, or another object of the name (R19)", async () => {
  const { read } = counting();
  const cached = { ...PROMETHEUS, isCached: true };
  assertEquals(await read([cached], "poll", 0), { 0: 1 });
  assertEquals(await read([cached], "tick", 0, { generation: 2 }), { 0: 2 });
  assertEquals(await read([cached], "poll", 1000, { generation: 2 }), { 0: 3 });
  assertEquals(await read([cached], "tick", 1000, { generation: 2, uid: "uid-2" }), { 0: 4 });
});

Deno.test("read() repeats a failed query once at once, with credentials read afresh (R70)", async () => {
  const tokens = ["old", "new", "newest"];
  const seen: string[] = [];
  const { read } = world({
    fetchCredentials: () => Promise.resolve(credentials(tokens.shift() ?? "none")),
    ask: (_, { credentials: { token = "" } }) => {
      seen.push(token);
      return Promise.resolve(token === "old" ? failed("401") : value(1));
    },
  });
  const secured = { ...PROMETHEUS, authentication: AUTHENTICATION };
  assertEquals(await read([secured], "poll", 0), { 0: 1 });
  assertEquals(await read([secured], "poll", 30_000), { 0: 1 });
  assertEquals(seen, ["old", "new", "new"]);
  assertEquals(tokens, ["newest"]);
});

Deno.test("read() asks no third time, and gives the second failure (R70)", async () => {
  let asked = 0;
  const { read } = world({ ask: () => Promise.resolve(failed(`failure ${++asked}`)) });
  assertEquals(await read([PROMETHEUS], "poll", 0), { 0: "failure 2!" });
  assertEquals(asked, 2);
});

Deno.test("read() does not repeat a query whose failure came late, and reads its credentials again for the next (R70)", async () => {
  const seen: string[] = [];
  const tokens = ["old", "new"];
  const { read } = world({
    fetchCredentials: () => Promise.resolve(credentials(tokens.shift() ?? "none")),
    ask: (_, { credentials: { token = "" } }) => {
      seen.push(token);
      return Promise.resolve(token === "old" ? { ...failed("no answer within 3 s"), isSlow: true } : value(1));
    },
  });
  const secured = { ...PROMETHEUS, authentication: AUTHENTICATION };
  assertEquals(await read([secured], "poll", 0), { 0: "no answer within 3 s!" });
  assertEquals(seen, ["old"]);
  assertEquals(await read([secured], "poll", 30_000), { 0: 1 });
  assertEquals(seen, ["old", "new"]);
});

Deno.test("read() reads credentials again once an authentication has changed (R16)", async () => {
  const tokens = ["old", "new"];
  const seen: string[] = [];
  const { reader, read } = world({
    fetchCredentials: () => Promise.resolve(credentials(tokens.shift() ?? "none")),
    ask: (_, { credentials: { token = "" } }) => (seen.push(token), Promise.resolve(value(1))),
  });
  const secured = { ...PROMETHEUS, authentication: AUTHENTICATION };
  await read([secured], "poll", 0);
  await read([secured], "poll", 30_000);
  reader.forgetCredentials();
  await read([secured], "poll", 60_000);
  assertEquals(seen, ["old", "old", "new"]);
});

Deno.test("read() is obstructed while a secret or a parameter is missing, and heals by itself (R16)", async () => {
  const answers: ResolvedCredentials[] = [
    { kind: "missing", message: "there is no secret" },
    credentials(""),
    credentials("t"),
  ];
  let asked = 0;
  const { read } = world({
    fetchCredentials: () => Promise.resolve(answers.shift() ?? credentials("t")),
    ask: () => (asked++, Promise.resolve(value(1))),
  });
  const secured = {
    ...PROMETHEUS,
    source: prometheusSource({ authModes: ["bearer"] }),
    authentication: AUTHENTICATION,
  };
  assertEquals(await read([secured], "poll", 0), "there is no secret");
  assertEquals(asked, 0);
  const shown = await read([secured], "poll", 30_000);
  assert(typeof shown === "string" && shown.includes('needs parameter "bearerToken"'), JSON.stringify(shown));
  assertEquals(await read([secured], "poll", 60_000), { 0: 1 });
});

Deno.test("read() has a trigger fail whose secret podfit may not read, and tries again (R16)", async () => {
  const answers: ResolvedCredentials[] = [{ kind: "failed", message: "no right" }, {
    kind: "failed",
    message: "still no right",
  }];
  const { read } = world({
    fetchCredentials: () => Promise.resolve(answers.shift() ?? credentials("t")),
    ask: () => Promise.resolve(value(1)),
  });
  const secured = { ...PROMETHEUS, authentication: AUTHENTICATION };
  assertEquals(await read([secured, API], "poll", 0), { 0: "still no right!", 1: 1 });
  assertEquals(await read([secured, API], "poll", 30_000), { 0: 1, 1: 1 });
});

Deno.test("read() computes cron triggers at the time that the half was due, in their zone (R11)", async () => {
  // START is 11:00 in UTC, so 12:00 in Berlin.
  const cron = externalTrigger({
    kind: "cron",
    timezone: "Europe/Berlin",
    start: schedule("0 12 * * *"),
    end: schedule("30 12 * * *"),
    desiredReplicas: 7,
  });
  const { read } = world({});
  assertEquals(await read([cron], "poll", -1), { 0: 0 });
  assertEquals(await read([cron], "poll", 0), { 0: 7 });
  assertEquals(await read([cron], "poll", 30 * 60_000 - 1), { 0: 7 });
  assertEquals(await read([cron], "poll", 30 * 60_000), { 0: 0 });
});

Deno.test("read() searches a cron schedule in its turn, and within a minute at most once in 15 s (R8, R50)", async () => {
  const times = { start: schedule("0 12 * * *"), end: schedule("30 12 * * *") };
  const cron = externalTrigger({ kind: "cron", timezone: "Europe/Berlin", desiredReplicas: 7, ...times });
  let searched = 0;
  const { read } = world({ run: (job) => (searched++, UNCOUNTED.run(job)) });
  const half = (name: TriggerLoop, ms: number) => read([cron], name, ms, { minReplicas: 0 });
  assertEquals(await half("poll", -2_000), { 0: 0 });
  assertEquals(await half("poll", -1), { 0: "0 again" });
  assertEquals(await half("tick", 0), { 0: 7 }, "another minute");
  for (const ms of [1_000, 2_000, 14_999]) assertEquals(await half("poll", ms), { 0: "7 again" });
  assertEquals(await half("poll", 15_000), { 0: 7 });
  assertEquals(searched, 3);
});

Deno.test("read() makes a failed reading of a zone that this runtime does not know (R11)", async () => {
  const times = { start: schedule("0 12 * * *"), end: schedule("30 12 * * *") };
  const cron = externalTrigger({ kind: "cron", timezone: "Nowhere/Land", desiredReplicas: 7, ...times });
  const given = await world({}).read([cron], "poll", 0);
  assert(JSON.stringify(given).includes("Cannot read trigger"), JSON.stringify(given));
});

Deno.test("read() counts pods of the object's namespace, or their nodes (R12)", async () => {
  const asked: unknown[] = [];
  const { read } = world({ countPods: (pods) => (asked.push(pods), Promise.resolve(4)) });
  const selector = {
    source: { matchLabels: { app: "back" } },
    requirements: [{ key: "app", operator: "In", values: ["back"] }],
  } as const;
  const pods = externalTrigger({ kind: "kubernetes-workload", selector, isByNode: false });
  const nodes = externalTrigger({ kind: "kubernetes-workload", selector, isByNode: true }, { index: 1 });
  assertEquals(await read([pods, nodes], "poll", 0, { namespace: "depot" }), { 0: 4, 1: 4 });
  assertEquals(asked, [
    { namespace: "depot", selector, isByNode: false },
    { namespace: "depot", selector, isByNode: true },
  ]);
});

Deno.test("read() makes a failed reading of pods that cannot be counted (R12)", async () => {
  const { read } = world({
    countPods: () => {
      throw new Error("pods are not listed yet");
    },
  });
  const pods = externalTrigger({
    kind: "kubernetes-workload",
    selector: { source: {}, requirements: [] },
    isByNode: false,
  });
  assertEquals(await read([pods], "poll", 0), {
    0: 'Cannot read trigger "s0-kubernetes-workload": pods are not listed yet!',
  });
});

Deno.test("read() tells of each query how long it took and whether it was empty, and of no other reading (R93)", async () => {
  const clock = new VirtualClock();
  const told: string[] = [];
  const onAsked = ({ trigger, seconds, isEmpty }: Asked) => void told.push(`${trigger.index} ${seconds} ${isEmpty}`);
  const ask: AskTrigger = async ({ index }) => {
    await clock.sleep(250);
    return { ...(index === 0 ? failed("empty") : value(0)), isEmpty: index === 0 };
  };
  const { read } = world({ ask, clock, onAsked });
  const reading = read([{ ...PROMETHEUS, isCached: true }, API], "poll", 0);
  await clock.advance(500);
  await reading;
  await read([{ ...PROMETHEUS, isCached: true }], "tick", 15_000);
  assertEquals(told.sort(), ["0 0.25 true", "0 0.25 true", "1 0.25 false"]);
});

Deno.test("read() rejects once it is stopped, so that no failure is counted (R70)", async () => {
  const controller = new AbortController();
  const ask: AskTrigger = () => {
    controller.abort(new Error("shutting down"));
    return Promise.resolve(failed("stopped"));
  };
  const { reader } = world({ ask });
  const options = { now: VIRTUAL_START_AT, signal: controller.signal };
  await assertRejects(() => reader.read(scaledObjectWith([PROMETHEUS]), "poll", options), Error, "shutting down");
});

function schedule(text: string): CronSchedule {
  const parsed = parseCron(text);
  assert(parsed.ok);
  return parsed.schedule;
}

/** Readings are shown as a value, or a message with "!"; those that do not count with "again". Obstructed: the message alone. */
function world(own: Partial<TriggerReaderOptions>) {
  const reader = createTriggerReader({
    clock: new VirtualClock(),
    ask: () => Promise.reject(new Error("not to be asked")),
    countPods: () => 0,
    run: UNCOUNTED.run,
    fetchCredentials: () => Promise.resolve(credentials("t")),
    ...own,
  });
  async function read(
    triggers: readonly Trigger[],
    half: TriggerLoop,
    ms: number,
    { signal = new AbortController().signal, ...object }: Partial<ScaledObject> & { signal?: AbortSignal } = {},
  ): Promise<unknown> {
    const given = await reader.read(scaledObjectWith(triggers, object), half, { now: VIRTUAL_START_AT + ms, signal });
    if (given.kind === "obstructed") return given.message;
    return Object.fromEntries([...given.readings].map(([index, reading]) => {
      const shown = reading.kind === "value" ? reading.value : `${reading.message}!`;
      return [index, reading.isCounted ? shown : `${shown} again`];
    }));
  }
  return { reader, read };
}

/** Each query gives how many there have been. */
function counting() {
  let count = 0;
  return { ...world({ ask: () => Promise.resolve(value(++count)) }), asked: () => count };
}

function value(value: number): TriggerAnswer {
  return { kind: "value", value, isEmpty: false };
}

function failed(message: string): TriggerAnswer {
  return { kind: "failed", message, isEmpty: false };
}

function credentials(token: string): ResolvedCredentials {
  return { kind: "resolved", credentials: { token }, audience: null };
}
