/**
 * Many virtual hours of a cluster whose pods come and go and whose faults are drawn: what podfit holds must not grow, and
 * what it counts must be what the API server saw.
 */
import { draw, drawBetween } from "../../../lib/simulate/model/random.ts";
import { toResource } from "../chaos/apps.ts";
import { PlainWorld } from "../chaos/plain_world.ts";
import { Stage } from "../chaos/stage.ts";
import { plantFault } from "./faults.ts";
import { ScaledWorkloads } from "./scaled.ts";
import { type Answers, countDisagreements, noteAnswer } from "./ledger.ts";

/** How long, how large, and under which seed. */
export interface SoakOptions {
  readonly minutes: number;
  readonly pods: number;
  readonly seed: string;
  /** Is told of each hour. */
  readonly say?: (text: string) => void;
}

/** What a soak came to. */
export interface SoakResult {
  readonly minutes: number;
  readonly pods: number;
  readonly scaledObjects: number;
  readonly faults: number;
  /** Writes of replicas. */
  readonly scales: number;
  /** Of the heap after a garbage collection, from the second quarter to the last, percent; `null` = not measured. */
  readonly heapGrowthPercent: number | null;
  /** The same of sleeps and timeouts that wait. */
  readonly timerGrowthPercent: number;
  /** Sleeps and timeouts that wait at the end. */
  readonly timers: number;
  /** What podfit counted and the API server did not see, and the other way round. */
  readonly disagreements: readonly string[];
  /** What else is wrong at the end: rules that were broken, a podfit that is not well. */
  readonly complaints: readonly string[];
}

interface Sample {
  readonly heapBytes: number | null;
  readonly timers: number;
}

const NODES_PER_POD = 0.01;
const APPS_PER_POD = 0.02;
const SCALED_PER_POD = 0.01;
/** One of each kind. */
const MIN_SCALED = 6;
const LEVELS = [40, 60, 110, 240, 480];
/** How long a pod uses what it uses. */
const LEVEL_MS = 3_600_000;
const STEP_S = 5;
const MINUTES_PER_SAMPLE = 30;
/** After the last fault, until everything has settled. */
const CALM_MINUTES = 15;

/** Runs it. Rejects when podfit does not come to its end. */
export async function soak({ minutes, pods, seed, say = () => {} }: SoakOptions): Promise<SoakResult> {
  const stage = new Stage("soak", { seed });
  const answers: Answers = new Map();
  let [struck, faults] = [new Set<string>(), 0];
  const samples: Sample[] = [];
  const scaledObjects = Math.max(MIN_SCALED, Math.ceil(pods * SCALED_PER_POD));
  const scaled = new ScaledWorkloads({ seed, levelMs: LEVEL_MS, now: () => world.clock.monotonic() });
  const world: PlainWorld = await PlainWorld.open({
    stage,
    pods,
    nodes: Math.max(2, Math.ceil(pods * NODES_PER_POD)),
    apps: Math.max(2, Math.ceil(pods * APPS_PER_POD)),
    pollInterval: pods > 500 ? "60s" : "15s",
    cooldownS: 120,
    load: (pod) => readLevel(seed, pod, world.clock.monotonic()),
    onAnswer: (sent, code) => noteAnswer(answers, { method: sent.method, resource: toResource(sent.path), code }),
    scaled: { ask: scaled.ask, fill: (cluster) => scaled.fill(cluster, scaledObjects) },
    spoil: (node) => struck.has(node) ? { kind: "failed", reason: "unreachable", message: "no route to host" } : null,
  });
  let [end, endsAt]: [() => void, number] = [() => {}, 0];
  for (let minute = 0; minute < minutes + CALM_MINUTES; minute++) {
    if (minute === endsAt) end();
    if (minute % MINUTES_PER_FAULT === FIRST_FAULT && minute < minutes) {
      const fault = plantFault(world, (what) => draw([seed, "fault", minute, what]));
      struck = fault.nodes;
      scaled.isFailing = fault.hasTriggers;
      end = () => {
        fault.end();
        struck = new Set();
        scaled.isFailing = false;
      };
      endsAt = minute + drawBetween([1, 4], [seed, "lasts", minute]);
      faults++;
    }
    await liveOneMinute(world, { minute, pods, scaled });
    if (minute % MINUTES_PER_SAMPLE === 0) samples.push(takeSample(world));
    if (minute % 60 === 0) say(describe(world, { minute, sample: samples.at(-1) }));
  }
  const disagreements = countDisagreements(world, answers);
  const complaints = [
    ...stage.breaches.map(({ rule, what }) => `${rule}: ${what}`),
    world.podfit.describe(),
    ...scaled.listUnfit(world.cluster),
  ];
  await world[Symbol.asyncDispose]();
  return {
    minutes,
    pods,
    scaledObjects,
    faults,
    scales: answers.get("PUT deployments/scale 200") ?? 0,
    heapGrowthPercent: growth(samples.map(({ heapBytes }) => heapBytes ?? NaN)),
    timerGrowthPercent: growth(samples.map(({ timers }) => timers)) ?? 0,
    timers: samples.at(-1)?.timers ?? 0,
    disagreements,
    complaints: complaints.filter((text) => text !== ""),
  };
}

const MINUTES_PER_FAULT = 10;
const FIRST_FAULT = 2;

/** Pods are replaced; a namespace with an autoscaler and a ScaledObject comes and goes; old events expire. */
async function liveOneMinute(
  world: PlainWorld,
  { minute, pods, scaled }: { readonly minute: number; readonly pods: number; readonly scaled: ScaledWorkloads },
): Promise<void> {
  const { cluster } = world;
  world.replacePods(Math.ceil(pods / 200));
  const namespace = `ci-${minute}`;
  cluster.put("namespaces", {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: namespace, uid: `uid-${minute}` },
  });
  cluster.addApp(`job-${minute}`, { namespace });
  cluster.addPod({ name: `job-${minute}`, app: `job-${minute}`, node: "node-0", namespace });
  scaled.add(cluster, { name: `queue-${minute}`, kind: minute, namespace });
  await world.advance(60, STEP_S);
  for (const plural of ["pods", "podresourceautoscalers", "deployments"] as const) {
    cluster.remove(plural, `job-${minute}`, namespace);
  }
  for (const plural of ["scaledobjects", "deployments"] as const) cluster.remove(plural, `queue-${minute}`, namespace);
  cluster.remove("namespaces", namespace, null);
  if (minute % 10 === 0) cluster.expireEvents();
}

function readLevel(seed: string, pod: string, atMs: number): number {
  return LEVELS[drawBetween([0, LEVELS.length - 1], [seed, pod, Math.floor(atMs / LEVEL_MS)])] ?? 0;
}

function takeSample({ clock }: PlainWorld): Sample {
  // Only where V8 was asked for it.
  const gc = (globalThis as { readonly gc?: () => void }).gc;
  for (let time = 0; time < 2; time++) gc?.();
  return { heapBytes: gc === undefined ? null : Deno.memoryUsage().heapUsed, timers: clock.pending };
}

function describe(
  { podfit, witness }: PlainWorld,
  { minute, sample }: { readonly minute: number; readonly sample: Sample | undefined },
): string {
  const heap = sample?.heapBytes === null || sample === undefined
    ? ""
    : `, heap ${Math.round(sample.heapBytes / 2 ** 20)} MiB`;
  return `hour ${
    minute / 60
  }: ${witness.resizes} resizes, ${podfit.countLines()} lines${heap}, ${sample?.timers} timers`;
}

/** From the mean of the second quarter to that of the last, percent; `null` where one of them is not there. */
export function growth(values: readonly number[]): number | null {
  const quarter = values.length / 4;
  const mean = (from: number, to: number) => {
    const part = values.slice(Math.floor(from * quarter), Math.floor(to * quarter));
    return part.reduce((sum, value) => sum + value, 0) / part.length;
  };
  const percent = 100 * (mean(3, 4) / mean(1, 2) - 1);
  return Number.isFinite(percent) ? percent : null;
}
