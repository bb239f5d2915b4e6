/**
 * When is a trigger asked? One namespace's servers that never answer, large answers and broken servers delay its own
 * triggers and no others.
 * Clauses: R15, R50.
 */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "#assert";
import { createQueryLimits, createRunPaid } from "../../../lib/daemon/replicas/query_limits.ts";
import { type BudgetLimits, WorkBudget } from "../../../lib/runtime/budget.ts";
import type { Clock } from "../../../lib/runtime/clock.ts";
import { getComputeQueue } from "../../../lib/runtime/event_loop.ts";
import type { AnswerWork, AskTrigger, TriggerAnswer } from "../../../lib/triggers/value.ts";
import { externalTrigger, prometheusSource } from "../../support/triggers.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";

const PLENTY: BudgetLimits = { msPerSecond: 1e9, burstMs: 1e9, bytesPerSecond: 1e9, burstBytes: 1e9 };
const VALUE: TriggerAnswer = { kind: "value", value: 1, isEmpty: false };

interface Server {
  /** How long an answer takes; Infinity = none comes, and the timeout ends the query. */
  readonly ms: number;
  readonly answer?: TriggerAnswer;
  readonly timeoutMs?: number;
  /** What the parser of an answer does. */
  readonly parse?: (work: AnswerWork) => Promise<void>;
}

/** Servers by their host. Each query that is sent is kept with the time. */
class Desk {
  readonly clock = new VirtualClock();
  readonly servers = new Map<string, Server>();
  readonly sent: { readonly host: string; readonly atMs: number }[] = [];
  readonly waited: string[] = [];
  readonly most = { ofAll: 0, byNamespace: new Map<string, number>() };
  readonly ending = new AbortController();
  readonly budget: WorkBudget;
  readonly runPaid: (namespace: string) => AnswerWork["run"];
  readonly #limits: (namespace: string) => AskTrigger;
  #open = 0;
  #workedMs = 0;

  constructor(limits = PLENTY) {
    const { clock } = this;
    const working: Clock = {
      now: () => clock.now(),
      steady: () => clock.steady(),
      monotonic: () => clock.monotonic() + this.#workedMs,
      timeout: (ms) => clock.timeout(ms),
      sleep: (ms, signal) => clock.sleep(ms, signal),
    };
    this.budget = new WorkBudget(working, limits);
    const shared = { clock: working, compute: getComputeQueue(working), budget: this.budget };
    this.runPaid = createRunPaid(shared);
    this.#limits = createQueryLimits({
      ...shared,
      ask: this.#ask,
      random: () => 1,
      onWaited: (namespace, seconds) => this.waited.push(`${namespace} ${seconds}`),
    });
  }

  /** One object with triggers of these hosts. Its queries begin at once. */
  ask(namespace: string, hosts: readonly string[]): Promise<readonly TriggerAnswer[]> {
    const ask = this.#limits(namespace);
    return Promise.all(hosts.map((host) => {
      const source = host.startsWith("keda/")
        ? { kind: "keda", object: host, problem: null } as const
        : prometheusSource({ serverAddress: `http://${host}/path`, query: namespace });
      return ask({ ...externalTrigger(source), source }, { credentials: {}, now: 0, signal: this.ending.signal });
    }));
  }

  /** As `ask`, for queries whose answers are not looked at. */
  begin(namespace: string, hosts: readonly string[]): void {
    this.ask(namespace, hosts).catch(() => {});
  }

  /** Time passes while a job runs. */
  work(ms: number): void {
    this.#workedMs += ms;
  }

  countSent(host: string): number {
    return this.sent.filter((one) => one.host === host).length;
  }

  readonly #ask: AskTrigger = async ({ source }, { signal, work }) => {
    const host = source.kind === "keda"
      ? source.object
      : source.kind === "prometheus"
      ? new URL(source.serverAddress).host
      : "";
    const { ms, answer = VALUE, timeoutMs = 15_000, parse } = this.servers.get(host) ?? { ms: 10 };
    this.sent.push({ host, atMs: this.clock.monotonic() });
    this.most.ofAll = Math.max(this.most.ofAll, ++this.#open);
    await this.clock.sleep(Math.min(ms, timeoutMs), signal).catch(() => {});
    this.#open--;
    if (ms > timeoutMs) return { kind: "failed", message: `no answer from ${host}`, isEmpty: false };
    if (parse !== undefined && work !== undefined) await parse(work);
    return answer;
  };
}

const repeat = (count: number, host: string) => Array.from({ length: count }, () => host);

Deno.test("the query of one namespace is sent at once beside 40 objects of another whose servers never answer (R50)", async () => {
  const desk = new Desk();
  for (let index = 0; index < 40; index++) {
    const hosts = Array.from({ length: 8 }, (_, trigger) => `tarpit-${index}-${trigger}`);
    hosts.forEach((host) => desk.servers.set(host, { ms: Infinity }));
    desk.begin("hostile", hosts);
  }
  await desk.clock.advance(0);
  assertEquals(desk.sent.length, 32, "alone, a namespace has half of the places");
  const victim = desk.ask("victim", ["good"]);
  await desk.clock.advance(0);
  assertEquals(desk.sent.length, 33);
  assertEquals(desk.sent.at(-1), { host: "good", atMs: 0 });
  await desk.clock.advance(10);
  assertEquals(await victim, [VALUE]);
  assertEquals(desk.waited.at(-1), "victim 0");
  // However long the servers of the other are silent, the next ones are sent at once too.
  for (const atMs of [1_500, 5_000, 14_000, 20_000]) {
    await desk.clock.advance(atMs - desk.clock.monotonic());
    desk.begin("victim", ["good"]);
    await desk.clock.advance(0);
    assertEquals(desk.sent.at(-1), { host: "good", atMs });
  }
  desk.ending.abort(new Error("the end"));
  await desk.clock.advance(0);
});

Deno.test("no more than 64 queries are sent at once, and 64 slow ones in addition (R50)", async () => {
  const desk = new Desk();
  for (let namespace = 0; namespace < 40; namespace++) {
    for (let object = 0; object < 8; object++) {
      const hosts = Array.from({ length: 8 }, (_, index) => `tarpit-${namespace}-${object}-${index}`);
      hosts.forEach((host) => desk.servers.set(host, { ms: Infinity }));
      desk.begin(`hostile-${namespace}`, hosts);
    }
  }
  await desk.clock.advance(0);
  assertEquals(desk.most.ofAll, 64);
  await desk.clock.advance(14_000);
  assertEquals(desk.most.ofAll, 128);
  desk.ending.abort(new Error("the end"));
  await desk.clock.advance(0);
});

Deno.test("a query that is slow gives its place to the next of its namespace (R50)", async () => {
  const desk = new Desk();
  desk.servers.set("slow", { ms: 5_000 });
  for (let object = 0; object < 5; object++) desk.begin("shop", repeat(8, "slow"));
  await desk.clock.advance(999);
  assertEquals(desk.countSent("slow"), 32);
  await desk.clock.advance(1);
  assertEquals(desk.countSent("slow"), 40);
  await desk.clock.advance(10_000);
  assertEquals(desk.clock.pending, 0);
});

Deno.test("after three queries in a row without an answer, one at a time probes the server, with growing waits (R50)", async () => {
  const desk = new Desk();
  desk.servers.set("down", { ms: Infinity, timeoutMs: 3_000 });
  const answers: string[] = [];
  // One query a second for five minutes.
  const askOnce = () =>
    desk.ask("shop", ["down"]).then(([one]) => answers.push(one?.kind === "failed" ? one.message : "value"));
  for (let second = 0; second < 300; second++) {
    askOnce();
    await desk.clock.advance(1_000);
  }
  const probes = desk.sent.filter(({ atMs }) => atMs > 5_000).map(({ atMs }) => atMs);
  const waits = probes.slice(1).map((atMs, index) => atMs - (probes[index] ?? 0) - 3_000);
  assert(probes.length < 15, `${probes.length} probes in 300 s`);
  assert(waits.every((ms, index) => ms >= (waits[index - 1] ?? 0)), `the waits grow: ${waits.join()}`);
  assert((waits.at(-1) ?? 0) <= 31_000, waits.join());
  assertStringIncludes(
    answers.at(-1) ?? "",
    'Cannot read trigger "s0-prometheus" from "http://down": not asked, because the last 3 queries of this namespace to it got no answer in time',
  );
  // As soon as it answers a probe, all are sent again.
  desk.servers.set("down", { ms: 10 });
  await desk.clock.advance(35_000);
  const before = desk.sent.length;
  desk.begin("shop", repeat(5, "down"));
  await desk.clock.advance(20);
  assertEquals(desk.sent.length - before, 1, "the probe");
  desk.begin("shop", repeat(5, "down"));
  await desk.clock.advance(20);
  assertEquals(desk.sent.length - before, 6);
});

Deno.test("a server that does not answer one namespace is still asked for another, and for other ports (R50)", async () => {
  const desk = new Desk();
  desk.servers.set("shared", { ms: Infinity, timeoutMs: 3_000 });
  desk.begin("hostile", repeat(8, "shared"));
  await desk.clock.advance(3_000);
  desk.begin("hostile", ["shared"]);
  await desk.clock.advance(0);
  assertEquals(desk.countSent("shared"), 8, "not asked again");
  desk.servers.set("shared", { ms: 10 });
  desk.begin("victim", ["shared"]);
  desk.begin("hostile", ["shared:81"]);
  await desk.clock.advance(0);
  assertEquals([desk.countSent("shared"), desk.countSent("shared:81")], [9, 1]);
});

Deno.test("an object whose scaler is slow in KEDA stops the questions of no other object of its namespace (R50)", async () => {
  const desk = new Desk();
  desk.servers.set("keda/slow", { ms: Infinity, timeoutMs: 3_000 });
  desk.begin("shop", repeat(8, "keda/slow"));
  await desk.clock.advance(3_000);
  const asked = desk.ask("shop", ["keda/slow", "keda/quick"]);
  await desk.clock.advance(1_000);
  assertEquals([desk.countSent("keda/slow"), desk.countSent("keda/quick")], [8, 1]);
  const [slow] = await asked;
  const text = slow?.kind === "failed" ? slow.message : "";
  assertStringIncludes(text, "the last 3 queries of this object to it got no answer in time");
});

Deno.test("failures that come fast, and answers between slow failures, stop no query (R50)", async () => {
  const desk = new Desk();
  const refused: TriggerAnswer = { kind: "failed", message: "connection refused", isEmpty: false };
  desk.servers.set("refuses", { ms: 20, answer: refused });
  for (let round = 0; round < 20; round++) {
    const asked = desk.ask("shop", ["refuses"]);
    await desk.clock.advance(20);
    assertEquals(await asked, [refused]);
  }
  for (let round = 0; round < 10; round++) {
    desk.servers.set("flaps", { ms: round % 3 === 2 ? 10 : Infinity, timeoutMs: 2_000 });
    desk.begin("shop", ["flaps"]);
    await desk.clock.advance(2_000);
  }
  assertEquals([desk.countSent("refuses"), desk.countSent("flaps")], [20, 10]);
});

Deno.test("a namespace whose answers take more time than its budget is asked later, and no other (R50)", async () => {
  const desk = new Desk({ msPerSecond: 100, burstMs: 500, bytesPerSecond: 1e9, burstBytes: 1e9 });
  const parse = (ms: number) => async ({ run }: AnswerWork) => {
    await run(() => desk.work(ms));
  };
  desk.servers.set("large", { ms: 10, parse: parse(200) });
  for (let index = 0; index < 4; index++) {
    desk.begin("hostile", ["large"]);
    await desk.clock.advance(300);
  }
  assertEquals([desk.budget.isDelayed("hostile"), desk.budget.isDelayed("victim")], [false, false]);
  const before = desk.sent.length;
  desk.begin("hostile", repeat(4, "large"));
  desk.begin("victim", ["good"]);
  await desk.clock.advance(5);
  assertEquals(desk.sent.slice(before).map(({ host }) => host), ["good"]);
  assertEquals([desk.budget.isDelayed("hostile"), desk.budget.isDelayed("victim")], [true, false]);
  await desk.clock.advance(5_000);
  assertEquals(desk.countSent("large"), 8);
  await desk.clock.advance(60_000);
  assertEquals(desk.budget.isDelayed("hostile"), false);
});

Deno.test("jobs of a namespace take turns with those of others, and it pays also for one that throws (R50)", async () => {
  const desk = new Desk({ msPerSecond: 100, burstMs: 500, bytesPerSecond: 1e9, burstBytes: 1e9 });
  const done: string[] = [];
  const add = (namespace: string, ms: number) =>
    desk.runPaid(namespace)(() => {
      desk.work(ms);
      done.push(namespace);
      if (ms > 100) throw new Error("no such zone");
    });
  const jobs = [...repeat(4, "hostile"), "victim"].map((namespace) => add(namespace, 100));
  await desk.clock.advance(10);
  await Promise.all(jobs);
  assertEquals(done, ["hostile", "hostile", "victim", "hostile", "hostile"]);
  const failing = assertRejects(() => add("hostile", 1_000), Error, "no such zone");
  await desk.clock.advance(10);
  await failing;
  desk.begin("hostile", ["late"]);
  desk.begin("victim", ["good"]);
  await desk.clock.advance(100);
  assertEquals(desk.sent.map(({ host }) => host), ["good"]);
  await desk.clock.advance(10_000);
  assertEquals(desk.countSent("late"), 1);
});

Deno.test("a namespace whose answers have more bytes than its budget is asked later (R15)", async () => {
  const desk = new Desk({ msPerSecond: 1e9, burstMs: 1e9, bytesPerSecond: 1_000, burstBytes: 5_000 });
  desk.servers.set("large", { ms: 10, parse: ({ countBytes }) => Promise.resolve(countBytes(4_000)) });
  desk.begin("shop", repeat(2, "large"));
  await desk.clock.advance(20);
  desk.begin("shop", ["large"]);
  await desk.clock.advance(2_900);
  assertEquals(desk.countSent("large"), 2);
  await desk.clock.advance(200);
  assertEquals(desk.countSent("large"), 3);
});
