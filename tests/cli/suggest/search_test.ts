/** What is found on loads whose best policy is known. */
import { assert, assertEquals } from "#assert";
import {
  computeScore,
  computeUsageLevels,
  EXAMPLE_SPEC,
  isBetter,
  isClean,
  judge,
  type Subject,
  toSpec,
  type Value,
  type Verdict,
  withNumber,
} from "../../../lib/cli/suggest/judge.ts";
import { type Attempt, climb, listCoordinates, search, type Suggestion } from "../../../lib/cli/suggest/search.ts";
import type { Load } from "../../../lib/simulate/load.ts";
import { MI } from "../../support/builders.ts";
import { autoscalerOf, HOUR, loadOf, WEB } from "../../simulate/runs.ts";

function subject(load: Load, overrides: Partial<Subject> = {}): Subject {
  return { container: "main", pod: WEB, loads: [{ ...load, seconds: 4 * HOUR }], seen: ["cpu"], ...overrides };
}

async function suggest(given: Subject, budget = 40): Promise<Suggestion> {
  const found = await search(given, { budget });
  assert(found !== null);
  return found;
}

function verdict(overrides: Partial<Verdict> = {}): Verdict {
  return {
    slack: 100,
    under: 0,
    throttled: 0,
    throttledSeconds: 0,
    memorySlack: 0,
    oomKills: 0,
    resizes: 0,
    resizesPerHour: 0,
    ...overrides,
  };
}

/** Idle, but for 20 s of 600m every 70 minutes: shorter than any policy can follow, and longer ago than any window. */
const SPIKES = loadOf((second) => ({ cpuMillicores: second % 4200 > 4180 ? 600 : 20 }));

/** Between two levels that the document's example pays both of, since it goes no lower than 100m. */
const ALTERNATING = loadOf((second) => ({ cpuMillicores: second % 2400 < 1200 ? 20 : 80 }));

Deno.test("search() holds still what goes up and down for nothing, where every profile would follow", async () => {
  const { best, profiles, example, worths } = await suggest(subject(ALTERNATING));
  assert(profiles.every(({ verdict }) => verdict.resizes > example.resizes));
  assert(best.verdict.resizes < example.resizes, `${best.verdict.resizes} of ${example.resizes}`);
  assert(best.verdict.slack < example.slack, `${best.verdict.slack} of ${example.slack}`);
  assert(worths.length > 0 && worths.every(({ value }) => value !== undefined));
});

Deno.test("search() loses less to limits than every profile does", async () => {
  const { best, profiles } = await suggest(subject(SPIKES));
  const least = Math.min(...profiles.map(({ verdict }) => verdict.throttledSeconds));
  assert(best.verdict.throttledSeconds < least, `${best.verdict.throttledSeconds} of ${least}`);
});

Deno.test("climb() finds two numbers that gain much together where a number that gains little is tried first", async () => {
  const scores: Readonly<Record<string, number>> = { "": 100, a: 98, b: 99, c: 120, "a,b": 110, "a,c": 130, "b,c": 50 };
  const attempt: Attempt = (candidate) => {
    const score = scores[[...candidate.numbers.keys()].sort().join()] ?? 200;
    return Promise.resolve({ candidate, verdict: verdict(), score });
  };
  const start = await attempt({ profile: "balanced", numbers: new Map() });
  assert(start !== null);
  const coordinates = ["a", "c", "b"].map((path) => ({ path, resource: "cpu", values: [1] } as const));
  const { score } = await climb(start, coordinates, attempt);
  assertEquals(score, 50);
});

Deno.test("search() finds next to no slack on a constant load, and leaves it alone", async () => {
  const { best, example } = await suggest(subject(loadOf(() => ({ cpuMillicores: 300 }))));
  assert(best.verdict.slack < 0.15 * 300 && best.verdict.slack < example.slack, String(best.verdict.slack));
  assert(best.verdict.resizes <= 4, String(best.verdict.resizes));
});

Deno.test("search() suggests a profile alone where numbers gain little", async () => {
  const { best, worths } = await suggest(subject(loadOf(() => ({ cpuMillicores: 300 }))), 3);
  assertEquals([best.candidate.numbers.size, worths.length], [0, 0]);
});

Deno.test("search() gives up slack before it lets a container be killed", async () => {
  // Each hour a burst of memory to four times as much, within a minute.
  const burst = loadOf((second) => ({ workingSetBytes: (second % HOUR > HOUR - 120 ? 480 : 120) * MI }));
  const { best, profiles } = await suggest(subject(burst, { seen: ["cpu", "memory"] }), 20);
  assert(profiles.every(({ verdict }) => verdict.oomKills > 0));
  assertEquals(best.verdict.oomKills, 0);
  assert(best.candidate.numbers.has("bounds.memory.limits.min"));
});

Deno.test("search() leaves alone the numbers of a resource that was not seen", async () => {
  const { best } = await suggest(subject(SPIKES));
  assertEquals([...best.candidate.numbers.keys()].filter((path) => path.includes("memory")), []);
});

Deno.test("each number that is tried changes the policy of its own resource alone", () => {
  const given = subject(SPIKES, { seen: ["cpu", "memory"] });
  const sidesOf = (numbers: ReadonlyMap<string, Value>, resource: string) =>
    autoscalerOf(toSpec({ profile: "balanced", numbers })).sides.filter((side) => side.resource === resource);
  const coordinates = listCoordinates(computeUsageLevels(given.loads), given.seen);
  assert(coordinates.length > 10);
  for (const { path, resource, values } of coordinates) {
    const other = resource === "cpu" ? "memory" : "cpu";
    for (const value of values) {
      assertEquals(sidesOf(new Map([[path, value]]), other), sidesOf(new Map(), other), path);
    }
  }
});

Deno.test("search() simulates no policy twice, and about as many as it may", async () => {
  const tried: number[] = [];
  const found = await search(subject(SPIKES), { budget: 10, onTried: (count) => void tried.push(count) });
  assertEquals(tried, tried.map((_, index) => index + 1));
  const numbers = found?.best.candidate.numbers.size ?? 0;
  assert(tried.length >= 10 && tried.length <= 10 + 2 * numbers + 3, String(tried.length));
});

Deno.test("search() suggests only what podfit lint says nothing of", async () => {
  const { best } = await suggest(subject(SPIKES));
  assert(isClean(toSpec(best.candidate)));
});

Deno.test("judge() gives means over all loads, weighted by their length, and sums of kills", () => {
  const [long, short] = [200, 400].map((cpuMillicores, index) => ({
    ...loadOf(() => ({ cpuMillicores, workingSetBytes: 600 * MI })),
    seconds: (index === 0 ? 3 : 1) * HOUR,
  }));
  assert(long !== undefined && short !== undefined);
  const [a, b, both] = [[long], [short], [long, short]].map((loads) =>
    judge({ ...subject(SPIKES), loads, seen: ["cpu", "memory"] }, null)
  );
  assert(a?.oomKills !== undefined && a.oomKills > 0 && b !== null && b !== undefined);
  assertEquals(both?.oomKills, a.oomKills + b.oomKills);
  assertEquals(both?.slack, (3 * a.slack + b.slack) / 4);
});

Deno.test("judge() refuses a spec that is not valid, and takes the document's example", () => {
  assertEquals(judge(subject(SPIKES), { profile: "none" }), null);
  assert(judge(subject(SPIKES), EXAMPLE_SPEC) !== null);
});

Deno.test("judge() counts nothing of a resource that was not seen", () => {
  // More memory than the limit lets it have, and CPU that goes up and down.
  const load = loadOf((second) => ({ cpuMillicores: second % 2400 < 1200 ? 20 : 800, workingSetBytes: 600 * MI }));
  const [both, cpu, memory] = ([["cpu", "memory"], ["cpu"], ["memory"]] as const).map((seen) =>
    judge(subject(load, { seen }), { profile: "balanced" })
  );
  assert(both && cpu && memory && both.oomKills > 0 && both.throttledSeconds > 0);
  assertEquals([cpu.oomKills, cpu.memorySlack], [0, 0]);
  assertEquals([memory.slack, memory.under, memory.throttled, memory.throttledSeconds], [0, 0, 0, 0]);
  assert(cpu.slack > 0 && cpu.throttledSeconds > 0 && memory.oomKills > 0 && memory.memorySlack > 0);
  assert(cpu.resizes < both.resizes && memory.resizes < both.resizes, JSON.stringify([both, cpu, memory]));
});

Deno.test("computeScore() grows with what costs, and by much with what the measure has done better", () => {
  const measure = verdict({ slack: 200, resizes: 100, resizesPerHour: 10 });
  const base = computeScore(verdict(), measure);
  assertEquals(base, 100);
  assertEquals(computeScore(verdict({ memorySlack: 900 }), measure), 325);
  assertEquals(computeScore(verdict({ under: 10, throttled: 1 }), measure), 150);
  assertEquals(computeScore(verdict({ resizes: 80, resizesPerHour: 8 }), measure), 124);
  assert(computeScore(verdict({ resizes: 99, resizesPerHour: 9.9 }), measure) > 140);
  assert(computeScore(verdict({ throttledSeconds: 100 }), measure) === 500);
  assert(computeScore(verdict({ slack: 210 }), measure) > 1.5 * 210);
});

Deno.test("computeScore() aims at fewer resizes than the measure had by chance", () => {
  const measure = verdict({ slack: 200, resizes: 16 });
  assertEquals(computeScore(verdict({ resizes: 12 }), measure), 100);
  assert(computeScore(verdict({ resizes: 13 }), measure) > 100);
});

Deno.test("isBetter() puts kills before everything", () => {
  const [killed, dear] = [{ verdict: verdict({ oomKills: 1 }), score: 1 }, { verdict: verdict(), score: 9 }];
  assertEquals([isBetter(dear, killed), isBetter(killed, dear)], [true, false]);
  assertEquals(
    [isBetter({ ...dear, score: 8 }, dear, { by: 0.2 }), isBetter({ ...dear, score: 7 }, dear, { by: 0.2 })],
    [
      false,
      true,
    ],
  );
});

Deno.test("withNumber() replaces a number and takes it away, and toSpec() nests them", () => {
  const path = "policy.cpu.requests.targetUtilization";
  const one = withNumber({ profile: "latency", numbers: new Map() }, path, 70);
  const two = withNumber(withNumber(one, "bounds.cpu.requests.min", "20m"), path, 80);
  assertEquals(toSpec(two), {
    profile: "latency",
    policy: { cpu: { requests: { targetUtilization: 80 } } },
    bounds: { cpu: { requests: { min: "20m" } } },
  });
  assertEquals(toSpec(withNumber(one, path, null)), { profile: "latency" });
});

Deno.test("the example is word for word that of tests/verify/quality", async () => {
  const text = await Deno.readTextFile(new URL("../../verify/quality/policies/example.json", import.meta.url));
  assertEquals(EXAMPLE_SPEC, JSON.parse(text));
});

Deno.test("computeUsageLevels() gives levels of all loads together", () => {
  const load = { ...loadOf((second) => ({ cpuMillicores: second, workingSetBytes: 7 })), seconds: 999 };
  const { seconds, pods, cpu, memory } = computeUsageLevels([load, load]);
  assertEquals([seconds, pods], [1998, 2]);
  assertEquals(cpu, { half: 500, most95: 950, most99: 990, max: 999 });
  assertEquals(memory.max, 7);
});
