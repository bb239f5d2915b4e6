/** Both halves over one deployment: at a constant load replicas and sizes come to rest, and come to rest where they should (R81, R83, R86, R87). */
import { assert, assertEquals } from "#assert";
import type { Autoscaler, ProfileName } from "../../lib/model/autoscaler.ts";
import { parseAutoscaler } from "../../lib/resources/pod_resource_autoscaler/parse.ts";
import type { ResourceTrigger } from "../../lib/model/scaled_object.ts";
import { policy, SECOND, side } from "../support/builders.ts";
import { countTurns, createRandom, type JointModel, type JointRun, runJointly } from "../support/joint_model.ts";
import { cpuTrigger } from "../support/workload_pods.ts";

/** 2 h. */
const TICKS = 480;
const COURSES = 60;

/** A load that stays as it is, over pods that are all of them too small, too large, too many or too few at first. */
function newCourse(seed: number): JointModel {
  const random = createRandom(1000 + seed);
  const pick = <T>(first: T, ...others: readonly T[]): T =>
    [first, ...others][Math.floor(random() * (others.length + 1))] ?? first;
  const born = pick(300, 500, 1000);
  const isGuaranteed = pick(true, true, false);
  const bounds = { min: 50, max: born * pick(2, 4) };
  const thresholds = { scaleUpThresholdPercent: 95, scaleDownThresholdPercent: 40, targetUtilizationPercent: 68 };
  const times = { consecutiveSamples: 3, cooldownMs: pick(30, 120) * SECOND, down: { windowMs: 600 * SECOND } };
  const rule = { bounds, ...thresholds, ...times };
  const percent = pick(50, 60, 80);
  const load = born * percent / 100 * (1 + 15 * random());
  return {
    seed,
    autoscaler: policy({
      pollIntervalMs: 15 * SECOND,
      sides: isGuaranteed ? [side("cpu.requests", rule), side("cpu.limits", rule)] : [side("cpu.requests", rule)],
    }),
    trigger: cpuTrigger({ target: { kind: "Utilization", percent } }),
    behavior: null,
    minReplicas: pick(1, 3),
    maxReplicas: 40,
    replicas: pick(1, 3, 6, 15),
    born,
    limit: isGuaranteed ? born : null,
    load: () => load,
    leaderShare: pick(0, 0, 0.7),
    noise: pick(0.1, 0.2, 0.35),
    readyMs: pick(10, 40, 90) * SECOND,
    ticks: TICKS,
  };
}

function withBaseline(course: JointModel, baseline: ResourceTrigger["baseline"]): JointModel {
  return { ...course, trigger: { ...course.trigger, baseline } };
}

/** What the HPA controller would set by the requests that pods are born with, and a tenth more. */
function readMost({ load, trigger, born, minReplicas }: JointModel): number {
  const { target } = trigger;
  const percent = target.kind === "Utilization" ? target.percent : 100;
  return Math.max(Math.ceil(1.1 * Math.ceil(100 * load(0) / (percent * born))), minReplicas);
}

/** What is wrong with a course: nothing, or a line about it. */
function judge(course: JointModel, { replicas, sizes }: JointRun): readonly string[] {
  const [turns, sizeTurns] = [countTurns(replicas), Math.max(...sizes.map(countTurns))];
  const [end, most] = [replicas.at(-1) ?? 0, readMost(course)];
  if (turns <= 1 && sizeTurns <= 1 && end <= most) return [];
  return [
    `course ${course.seed}: ${turns} turns of replicas, ${sizeTurns} of a size, ${end} of at most ${most} replicas`,
  ];
}

Deno.test("under a constant load replicas and sizes turn once at most, and do not pass what sizes at birth ask for (R81, R83, R87)", () => {
  const reasons = new Set<string>();
  const wrong: string[] = [];
  for (let seed = 0; seed < COURSES; seed++) {
    const course = newCourse(seed);
    const run = runJointly(course);
    wrong.push(...judge(course, run));
    for (const reason of run.reasons) reasons.add(reason);
  }
  assertEquals(wrong, []);
  // The courses have met what the rules are about.
  const met = ["VerticalFirst", "AtBound", "ScaleInPending", "ScaledOut", "ScaledIn", "scaleUp", "scaleDown"];
  assertEquals(met.filter((reason) => !reasons.has(reason)), []);
});

Deno.test("with live requests as the yardstick the same courses flap, or run away to the maximum (R81, R89)", () => {
  let [turns, wrong] = [0, 0];
  for (let seed = 0; seed < COURSES; seed++) {
    const course = withBaseline(newCourse(seed), { kind: "live" });
    const run = runJointly(course);
    turns += countTurns(run.replicas);
    wrong += judge(course, run).length;
  }
  assert(turns > COURSES, `${turns} turns`);
  assert(wrong > COURSES / 4, `${wrong} courses`);
});

for (const profile of ["latency", "balanced", "thrifty"] as const) {
  Deno.test(`under a constant load nothing turns twice with profile ${profile} either (R87)`, () => {
    const autoscaler = parseProfile(profile);
    const wrong: string[] = [];
    for (let seed = 0; seed < COURSES / 2; seed++) {
      const course = newCourse(seed);
      // More is more than the bands of a profile hold, whatever replicas do.
      const calmer = { ...course, autoscaler, noise: Math.min(course.noise, 0.2) };
      wrong.push(...judge(calmer, runJointly(calmer)));
    }
    assertEquals(wrong, []);
  });
}

Deno.test("under a constant load nothing turns twice where new pods inherit the size of the others either (R87, R88)", () => {
  const wrong: string[] = [];
  let inherited = 0;
  for (let seed = 0; seed < COURSES / 2; seed++) {
    const course = newCourse(seed);
    const inheriting: JointModel = { ...course, autoscaler: { ...course.autoscaler, newPods: "inherit" } };
    const run = runJointly(inheriting);
    wrong.push(...judge(inheriting, run));
    const isLarge = ([first = 0]: readonly number[]) => first > course.born;
    inherited += run.sizes.filter(isLarge).length - runJointly(course).sizes.filter(isLarge).length;
  }
  assertEquals(wrong, []);
  assert(inherited > 10, `${inherited} pods`);
});

Deno.test("pods that are told of a scale-in do not shrink before it: nothing is lost when few take over from many (R86)", () => {
  const rule = { bounds: { min: 50, max: 2000 }, cooldownMs: 120 * SECOND };
  const fall: JointModel = {
    ...newCourse(0),
    autoscaler: policy({ pollIntervalMs: 15 * SECOND, sides: [side("cpu.requests", rule), side("cpu.limits", rule)] }),
    trigger: cpuTrigger({}),
    minReplicas: 1,
    replicas: 10,
    born: 500,
    limit: 500,
    load: (tick) => tick < 40 ? 3000 : 300,
    leaderShare: 0,
    noise: 0.2,
    ticks: 160,
  };
  const sum = (isTold: boolean) =>
    [1, 2, 3, 4, 5].reduce((lost, seed) => lost + runJointly({ ...fall, seed, isTold }).lostCoreSeconds, 0);
  const [told, untold] = [sum(true), sum(false)];
  assert(told < 10, `${told} core-s lost`);
  assert(untold > 100, `${untold} core-s lost`);
});

function parseProfile(profile: ProfileName): Autoscaler {
  const parsed = parseAutoscaler({
    apiVersion: "keda.kedify.io/v1alpha1",
    kind: "PodResourceAutoscaler",
    metadata: { name: "web", namespace: "shop", uid: "uid-of-web", generation: 1 },
    spec: {
      target: { kind: "deployment", name: "web" },
      containerName: "main",
      profile,
      bounds: { cpu: { requests: { max: "2000m" }, limits: { max: "4000m" } } },
    },
  });
  if (!parsed.ok) throw new Error(`Cannot parse the manifest: ${parsed.problems[0]?.message}`);
  return parsed.autoscaler;
}
