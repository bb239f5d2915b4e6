/**
 * What matching costs, counted in reads of autoscalers and in slices of work, and what it finds while slices are left.
 */
import { assert, assertEquals } from "#assert";
import { ClusterCache } from "../../../lib/daemon/cluster/cache.ts";
import type { AutoscalerFacts } from "../../../lib/daemon/cluster/facts.ts";
import type { Autoscaler } from "../../../lib/model/autoscaler.ts";
import type { PodFacts } from "../../../lib/model/pod.ts";
import type { RunQueued } from "../../../lib/runtime/event_loop.ts";
import { parseSelectorText } from "../../../lib/units/selector.ts";
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
  const cache = new ClusterCache({ requiresAnnotation: false, onChanged() {}, onDropped() {}, onFailed() {} });
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
    onFailed(_, error) {
      throw error;
    },
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

/** `crowded` with 1,000 pods, of which some cannot be reported. */
async function failing(kind: "changed" | "dropped") {
  const run = crowded();
  const reports: string[] = [];
  const failing = new Set<string>();
  const told: string[] = [];
  const report = (of: typeof kind, { uid }: PodFacts) => {
    if (of === kind && failing.has(uid)) throw new RangeError("no");
    told.push(`${of} ${uid}`);
  };
  const cache = new ClusterCache({
    requiresAnnotation: false,
    compute: run.slices.compute,
    onChanged: ({ pod }) => report("changed", pod),
    onDropped: (pod) => report("dropped", pod),
    onFailed: ({ name }, error) => void reports.push(`${name}: ${error === null ? "works" : error}`),
  });
  const finish = async () => {
    for (let turn = 0; run.slices.waiting > 0 && turn < 1000; turn++) await run.slices.runOne();
  };
  await fill({ ...run, cache });
  await finish();
  told.length = 0;
  return { ...run, cache, reports, failing, told, finish };
}

Deno.test("an error of one pod in a slice is reported with its name, and the others go on", async () => {
  const { cache, reports, failing: broken, told, finish, own } = await failing("changed");
  broken.add("pod-500");
  cache.removeAutoscaler(own(0));
  await finish();
  assertEquals(reports, ["pod-500: RangeError: no"]);
  assertEquals([told.length, keptBy(cache, "pod-999")?.[0]], [999, "a-01"]);
  assertEquals(cache.findTracked("pod-500"), null, "nothing is decided about a pod that its owner does not know");
});

Deno.test("a pod with an error is tried again with each later change, until it is reported", async () => {
  const { cache, reports, failing: broken, told, finish, own } = await failing("changed");
  broken.add("pod-500");
  cache.removeAutoscaler(own(0));
  await finish();
  cache.setPod(web(1000));
  await finish();
  assertEquals([reports.length, told.includes("changed pod-1000")], [2, true]);
  broken.clear();
  cache.setPod(web(1001));
  await finish();
  assertEquals(reports.at(-1), "pod-500: works");
  assertEquals(told.filter((one) => one === "changed pod-500").length, 1);
  assertEquals(keptBy(cache, "pod-500")?.[0], "a-01");
});

Deno.test("an error while a pod is dropped or deleted is reported too, and the pod is dropped with a later change", async () => {
  const { cache, reports, failing: broken, told, finish } = await failing("dropped");
  for (const uid of ["pod-1", "pod-2"]) broken.add(uid);
  cache.setPod(web(1, { labels: {} }));
  cache.removePod(web(2));
  cache.setPod(web(3, { labels: {} }));
  await finish();
  assertEquals(reports.filter((one) => one.endsWith("no")).length >= 2, true);
  assertEquals([told.includes("dropped pod-3"), cache.findTracked("pod-1"), cache.findTracked("pod-2")], [
    true,
    null,
    null,
  ]);
  broken.clear();
  for (let i = 0; i < 2; i++) cache.setPod(web(4 + i));
  await finish();
  assertEquals(reports.slice(-2).toSorted(), ["pod-1: works", "pod-2: works"]);
  assertEquals(told.filter((one) => one.startsWith("dropped")).toSorted(), [
    "dropped pod-1",
    "dropped pod-2",
    "dropped pod-3",
  ]);
  assertEquals([cache.trackedPods.has("pod-1"), cache.trackedPods.has("pod-2")], [false, false]);
});

Deno.test("a workload with 500 autoscalers that changes has each of its pods visited once", () => {
  const { own, slices } = crowded();
  let visits = 0;
  const cache = new ClusterCache({
    requiresAnnotation: false,
    compute: slices.compute,
    onChanged() {},
    onDropped() {},
    onFailed() {},
  });
  const workload = { kind: "deployment", namespace: "shop", name: "web", problems: [] } as const;
  for (let i = 0; i < 500; i++) {
    cache.setAutoscaler(own(i, { selector: null, target: { kind: "deployment", name: "web" } }));
  }
  for (let i = 0; i < 100; i++) {
    const one = web(i);
    cache.setPod(Object.defineProperty({ ...one }, "uid", { get: () => (visits++, one.uid), enumerable: true }));
  }
  visits = 0;
  cache.setWorkload({ ...workload, selector: selector("app=web") });
  assert(visits < 100 * 50, `${visits} reads of the UIDs of 100 pods for 500 autoscalers`);
});

Deno.test("a pod of 5,000 containers costs 200 autoscalers no more than a pod of one container (C11)", () => {
  const countFor = (total: number) => {
    const { cache, own } = crowded();
    const count = { reads: 0 };
    for (let i = 0; i < 200; i++) cache.setAutoscaler(counted(own(i, EVERY), count));
    const containers = Array.from({ length: total }, (_, index) => container({ name: `c-${index}` }));
    count.reads = 0;
    cache.setPod(web(0, { containers }));
    return count.reads;
  };
  const [one, many] = [countFor(1), countFor(5000)];
  assert(one > 0 && many <= one, `${many} reads for 5,000 containers, ${one} for one`);
});
