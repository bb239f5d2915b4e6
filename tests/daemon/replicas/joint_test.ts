/**
 * Replicas and pod sizes of one Deployment on an embedded cluster: both become stable where they should.
 * Clauses: R81, R86, R87.
 */
import { assert, assertEquals } from "#assert";
import type { Json } from "../../support/api_objects.ts";
import {
  type CourseRun,
  type JointCourse,
  readSizes,
  runCourse,
  shareLoad,
  startCourse,
} from "../../support/joint_course.ts";
import { countTurns } from "../../support/joint_model.ts";

/** Thresholds in percent, and the damping of a resource field. */
function policy(cooldown: string, { up = 95, down = 40, samples = 3, window = "10m" } = {}): Json {
  const side = {
    scaleUpThreshold: up,
    scaleDownThreshold: down,
    targetUtilization: 68,
    scaleDown: { window },
  };
  return {
    policy: { pollInterval: "15s", consecutiveSamples: samples, cooldown, cpu: { requests: side, limits: side } },
  };
}

const STEP_UP: JointCourse = {
  born: 300,
  full: 900,
  target: 50,
  replicas: 2,
  min: 1,
  load: [600, 2_000],
  leaderPart: 0.7,
  noise: 0.1,
  rules: policy("30s", { up: 85, down: 50, samples: 2, window: "5m" }),
};
const STEP_DOWN: JointCourse = {
  ...STEP_UP,
  target: 60,
  replicas: 8,
  load: [3_000, 700],
  noise: 0.35,
  rules: policy("2m"),
};

const COURSES: Readonly<Record<string, JointCourse>> = {
  "after a step up, with a cooldown of 30 s": STEP_UP,
  "after a step down, with a cooldown of 2 min": STEP_DOWN,
  "with a profile": { ...STEP_UP, noise: 0.2, rules: { profile: "balanced" } },
  "where new pods inherit the size of the others": {
    ...STEP_UP,
    target: 60,
    load: [600, 3_000],
    noise: 0.2,
    rules: { ...policy("30s"), newPods: "inherit" },
  },
};

/** What the HPA controller would set from the initial requests, and a tenth more. */
function readMost({ load: [_, load], target, born, min }: JointCourse): number {
  return Math.max(Math.ceil(1.1 * Math.ceil(100 * load / (target * born))), min);
}

function judge(course: JointCourse, { replicas, sizes, errors }: CourseRun) {
  return {
    turnsOnce: countTurns(replicas) <= 1,
    sizesTurnOnce: sizes.every((size) => countTurns(size) <= 1),
    isWithin: (replicas.at(-1) ?? Infinity) <= readMost(course),
    errors,
  };
}

const CALM = { turnsOnce: true, sizesTurnOnce: true, isWithin: true, errors: [] };

for (const [when, course] of Object.entries(COURSES)) {
  Deno.test(`a whole podfit lets replicas and sizes turn once at most over 2 h of one load, ${when} (R87)`, async () => {
    const run = await runCourse(course);
    assertEquals(judge(course, run), CALM, `${run.replicas.join(" ")}; ${run.sizes.join("; ")}`);
    // The rule had something to check.
    assert(countSteps(run.replicas) > 0 && run.sizes.some((size) => countSteps(size) > 0));
    assert(run.reasons.has("VerticalFirst"), [...run.reasons].join());
  });
}

Deno.test("a whole podfit that goes by live requests flaps, or runs away to the maximum (R81, R87, R89)", async () => {
  const course = { ...STEP_UP, metadata: { baseline: "live" }, seconds: 3_600 };
  const run = await runCourse(course);
  assert(countTurns(run.replicas) > 3, run.replicas.join(" "));
  assert(Math.max(...run.replicas) > readMost(course), run.replicas.join(" "));
});

function countSteps(values: readonly number[]): number {
  return values.filter((value, index) => index > 0 && value !== values[index - 1]).length;
}

Deno.test("a whole podfit holds pods from shrinking until replicas have fallen, says so, and then goes on (R86)", async () => {
  const course: JointCourse = {
    ...STEP_DOWN,
    replicas: 6,
    load: [1_080, 200],
    leaderPart: 0,
    noise: 0.1,
    rules: policy("30s", { window: "1m" }),
  };
  await using run = await startCourse(course);
  shareLoad(run, course, 0);
  await run.advance(400);
  shareLoad(run, course, 1);
  const held = () => run.podfit.log.filter(({ reason }) => reason === "ScaleInPending").length;
  let seconds = 0;
  while (await run.replicas() === 6 && seconds < 600) {
    assertEquals([...new Set((await readSizes(run)).values())], [300], `${seconds} s after the step`);
    await run.advance(5);
    seconds += 5;
  }
  assert(seconds >= 270 && seconds < 400, `${seconds} s`);
  const before = held();
  assert(before > 0);
  const name = `kedify_agent_pra_scale_blocked_total{namespace="default",name="web",reason="ScaleInPending"}`;
  assertEquals((await run.podfit.series(name)).length, 1);
  await run.advance(300);
  assertEquals([await run.replicas(), held()], [2, before]);
  const sizes = [...(await readSizes(run)).values()];
  assert(sizes.every((size) => size < 200), sizes.join());
});
