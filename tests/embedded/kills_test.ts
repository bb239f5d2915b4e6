/**
 * Whole runs of apps whose memory goes up and down at will (L2, L10 to L12): a size that has killed an app once is not given
 * to it again.
 */
import { assert, assertEquals } from "#assert";
import * as fc from "fast-check";
import { parse } from "../../lib/runtime/yaml.ts";
import { parseAmount } from "../../lib/units/quantity.ts";
import { autoscaler, deployment } from "../e2e/support/workloads.ts";
import type { Json } from "../support/api_objects.ts";
import { ClusterRun } from "../support/cluster_run.ts";
import { EXAMPLE } from "../support/manifests.ts";

const MI = 2 ** 20;
const NAME = "load-generator";
const RUN_SECONDS = 90 * 60;
const STEP_SECONDS = 10;

/** What an instance holds, Mi, and for how many minutes. */
interface Phase {
  readonly mi: number;
  readonly minutes: number;
}

/** Each starts small: one that is too large at its very start is beyond any resize (docs/evidence/kubernetes-138760.md). */
const courses: fc.Arbitrary<readonly Phase[]> = fc.array(
  fc.record({ mi: fc.constantFrom(30, 60, 120, 250, 500, 900), minutes: fc.integer({ min: 2, max: 20 }) }),
  { minLength: 1, maxLength: 5 },
).map((phases) => [{ mi: 30, minutes: 2 }, ...phases]);

/** The document's example, also without the window that keeps it from the first kill, and the profiles. */
const policies = fc.constantFrom("example", "letter's windows", "latency", "balanced", "thrifty");

interface Lived {
  /** The limits that killed, Mi, in order of time. */
  readonly kills: readonly number[];
  readonly story: string;
}

async function live(policy: string, course: readonly Phase[]): Promise<Lived> {
  await using run = await ClusterRun.start();
  const load = { [NAME]: { cpuMillicores: 100, workingSetBytes: toCurve(course) } };
  const sizes = { requests: { cpu: "200m", memory: "200Mi" }, limits: { cpu: "400m", memory: "1Gi" } };
  const annotations = { "sim.podfit.dev/load": JSON.stringify(load) };
  await run.create(deployment(NAME, { containers: [{ name: NAME, ...sizes }], annotations }), toAutoscaler(policy));
  await using _podfit = run.startPodfit();
  const seen = new Set<string>();
  const kills: number[] = [];
  const story: string[] = [];
  let limitMi = 1024;
  for (let second = 0; second < RUN_SECONDS; second += STEP_SECONDS) {
    await run.advance(STEP_SECONDS);
    const status: Json = (await run.list("pods"))[0]?.status.containerStatuses?.[0] ?? {};
    for (const state of [status.lastState, status.state]) {
      const { reason, containerID } = state?.terminated ?? {};
      if (reason !== "OOMKilled" || seen.has(containerID)) continue;
      seen.add(containerID);
      kills.push(limitMi);
      story.push(`${second} s: killed at ${limitMi}Mi`);
    }
    const before = limitMi;
    limitMi = readMi(status) ?? limitMi;
    if (limitMi !== before) story.push(`${second} s: ${before}Mi -> ${limitMi}Mi`);
  }
  assertEquals(run.errors, []);
  return { kills, story: story.join("\n") };
}

function toCurve(course: readonly Phase[]): Json {
  let ms = 0;
  const points = course.flatMap(({ mi, minutes }) => {
    const from = ms;
    ms += minutes * 60_000;
    return [[from, mi * MI], [ms - 5_000, mi * MI]];
  });
  return { kind: "points", clock: "container", points, repeats: true };
}

function toAutoscaler(policy: string): Json {
  const target = { kind: "deployment", name: NAME };
  if (!policy.includes("example") && !policy.includes("letter")) return autoscaler(NAME, { target, profile: policy });
  const example = parse(EXAMPLE) as Json;
  delete example.spec.bounds;
  if (policy !== "example") {
    for (const side of Object.values<Json>(example.spec.policy.memory)) side.scaleDown = { window: "0s" };
  }
  return example;
}

function readMi({ resources }: Json): number | null {
  const parsed = parseAmount(resources?.limits?.memory ?? "", "memory");
  return parsed.ok ? parsed.amount / MI : null;
}

Deno.test("on whole runs no size kills that has killed before (L2, L11, L12)", async () => {
  let kills = 0;
  await fc.assert(
    fc.asyncProperty(policies, courses, async (policy, course) => {
      const lived = await live(policy, course);
      kills += lived.kills.length;
      const again = lived.kills.filter((limit, index) => lived.kills.slice(0, index).some((before) => before >= limit));
      assertEquals(again, [], `${policy} on ${JSON.stringify(course)}\n${lived.story}`);
    }),
    { numRuns: 8, endOnFailure: true },
  );
  assert(kills > 0, "no run had a kill to learn from");
});
