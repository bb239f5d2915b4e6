/**
 * How far a memory limit may go down: page cache, the streak's peak, the pod's sum.
 * Clauses: C46, L36.
 */
import { assertEquals } from "#assert";
import { container, MI, pod, policy, resources, SECOND, side } from "../support/builders.ts";
import { type Load, Story, type StoryOptions } from "../support/story.ts";

const LIMIT = [policy({ sides: [side("memory.limits", { targetUtilizationPercent: 80 })] })];

/** A limit of 1000Mi; a scale-down to target 80 % is wanted. */
function story(load: Load, options: StoryOptions = {}): Story {
  const spec = resources({ "memory.requests": 10 * MI, "memory.limits": 1000 * MI });
  return new Story({ pod: pod({ containers: [container({ spec })] }), contenders: LIMIT, load, ...options });
}

const FLOORS: readonly [string, Load, number][] = [
  ["to its target where the page cache leaves room", { memory: 100 * MI, cache: 100 * MI }, 125],
  ["no lower than usage with page cache and 10 %", { memory: 100 * MI, cache: 400 * MI }, 440],
  ["no lower than usage with page cache and 8Mi", { memory: 10 * MI, cache: 20 * MI }, 28],
  ["to a whole Mi above it", { memory: 100 * MI, cache: 401 * MI }, 442],
];
for (const [sentence, load, mebibytes] of FLOORS) {
  Deno.test(`decideSize() lowers a memory limit ${sentence} (C46)`, () => {
    assertEquals(story(load).pollToRequest().to["memory.limits"], mebibytes * MI);
  });
}

Deno.test("decideSize() heeds the highest page cache of the streak (C46)", () => {
  const told = story({ memory: 100 * MI, cache: 600 * MI });
  told.poll(2);
  assertEquals(told.use({ cache: 100 * MI }).pollToRequest().to["memory.limits"], 660 * MI);
});

Deno.test("decideSize() forgets a page cache from before the streak (C46)", () => {
  const told = story({ memory: 700 * MI, cache: 900 * MI });
  told.poll(3);
  assertEquals(told.use({ memory: 100 * MI, cache: 100 * MI }).pollToRequest().to["memory.limits"], 125 * MI);
});

Deno.test("decideSize() forgets a page cache from long ago in the same streak (C46)", () => {
  const told = story({ memory: 100 * MI, cache: 950 * MI });
  told.poll(6);
  assertEquals(told.reason(), "MemoryInUse");
  told.use({ cache: 100 * MI });
  const { now } = told;
  assertEquals(told.pollToRequest().to["memory.limits"], 125 * MI);
  assertEquals((told.now - now) / SECOND, 20, "twice consecutiveSamples at most");
});

Deno.test("decideSize() says MemoryInUse where the page cache leaves no room, once (C46)", () => {
  const told = story({ memory: 100 * MI, cache: 950 * MI });
  told.poll(6);
  assertEquals([told.reason(), told.notified(), told.requests], ["MemoryInUse", ["ScaleFailed"], []]);
});

Deno.test("decideSize() never lowers a memory limit without usageBytes (C46)", () => {
  const told = story({ memory: 100 * MI, cache: null });
  told.poll(6);
  assertEquals([told.reason(), told.requests], ["MemoryInUse", []]);
});

Deno.test("decideSize() lowers a request without usageBytes, and raises a limit (C46)", () => {
  const sides = [side("memory.requests")];
  const options = { pod: pod(), contenders: [policy({ sides })] };
  assertEquals(story({ memory: 10 * MI, cache: null }, options).pollToRequest().action, "scaleDown");
  const up = story({ memory: 950 * MI, cache: null });
  assertEquals(up.pollToRequest().action, "scaleUp");
});

Deno.test("decideSize() lowers the request where the limit must stay (C46)", () => {
  const told = new Story({
    contenders: [policy({ sides: [side("memory.requests"), side("memory.limits")] })],
    load: { memory: 40 * MI, cache: 250 * MI },
  });
  assertEquals(told.pollToRequest().changes, ["memory.requests"]);
});

const proxy = (limit: number | null) =>
  container({ name: "proxy", spec: resources({ "memory.requests": 10 * MI, "memory.limits": limit }) });
const big = container({ spec: resources({ "memory.requests": 10 * MI, "memory.limits": 1000 * MI }) });

/** [sentence, other containers, used by the pod, to]; main uses 100Mi, so that 125Mi would be its target. */
const SUMS: readonly [string, ReturnType<typeof container>[], number | null, number][] = [
  ["above what the pod uses beside others' limits", [proxy(200 * MI)], 500 * MI, 301],
  ["freely where the others' limits hold what the pod uses", [proxy(600 * MI)], 500 * MI, 125],
  ["freely where another container has no limit: then the pod has none", [proxy(null)], 500 * MI, 125],
  ["freely where the pod's usage is not told", [proxy(200 * MI)], null, 125],
  [
    "not counting init containers, which have ended",
    [proxy(200 * MI), { ...proxy(900 * MI), name: "setup", kind: "init" }],
    500 * MI,
    301,
  ],
];
for (const [sentence, others, podUsage, mebibytes] of SUMS) {
  Deno.test(`decideSize() lowers a memory limit ${sentence} (C46)`, () => {
    assertEquals(lowerBeside(podUsage, { containers: [big, ...others] }), mebibytes * MI);
  });
}

Deno.test("decideSize() lowers a memory limit without a look at the others' where the pod has its own (L36)", () => {
  const containers = [big, proxy(200 * MI)];
  const own = (bytes: number | null) => resources({ "cpu.requests": 500, "memory.limits": bytes });
  assertEquals(lowerBeside(500 * MI, { containers, podResources: own(1200 * MI) }), 125 * MI);
  assertEquals(lowerBeside(500 * MI, { containers, podResources: own(null) }), 301 * MI);
});

/** Returns the first limit that is sent where the pod uses that much. */
function lowerBeside(podUsage: number | null, facts: Parameters<typeof pod>[0]): number | null | undefined {
  const told = story({ memory: 100 * MI }, { pod: pod(facts) });
  for (let turn = 0; turn < 4 && told.requests.length === 0; turn++) {
    told.wait(5 * SECOND);
    const reading = told.read();
    told.observe({ ...reading, usage: { ...reading.usage, usageBytes: podUsage } });
  }
  return told.requests[0]?.to["memory.limits"];
}
