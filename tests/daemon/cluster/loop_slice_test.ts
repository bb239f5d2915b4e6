/**
 * How much is done in one turn of the event loop, whatever one chunk of a watch brings? Counted in reports about pods
 * and in characters that JSON.parse gets. The clock advances by this work alone.
 */
import { assert, assertEquals } from "#assert";
import { WHOLE_CLUSTER } from "../../../lib/daemon/cluster/facts.ts";
import { createObserver, type Observer } from "../../../lib/daemon/cluster/observer.ts";
import { createMetrics } from "../../../lib/daemon/metrics/metrics.ts";
import { createLog } from "../../../lib/runtime/log.ts";
import { autoscalerObject, deploymentObject, type Json, nodeObject, podObject } from "../../support/api_objects.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";

const AUTOSCALERS = "/apis/keda.kedify.io/v1alpha1/podresourceautoscalers";

const PODS = "/api/v1/pods";

/** A hundred reports about pods, and 64 KiB of JSON, count as one millisecond. */
const WORK_PER_MS = 100;

const PIECE = 64 * 1024;

/** Work between two turns: the slice is 5 ms, and one event can begin before its end. */
const MAX_WORK = 6 * WORK_PER_MS;

/** Its time is work, and a sleep of 0 ms is a turn of the event loop. */
class WorkClock extends VirtualClock {
  work = 0;
  mostInTurn = 0;
  #atTurn = 0;

  override monotonic(): number {
    return super.monotonic() + this.work / WORK_PER_MS;
  }

  override sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return ms === 0 ? turnOnce() : super.sleep(ms, signal);
  }

  add(work: number): void {
    this.work += work;
    this.mostInTurn = Math.max(this.mostInTurn, this.work - this.#atTurn);
  }

  onTurn(): void {
    this.#atTurn = this.work;
  }
}

/** Each look at the time takes a millisecond, so few steps of a list fit into one turn. */
class StepClock extends WorkClock {
  beforeTurn = () => {};

  override monotonic(): number {
    this.add(WORK_PER_MS);
    return super.monotonic();
  }

  override sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (ms === 0) this.beforeTurn();
    return super.sleep(ms, signal);
  }
}

function turnOnce(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}

/** Calls the function while texts that JSON.parse gets are work. Returns the length of the longest text. */
async function countParsed(clock: WorkClock, call: () => Promise<void>): Promise<number> {
  const native = JSON.parse;
  let longest = 0;
  JSON.parse = (text, reviver) => {
    longest = Math.max(longest, text.length);
    clock.add(text.length / PIECE * WORK_PER_MS);
    return native(text, reviver);
  };
  try {
    await call();
  } finally {
    JSON.parse = native;
  }
  return longest;
}

/**
 * Starts an observer whose API server lists these objects. `send` sends events in one chunk. `forbid` ends the watch of
 * a path, and refuses all later requests for it.
 */
function start(lists: Readonly<Record<string, readonly Json[]>>, clock = new WorkClock()) {
  const streams = new Map<string, ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>>();
  const forbidden = new Set<string>();
  const transport = (request: Request) => {
    const { pathname, searchParams } = new URL(request.url);
    if (forbidden.has(pathname)) return Promise.resolve(new Response(null, { status: 403 }));
    if (searchParams.get("watch") === null) {
      const items = lists[pathname] ?? [];
      return Promise.resolve(Response.json({ metadata: { resourceVersion: "1" }, items }));
    }
    const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
      start: (controller) => void streams.set(pathname, controller),
    });
    return Promise.resolve(new Response(body));
  };
  const troubles: unknown[] = [];
  const observer = createObserver({
    origin: "http://api",
    transport,
    scope: WHOLE_CLUSTER,
    requiresAnnotation: false,
    clock,
    random: () => 0.5,
    log: createLog({ level: "error", format: "json", clock, write() {} }),
    metrics: createMetrics({ version: "test" }),
    onTrouble: (trouble) => void troubles.push(trouble),
  });
  let reports = 0;
  observer.subscribe({
    onTracked() {
      reports++;
      clock.add(1);
    },
    onDropped() {},
    onAutoscalerGone() {},
    onHeadroom() {},
  });
  const ending = new AbortController();
  const ended = observer.run(ending.signal);
  /** Turns the event loop until nothing more is reported. */
  const settle = async () => {
    for (let quiet = 0, before = -1; quiet < 20; quiet = clock.work === before ? quiet + 1 : 0) {
      before = clock.work;
      await turnOnce();
      clock.onTurn();
    }
  };
  return {
    clock,
    observer,
    troubles,
    settle,
    get reports() {
      return reports;
    },
    send(path: string, events: readonly Json[]) {
      const text = events.map((event) => `${JSON.stringify(event)}\n`).join("");
      streams.get(path)?.enqueue(new TextEncoder().encode(text));
    },
    async forbid(path: string) {
      forbidden.add(path);
      streams.get(path)?.error(new Error("the right was removed"));
      await clock.advance(60_000);
    },
    async [Symbol.asyncDispose]() {
      ending.abort();
      await ended;
    },
  };
}

function podOf(index: number): Json {
  const object = podObject({ name: `web-${index}` });
  return {
    ...object,
    metadata: { ...object.metadata, uid: `pod-${index}`, resourceVersion: "2", labels: { app: "web" } },
  };
}

/** Each one ranks above those before, so it changes all pods. */
function autoscalerOf(index: number, overrides: Json = {}): Json {
  const object = autoscalerObject({ name: `a-${String(index).padStart(4, "0")}` });
  const { target: _, ...spec } = object.spec;
  const metadata = { ...object.metadata, uid: `a-${index}`, resourceVersion: "2", ...overrides };
  return { ...object, metadata, spec: { ...spec, selector: { matchLabels: { app: "web" } }, priority: index } };
}

const range = <T>(count: number, to: (index: number) => T) => Array.from({ length: count }, (_, index) => to(index));

Deno.test("400 autoscalers in one chunk match 50 pods in many turns of the event loop", async () => {
  await using run = start({ [PODS]: range(50, podOf) });
  await run.settle();
  run.clock.mostInTurn = 0;
  run.send(AUTOSCALERS, range(400, (index) => ({ type: "ADDED", object: autoscalerOf(index) })));
  await run.settle();
  assertEquals([run.observer.cache.trackedPods.size, run.troubles], [50, []]);
  assert(run.reports > 10_000, `${run.reports} reports`);
  assert(run.clock.mostInTurn <= MAX_WORK, `${run.clock.mostInTurn} reports in one turn`);
});

Deno.test("2,000 pods in one chunk are matched in many turns of the event loop", async () => {
  await using run = start({ [AUTOSCALERS]: range(20, (index) => autoscalerOf(index)) });
  await run.settle();
  run.clock.mostInTurn = 0;
  run.send(PODS, range(2_000, (index) => ({ type: "ADDED", object: podOf(index) })));
  await run.settle();
  assertEquals([run.observer.cache.trackedPods.size, run.reports, run.troubles], [2_000, 2_000, []]);
  assert(run.clock.mostInTurn <= MAX_WORK, `${run.clock.mostInTurn} reports in one turn`);
});

Deno.test("a list of 2,000 pods is matched in many turns of the event loop", async () => {
  await using run = start({
    [AUTOSCALERS]: range(20, (index) => autoscalerOf(index)),
    [PODS]: range(2_000, podOf),
  });
  await run.settle();
  assertEquals([run.observer.cache.trackedPods.size, run.troubles], [2_000, []]);
  assert(run.clock.mostInTurn <= MAX_WORK, `${run.clock.mostInTurn} reports in one turn`);
});

interface ListCase {
  readonly path: string;
  readonly objects: readonly Json[];
  readonly isKnown: (observer: Observer, index: number) => boolean;
  /** Five steps fit into a turn, and one may begin before its end. */
  readonly mostInTurn: number;
}

const LISTS: Readonly<Record<string, ListCase>> = {
  "100 nodes": {
    path: "/api/v1/nodes",
    objects: range(100, (index) => nodeObject(`node-${index}`)),
    isKnown: ({ nodes }, index) => nodes.has(`node-${index}`),
    mostInTurn: 6,
  },
  "100 resource quotas": {
    path: "/api/v1/resourcequotas",
    objects: range(100, (index) => ({
      metadata: { namespace: `shop-${index}`, name: "quota", uid: `quota-${index}` },
      status: { hard: { cpu: "2" }, used: { cpu: "1" } },
    })),
    isKnown: ({ surroundings }, index) => surroundings.findLimits(`shop-${index}`) !== null,
    mostInTurn: 6,
  },
  "1,000 workloads": {
    path: "/apis/apps/v1/deployments",
    objects: range(1000, (index) => deploymentObject(`web-${index}`)),
    isKnown: ({ cache }, index) =>
      cache.findSelector({ kind: "deployment", namespace: "shop", name: `web-${index}` }) !== null,
    mostInTurn: 600,
  },
};
for (const [name, { path, objects, isKnown, mostInTurn }] of Object.entries(LISTS)) {
  Deno.test(`a list of ${name} is applied in many turns of the event loop`, async () => {
    const clock = new StepClock();
    await using run = start({ [path]: objects }, clock);
    let [known, most] = [0, 0];
    clock.beforeTurn = () => {
      const before = known;
      known = objects.filter((_, index) => isKnown(run.observer, index)).length;
      most = Math.max(most, known - before);
    };
    await run.settle();
    clock.beforeTurn();
    assertEquals([known, run.troubles], [objects.length, []]);
    assert(most <= mostInTurn, `${most} in one turn`);
  });
}

Deno.test("100 resource quotas whose right is removed leave in many turns of the event loop", async () => {
  const clock = new StepClock();
  const quotas = LISTS["100 resource quotas"];
  assert(quotas !== undefined);
  await using run = start({ [quotas.path]: quotas.objects }, clock);
  await run.settle();
  const countKnown = () => quotas.objects.filter((_, index) => quotas.isKnown(run.observer, index)).length;
  let known = countKnown();
  assertEquals(known, 100);
  let most = 0;
  clock.beforeTurn = () => {
    const before = known;
    known = countKnown();
    most = Math.max(most, before - known);
  };
  await run.forbid(quotas.path);
  await run.settle();
  clock.beforeTurn();
  assertEquals(known, 0);
  assert(most <= quotas.mostInTurn, `${most} in one turn`);
});

/** Nearly 1.5 MiB, the most that an API server takes. */
const ENV = range(14_000, (index) => ({ name: `NAME_${index}`, value: "x".repeat(70) }));

function largePod(index: number): Json {
  const object = podOf(index);
  const [first, ...others] = object.spec.containers;
  return { ...object, spec: { ...object.spec, containers: [{ ...first, env: ENV }, ...others] } };
}

Deno.test("a pod of nearly 1.5 MiB is parsed in pieces of 64 KiB and many turns, and nothing of it is lost", async () => {
  await using run = start({ [AUTOSCALERS]: [autoscalerOf(0)] });
  await run.settle();
  run.clock.mostInTurn = 0;
  const longest = await countParsed(run.clock, async () => {
    run.send(PODS, [{ type: "ADDED", object: largePod(0) }, { type: "ADDED", object: podOf(1) }]);
    await run.settle();
  });
  assertEquals([run.observer.cache.trackedPods.size, run.troubles], [2, []]);
  assertEquals(run.observer.cache.findTracked("pod-0")?.pod.containers.length, podObject().spec.containers.length);
  assert(longest <= PIECE + 2, `${longest} characters for JSON.parse`);
  assert(run.clock.mostInTurn <= MAX_WORK, `work ${run.clock.mostInTurn} in one turn`);
});

Deno.test("an autoscaler of nearly 1.5 MiB is parsed in pieces, exists and says that it is too large (L57)", async () => {
  await using run = start({});
  await run.settle();
  run.clock.mostInTurn = 0;
  const annotations = Object.fromEntries(ENV.map(({ name, value }) => [name, value]));
  const longest = await countParsed(run.clock, async () => {
    run.send(AUTOSCALERS, range(3, (index) => ({ type: "ADDED", object: autoscalerOf(index, { annotations }) })));
    await run.settle();
  });
  const found = [...run.observer.cache.listAutoscalers()];
  assertEquals(found.map(({ uid, autoscaler, problems }) => [uid, autoscaler, problems.map(({ reason }) => reason)]), [
    ["a-0", null, ["TooLarge"]],
    ["a-1", null, ["TooLarge"]],
    ["a-2", null, ["TooLarge"]],
  ]);
  assertEquals(run.troubles, []);
  assert(longest <= PIECE + 2, `${longest} characters for JSON.parse`);
  assert(run.clock.mostInTurn <= MAX_WORK, `work ${run.clock.mostInTurn} in one turn`);
});

Deno.test("a list of 4 MiB is parsed in pieces of 64 KiB and many turns", async () => {
  const run = start({ [AUTOSCALERS]: [autoscalerOf(0)], [PODS]: range(3, largePod) });
  await using _run = run;
  const longest = await countParsed(run.clock, run.settle);
  assertEquals([run.observer.cache.trackedPods.size, run.troubles], [3, []]);
  assert(longest <= PIECE + 2, `${longest} characters for JSON.parse`);
  assert(run.clock.mostInTurn <= MAX_WORK, `work ${run.clock.mostInTurn} in one turn`);
});
