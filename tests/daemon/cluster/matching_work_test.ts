/**
 * What matching costs, counted in reads of autoscalers and in slices of work, and what it finds while slices are left.
 */
import { assert, assertEquals } from "#assert";
import fc from "fast-check";
import { ClusterCache } from "../../../lib/daemon/cluster/cache.ts";
import type { AutoscalerFacts } from "../../../lib/daemon/cluster/facts.ts";
import type { Autoscaler } from "../../../lib/model/autoscaler.ts";
import { listContainers, type PodFacts } from "../../../lib/model/pod.ts";
import type { RunQueued } from "../../../lib/runtime/event_loop.ts";
import { matches, parseSelectorText } from "../../../lib/units/selector.ts";
import { container, pod, policy } from "../../support/builders.ts";
import { toAutoscalerFacts } from "../../support/status_sources.ts";

function selector(text: string) {
  const parsed = parseSelectorText(text, "");
  assert(parsed.ok);
  return parsed.selector;
}

const EVERY = { containerName: "*", isWildcard: true };

/** A queue of slices that the test runs one by one. */
class Slices {
  readonly #jobs: (() => void)[] = [];

  readonly compute: RunQueued = (job) => {
    const { promise, resolve } = Promise.withResolvers<Awaited<ReturnType<typeof job>>>();
    this.#jobs.push(() => resolve(job() as Awaited<ReturnType<typeof job>>));
    return promise as never;
  };

  get waiting(): number {
    return this.#jobs.length;
  }

  async runOne(): Promise<void> {
    this.#jobs.shift()?.();
    await new Promise((resolve) => setTimeout(resolve));
  }
}

/** Counts how often fields of the autoscaler are read. */
function counted(facts: AutoscalerFacts, count: { reads: number }): AutoscalerFacts {
  if (facts.autoscaler === null) return facts;
  const autoscaler = new Proxy(facts.autoscaler, {
    get(target, key) {
      count.reads++;
      return Reflect.get(target, key);
    },
  });
  return { ...facts, autoscaler };
}

/** Returns the reads that each of `total` autoscalers costs that are created one after another for 100 pods. */
function countReads(
  total: number,
  toAutoscaler: (index: number) => Partial<Autoscaler>,
): readonly number[] {
  const cache = new ClusterCache({ requiresAnnotation: false, onChanged() {}, onDropped() {} });
  const containers = ["main", "proxy", "log"].map((name) => container({ name }));
  for (let i = 0; i < 100; i++) {
    cache.setPod(pod({ uid: `pod-${i}`, name: `pod-${i}`, labels: { app: "web" }, containers }));
  }
  const count = { reads: 0 };
  return Array.from({ length: total }, (_, index) => {
    const name = `a-${String(index).padStart(4, "0")}`;
    const own = { name, uid: name, key: name, target: null, selector: selector("app=web"), ...toAutoscaler(index) };
    count.reads = 0;
    cache.setAutoscaler(counted(toAutoscalerFacts(policy(own)), count));
    return count.reads;
  });
}

const CREATED: Record<string, (index: number) => Partial<Autoscaler>> = {
  "each ranks below those before": () => ({}),
  "each ranks above those before": (index) => ({ priority: index }),
  "each is for all containers": () => EVERY,
  "each has another selector": (index) => ({ selector: selector(`app=web,!no-${index}`) }),
  "each excludes other containers": (index) => ({ ...EVERY, excludeContainers: [`no-${index}`] }),
};

Deno.test("an autoscaler that is created costs the same, however many match the same pods before", async (t) => {
  for (const [name, toAutoscaler] of Object.entries(CREATED)) {
    await t.step(name, () => {
      const reads = countReads(300, toAutoscaler);
      const [early, late] = [Math.max(...reads.slice(40, 60)), Math.max(...reads.slice(260))];
      assert(late <= early, `${late} reads for the last ones, ${early} for the first that find all places taken`);
    });
  }
});

/** 1,000 pods of a tenant with 40 autoscalers, and what one edit of the best one needs. */
function crowded() {
  const slices = new Slices();
  const changed: string[] = [];
  const cache = new ClusterCache({
    requiresAnnotation: false,
    compute: slices.compute,
    onChanged: ({ pod }) => changed.push(pod.uid),
    onDropped() {},
  });
  const own = (index: number, overrides: Partial<Autoscaler> = {}) => {
    const name = `a-${String(index).padStart(2, "0")}`;
    return toAutoscalerFacts(
      policy({ name, uid: name, key: name, target: null, selector: selector("app=web"), ...overrides }),
    );
  };
  return { slices, changed, cache, own };
}

const web = (index: number, overrides: Partial<PodFacts> = {}) =>
  pod({ uid: `pod-${index}`, name: `pod-${index}`, labels: { app: "web" }, ...overrides });

async function fill({ cache, own, slices }: ReturnType<typeof crowded>): Promise<void> {
  for (let i = 0; i < 1000; i++) cache.setPod(web(i));
  for (let i = 0; i < 40; i++) cache.setAutoscaler(own(i));
  while (slices.waiting > 0) await slices.runOne();
}

const keptBy = (cache: ClusterCache, uid: string) => cache.findTracked(uid)?.autoscalers.map(({ name }) => name);

Deno.test("one edit matches 1,000 pods in many slices, and whoever asks for a pod gets what is so now", async () => {
  const run = crowded();
  await fill(run);
  const { cache, changed, own, slices } = run;
  assertEquals([keptBy(cache, "pod-0")?.length, keptBy(cache, "pod-999")?.length], [16, 16]);
  changed.length = 0;
  cache.removeAutoscaler(own(0));
  const atOnce = changed.length;
  assert(atOnce > 0 && atOnce < 100, `${atOnce} pods before the event loop gets a turn`);
  assertEquals(cache.trackedPods.get("pod-999")?.autoscalers[0]?.name, "a-00", "not matched yet");
  assertEquals(keptBy(cache, "pod-999")?.[0], "a-01", "but never used as it was");
  assertEquals(keptBy(cache, "pod-999")?.length, 16, "the next one takes the free place");
  let turns = 0;
  for (; slices.waiting > 0; turns++) await slices.runOne();
  assert(turns >= 10, `${turns} turns of the event loop`);
  assertEquals([new Set(changed).size, changed.length], [1000, 1000], "each pod once");
});

Deno.test("what changes between two slices is matched as it is in the end, once per pod", async () => {
  const run = crowded();
  await fill(run);
  const { cache, changed, own, slices } = run;
  changed.length = 0;
  cache.removeAutoscaler(own(0));
  await slices.runOne();
  cache.setAutoscaler(own(1, { priority: 9, generation: 2 }));
  cache.removeAutoscaler(own(2));
  cache.removePod(web(998));
  cache.setPod(web(999, { labels: { app: "other" } }));
  cache.setPod(web(1000));
  for (let turn = 0; slices.waiting > 0 && turn < 1000; turn++) await slices.runOne();
  const expected = [1, ...Array.from({ length: 15 }, (_, index) => index + 3)].map((index) => own(index).name);
  for (let i = 0; i < 998; i++) assertEquals(keptBy(cache, `pod-${i}`), expected);
  assertEquals([keptBy(cache, "pod-998"), keptBy(cache, "pod-999")], [undefined, undefined]);
  assertEquals(keptBy(cache, "pod-1000"), expected);
  assertEquals(changed.filter((uid) => uid === "pod-500"), ["pod-500"]);
});

Deno.test("an error in one slice leaves no pod without its autoscalers after the next change", async () => {
  const rejected: unknown[] = [];
  const onRejection = (event: PromiseRejectionEvent) => {
    event.preventDefault();
    rejected.push(event.reason);
  };
  globalThis.addEventListener("unhandledrejection", onRejection);
  try {
    const run = crowded();
    let failing = "";
    const jobs: (() => void)[] = [];
    const compute: RunQueued = (job) => {
      const { promise, resolve, reject } = Promise.withResolvers<never>();
      jobs.push(() => {
        try {
          resolve(job() as never);
        } catch (error) {
          reject(error);
        }
      });
      return promise;
    };
    const cache = new ClusterCache({
      requiresAnnotation: false,
      compute,
      onChanged({ pod }) {
        if (pod.uid === failing) throw new Error("no");
      },
      onDropped() {},
    });
    const finish = async () => {
      for (let turn = 0; jobs.length > 0 && turn < 1000; turn++) {
        jobs.shift()?.();
        await new Promise((resolve) => setTimeout(resolve));
      }
    };
    await fill({ ...run, cache });
    await finish();
    failing = "pod-500";
    cache.removeAutoscaler(run.own(0));
    await finish();
    assertEquals(rejected.map(String), ["Error: no"]);
    assertEquals(cache.trackedPods.get("pod-999")?.autoscalers[0]?.name, "a-00", "it still waits");
    cache.setPod(web(1000));
    await finish();
    assertEquals(cache.trackedPods.get("pod-999")?.autoscalers[0]?.name, "a-01");
  } finally {
    globalThis.removeEventListener("unhandledrejection", onRejection);
  }
});

const SELECTORS = ["app=a", "app=b", "app in (a,b)", "!tier"];

const autoscalers = fc.record({
  kind: fc.constant("autoscaler" as const),
  index: fc.nat(7),
  selector: fc.constantFrom(...SELECTORS),
  containerName: fc.constantFrom("main", "aux", "*"),
  priority: fc.nat(2),
  paused: fc.boolean(),
});

const pods = fc.record({
  kind: fc.constant("pod" as const),
  index: fc.nat(4),
  labels: fc.constantFrom({ app: "a" }, { app: "b" }, { app: "a", tier: "x" }),
  containers: fc.constantFrom(["main"], ["main", "aux"], ["other"]),
  finished: fc.boolean(),
});

const steps = fc.oneof(
  { weight: 3, arbitrary: autoscalers },
  { weight: 3, arbitrary: pods },
  fc.record({ kind: fc.constantFrom("removeAutoscaler" as const, "removePod" as const), index: fc.nat(7) }),
  fc.record({ kind: fc.constant("turn" as const) }),
);

const MOST = 2;

/** Returns what asking every autoscaler gives. Clauses: C12. */
function expectedOf(one: PodFacts, all: Iterable<Autoscaler>): readonly string[] {
  if (one.finished) return [];
  const matching = [...all].filter(({ paused, selector }) =>
    !paused && selector !== null && matches(selector, one.labels)
  );
  return ["main", "aux", "other"].flatMap((name) =>
    matching.filter((autoscaler) => listContainers(autoscaler, one).includes(name))
      .sort((a, b) =>
        b.priority - a.priority || Number(a.isWildcard) - Number(b.isWildcard) || (a.name < b.name ? -1 : 1)
      )
      .slice(0, MOST).map((autoscaler) => `${autoscaler.name}/${name}/${autoscaler.generation}`)
  ).sort();
}

Deno.test("matching step by step and in slices finds what asking every autoscaler finds (C12)", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { maxLength: 60 }), async (all) => {
      const slices = new Slices();
      const cache = new ClusterCache({
        requiresAnnotation: false,
        maxContenders: MOST,
        compute: slices.compute,
        onChanged() {},
        onDropped() {},
      });
      const [known, podsNow] = [new Map<number, Autoscaler>(), new Map<number, PodFacts>()];
      for (const [generation, step] of all.entries()) {
        if (step.kind === "turn") await slices.runOne();
        else if (step.kind === "removePod") {
          cache.removePod(web(step.index));
          podsNow.delete(step.index);
        } else if (step.kind === "removeAutoscaler") {
          cache.removeAutoscaler({ uid: `a-${step.index}`, namespace: "shop" });
          known.delete(step.index);
        } else if (step.kind === "pod") {
          const { labels, finished } = step;
          const one = web(step.index, {
            labels,
            finished,
            containers: step.containers.map((name) => container({ name })),
          });
          cache.setPod(one);
          podsNow.set(step.index, one);
        } else if (step.kind === "autoscaler") {
          const name = `a-${step.index}`;
          const { containerName, priority, paused } = step;
          const one = policy({
            ...{ name, uid: name, key: name, target: null, generation, containerName, priority, paused },
            isWildcard: containerName === "*",
            selector: selector(step.selector),
          });
          cache.setAutoscaler(toAutoscalerFacts(one));
          known.set(step.index, one);
        }
      }
      for (const one of podsNow.values()) {
        const found = cache.findTracked(one.uid);
        const kept = found?.autoscalers.map((own) => `${own.name}/${own.containerName}/${own.generation}`) ?? [];
        assertEquals([...kept].sort(), expectedOf(one, known.values()));
        assert(found === null || found.pod === one);
      }
    }),
    { numRuns: 300 },
  );
});
