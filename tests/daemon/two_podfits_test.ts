/**
 * Two podfits on one API server, as during a rollout: together they resize like one, and their reports add up to what was
 * done.
 * Clauses: C40, C42.
 */
import { assert, assertEquals } from "#assert";
import { autoscalerObject, type Json } from "../support/api_objects.ts";
import { Run, type RunOptions } from "../support/daemon_run.ts";

/** Each sample asks for another step of 10m. */
function climber(cooldown: string): Json {
  const step = { bounds: { cpu: { requests: { step: "10m" } } } };
  return autoscalerObject({ ...step, policy: { cooldown } });
}

interface Course {
  /** When the pod was resized, s. */
  readonly resizedAt: readonly number[];
  readonly cpu: string;
  /** What both podfits counted and reported in all. */
  readonly updates: number;
  readonly told: number;
}

interface CourseOptions extends RunOptions {
  readonly cooldown?: string;
  /** When another podfit starts, s. */
  readonly othersAfter?: readonly number[];
}

const SECONDS = 200;

async function follow({ cooldown = "1m", othersAfter = [], ...options }: CourseOptions = {}): Promise<Course> {
  await using stack = new AsyncDisposableStack();
  const first = stack.use(new Run({ autoscalers: [climber(cooldown)], ...options }));
  first.use({ "web-1": { cpu: 400 } });
  // Long enough for the others to decide on the old pod.
  first.api.intercept = async ({ path }) => {
    if (path.endsWith("/resize")) await first.clock.sleep(50);
    return null;
  };
  const runs = [first];
  const resizedAt: number[] = [];
  let spec = first.cpu();
  for (let second = 0; second < SECONDS; second++) {
    for (const _ of othersAfter.filter((after) => after === second)) runs.push(stack.use(new Run({ after: first })));
    await first.advance(1);
    if (first.cpu() !== spec) resizedAt.push(second);
    spec = first.cpu();
  }
  let updates = 0;
  for (const run of runs) {
    const [line = ""] = await run.series("kedify_agent_pra_resource_updates");
    updates += Number(line.split(" ")[1] ?? 0);
  }
  const told = first.eventsOn("PodResourceAutoscaler").filter(({ reason }) => reason.endsWith("ScaleUp"))
    .reduce((sum: number, { count }: Json) => sum + count, 0);
  return { resizedAt, cpu: spec, updates, told };
}

const TOGETHER: Record<string, CourseOptions> = {
  "at the same moment": { othersAfter: [0] },
  "at the same moment, three of them": { othersAfter: [0, 0] },
  "where the API server's clock is ten minutes behind": { othersAfter: [0], skewMs: -600_000 },
  "where the API server's clock is ten minutes ahead": { othersAfter: [0], skewMs: 600_000 },
  "without a cooldown": { othersAfter: [0], cooldown: "0s" },
};

for (const [when, options] of Object.entries(TOGETHER)) {
  Deno.test(`two createDaemon() ${when} resize when one alone would (C40, C42)`, async () => {
    const alone = await follow({ ...options, othersAfter: [] });
    const together = await follow(options);
    assertEquals([together.resizedAt, together.cpu], [alone.resizedAt, alone.cpu]);
    assertEquals([together.updates, together.told], [alone.resizedAt.length, alone.resizedAt.length]);
    assert(alone.resizedAt.length >= 3, alone.resizedAt.join());
  });
}

const JOINING: Record<string, CourseOptions> = {
  "that polls in between": { othersAfter: [2] },
  "that comes within the cooldown": { othersAfter: [37] },
  "that polls in between, by a clock that is behind": { othersAfter: [3], skewMs: -600_000 },
  "that polls in between, by a clock that is ahead": { othersAfter: [3], skewMs: 600_000 },
};

for (const [which, options] of Object.entries(JOINING)) {
  Deno.test(`another createDaemon() ${which} resizes no sooner than a cooldown after the first (C42)`, async () => {
    const { resizedAt, updates, told } = await follow(options);
    const gaps = resizedAt.slice(1).map((at, index) => at - (resizedAt[index] ?? 0));
    assert(resizedAt.length >= 3 && gaps.every((gap) => gap >= 60), resizedAt.join());
    assertEquals([updates, told], [resizedAt.length, resizedAt.length]);
  });
}

Deno.test("two createDaemon() send one PATCH each for one cause, and the one that lost sends no other (C40)", async () => {
  const first = new Run({ autoscalers: [climber("1m")] });
  await using _first = first;
  await using _second = new Run({ after: first });
  first.use({ "web-1": { cpu: 400 } });
  await first.advance(9);
  const release = first.api.hold("pods");
  await first.advance(20);
  assertEquals([first.resizes.length, first.cpu()], [2, "110m"], "it waits for the pod that it lost against");
  assertEquals(first.api.get("pods", "web-1").metadata.generation, 2, "one was accepted");
  release();
  await first.advance(38);
  assertEquals([first.resizes.length, first.cpu()], [2, "110m"]);
  assertEquals(first.log.filter(({ level }) => level === "WARN"), []);
});

const statusWrites = (run: Run) => run.api.calls.filter(({ path }) => path.endsWith("/status")).length;
const warnings = (run: Run) => run.log.filter(({ level }) => level === "WARN").map(({ message }) => String(message));

/** Two podfits with 20 autoscalers. One of them cannot reach kubelets. */
function startBlind(names: readonly string[]): readonly [Run, Run] {
  const seeing = new Run({ autoscalers: names.map((name) => autoscalerObject({ name })) });
  return [seeing, new Run({ after: seeing, isBlind: true })];
}

Deno.test("of two createDaemon() the one that reads usage has the last word, and the other says why it yields (C51)", async () => {
  const names = Array.from({ length: 20 }, (_, index) => `web${index}`);
  const [seeing, blind] = startBlind(names);
  await using _seeing = seeing;
  await using _blind = blind;
  await seeing.advance(300);
  const before = statusWrites(seeing);
  const seen = new Map<string, number>();
  for (let minute = 0; minute < 60; minute++) {
    await seeing.advance(60);
    for (const name of names) {
      const is = seeing.condition("Metrics", name);
      seen.set(is, (seen.get(is) ?? 0) + 1);
    }
  }
  const perMinute = (statusWrites(seeing) - before) / 60;
  assert(perMinute <= 3, `${perMinute} writes a minute`);
  const known = seen.get("True Available") ?? 0;
  assert(known >= 0.9 * 60 * names.length, JSON.stringify([...seen]));
  assertEquals(
    warnings(blind).filter((message) => message.startsWith("Somebody else writes other statuses")).length,
    1,
  );
});

Deno.test("createDaemon() writes its statuses again soon after the other podfit has gone (C51)", async () => {
  const names = Array.from({ length: 20 }, (_, index) => `web${index}`);
  const [seeing, blind] = startBlind(names);
  await using _blind = blind;
  await seeing.advance(600);
  await seeing.stop();
  await blind.advance(900);
  assertEquals(names.filter((name) => blind.condition("Metrics", name) !== "False MetricsUnavailable"), []);
  assertEquals(blind.log.filter(({ message }) => message === "Statuses are written over: recovered").length, 1);
});
