/**
 * A deployment under a load, both halves of podfit over it: each pod's size by `decideSize`, the number of pods by the tick half, in
 * ticks of 15 s. Pods are ready late, deleting ones linger, and what a limit does not let through is lost.
 */
import type { Autoscaler } from "../../lib/model/autoscaler.ts";
import { decideSize } from "../../lib/vertical/decide.ts";
import type { Observation } from "../../lib/model/decision.ts";
import type { PodFacts, Siblings } from "../../lib/model/pod.ts";
import { nextInitialResources, type ResourcesByContainer } from "../../lib/horizontal/initial_requests.ts";
import { computePodReadings, listHeldFields, type WorkloadPod } from "../../lib/horizontal/joint/pod_readings.ts";
import { nextRates, type PodRates } from "../../lib/horizontal/pod_metrics.ts";
import { proposeByPods } from "../../lib/horizontal/joint/proposal.ts";
import type { ScalingHistory } from "../../lib/model/replicas_state.ts";
import { recordRescale } from "../../lib/horizontal/behavior.ts";
import { computeDesiredReplicas } from "../../lib/horizontal/scaling_loop.ts";
import { toTolerance } from "../../lib/horizontal/replica_calculator.ts";
import type { ResizeRequest } from "../../lib/model/resize_request.ts";
import { NO_RESOURCES, RESOURCE_FIELDS, type ResourceField, type Resources } from "../../lib/units/resources.ts";
import { NEW_POD_STATE, type PodState } from "../../lib/model/state.ts";
import type { Behavior, ResourceTrigger } from "../../lib/model/scaled_object.ts";
import { container, MI, pod, resizeEntry, resources, SECOND, START, usage } from "./builders.ts";

export interface JointModel {
  readonly seed: number;
  readonly autoscaler: Autoscaler;
  readonly trigger: ResourceTrigger;
  readonly behavior: Behavior | null;
  readonly minReplicas: number;
  readonly maxReplicas: number;
  /** With which pods begin. */
  readonly replicas: number;
  /** CPU request of the template, and its limit; `null` = none. Millicores. */
  readonly born: number;
  readonly limit: number | null;
  /** Millicores in all, by tick. */
  readonly load: (tick: number) => number;
  /** How much of the load one pod takes, 0 = as much as the others. */
  readonly leaderShare: number;
  /** Each pod's share of its part, up or down by so much, in waves of 30 s. */
  readonly noise: number;
  /** From a pod's start until it is Ready. */
  readonly readyMs: number;
  readonly ticks: number;
  /** What the vertical half is told of replicas (R86); left out to see what that is good for. */
  readonly isTold?: boolean;
}

/** What became of it. */
export interface JointRun {
  /** After each tick. */
  readonly replicas: readonly number[];
  /** By pod, in the order of their start: the CPU request after each tick that it lived. */
  readonly sizes: readonly (readonly number[])[];
  /** What limits did not let through, core-seconds. */
  readonly lostCoreSeconds: number;
  /** Reasons of ticks, and of decisions about sizes. */
  readonly reasons: ReadonlySet<string>;
}

const TICK_MS = 15 * SECOND;
/** A deleting pod lingers for so many ticks. */
const GRACE_TICKS = 2;

interface ModelPod {
  facts: PodFacts;
  readonly noise: () => number;
  readonly startAt: number;
  state: PodState;
  rates: PodRates | null;
  recorded: ResourcesByContainer | null;
  counterNs: number;
  deletedFor: number;
  readonly sizes: number[];
}

export function runJointly(model: JointModel): JointRun {
  const random = createRandom(model.seed);
  const all: ModelPod[] = [];
  let alive: ModelPod[] = [];
  const [counts, reasons]: [number[], Set<string>] = [[], new Set()];
  let [replicas, lost]: [number, number] = [model.replicas, 0];
  let history: ScalingHistory | null = null;
  let [isPending, scaledInAt]: [boolean, number | null] = [false, null];
  const add = (startAt: number) => {
    const one = newPod(model, { startAt, index: all.length, noise: createWave(random, model.noise) });
    all.push(one);
    alive.push(one);
  };
  // The first pods have been there for long.
  for (let i = 0; i < replicas; i++) add(START - 3600 * SECOND);
  for (let step = 1; step <= model.ticks; step++) {
    const now = START + step * TICK_MS;
    alive = alive.filter((one) => one.deletedFor < GRACE_TICKS);
    while (alive.filter(isStaying).length < replicas) add(now - TICK_MS);
    for (const one of alive) one.deletedFor += isStaying(one) ? 0 : 1;
    lost += work(model, alive, { step, now });
    const told = model.isTold !== false;
    const siblings = readSiblings(model, alive, now);
    for (const one of alive) {
      const held = isPending && told
        ? { scaleInPending: listHeldFields([model.trigger], toWorkload(one, model), now) }
        : {};
      const fallen = scaledInAt !== null && told ? { scaledInAt } : {};
      for (const reason of evaluate(one, { ...model, siblings }, { now, ...held, ...fallen })) reasons.add(reason);
    }
    const { pods } = computePodReadings(model.trigger, alive.map((one) => toWorkload(one, model)), now);
    const { behavior, minReplicas, maxReplicas, trigger } = model;
    const tolerance = toTolerance(behavior);
    const outcome = computeDesiredReplicas(history, {
      now,
      replicas,
      minReplicas,
      maxReplicas,
      behavior,
      propose: () => [proposeByPods(trigger, { pods, replicas, now, tolerance })],
    });
    const [proposal] = outcome.proposals;
    isPending = proposal?.kind === "proposal" && proposal.hi < outcome.desired &&
      outcome.desired > Math.max(1, minReplicas);
    reasons.add(outcome.reason);
    history = outcome.history;
    if (outcome.desired !== replicas) {
      history = recordRescale(history, { from: replicas, to: outcome.desired, now, behavior });
      if (outcome.desired < replicas) {
        scaledInAt = now;
        for (const one of listVictims(alive, replicas - outcome.desired)) one.facts = toDeleting(one.facts);
      }
      replicas = outcome.desired;
    }
    counts.push(replicas);
  }
  return { replicas: counts, sizes: all.map(({ sizes }) => sizes), lostCoreSeconds: lost, reasons };
}

/** How often a course changes its direction. */
export function countTurns(values: readonly number[]): number {
  let [turns, direction] = [0, 0];
  values.forEach((value, index) => {
    const step = Math.sign(value - (values[index - 1] ?? value));
    if (step === 0) return;
    if (direction !== 0 && step !== direction) turns++;
    direction = step;
  });
  return turns;
}

/** 0 to 1, the same for the same seed (mulberry32). */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A factor per tick: new each 30 s, and half-way there between. */
function createWave(random: () => number, most: number): () => number {
  const draw = () => 1 + most * (2 * random() - 1);
  let [from, to, isHalf] = [draw(), draw(), false];
  return () => {
    isHalf = !isHalf;
    if (isHalf) return (from + to) / 2;
    [from, to] = [to, draw()];
    return from;
  };
}

function newPod(
  { born, limit, readyMs }: JointModel,
  { startAt, index, noise }: { readonly startAt: number; readonly index: number; readonly noise: () => number },
): ModelPod {
  const spec = resources({
    "cpu.requests": born,
    "cpu.limits": limit,
    "memory.requests": 128 * MI,
    "memory.limits": limit === born ? 128 * MI : 256 * MI,
  });
  const facts = pod({
    uid: `pod-${index}`,
    name: `web-${index}`,
    startAt,
    qosClass: limit === born ? "Guaranteed" : "Burstable",
    ready: { status: "False", at: startAt },
    readyAt: null,
    containersReadyAt: null,
    containers: [container({ spec, runningAt: startAt, ready: false, instance: `containerd://${index}` })],
  });
  const fresh = { noise, startAt, state: NEW_POD_STATE, rates: null, recorded: null, counterNs: 1e9, deletedFor: 0 };
  const one: ModelPod = { ...fresh, facts, sizes: [] };
  return startAt + readyMs <= START ? { ...one, facts: toReady(facts, startAt + readyMs) } : one;
}

function isStaying({ facts }: ModelPod): boolean {
  return !facts.deleting;
}

function change(facts: PodFacts, to: Partial<PodFacts>): PodFacts {
  return { ...facts, ...to, resourceVersion: String(Number(facts.resourceVersion) + 1) };
}

function toReady(facts: PodFacts, at: number): PodFacts {
  const containers = facts.containers.map((one) => ({ ...one, ready: true }));
  return change(facts, { ready: { status: "True", at }, readyAt: at, containersReadyAt: at, containers });
}

function toDeleting(facts: PodFacts): PodFacts {
  return change(facts, { deleting: true });
}

/** As the ReplicaSet controller chooses: who is not ready goes first, then who came last. */
function listVictims(alive: readonly ModelPod[], count: number): readonly ModelPod[] {
  const rank = ({ facts }: ModelPod) => facts.ready?.status === "True" ? 1 : 0;
  return alive.filter(isStaying).toSorted((a, b) => rank(a) - rank(b) || b.startAt - a.startAt).slice(0, count);
}

/** One tick of work by those that are ready; gives what was lost, core-seconds. */
function work(
  { load, leaderShare, readyMs }: JointModel,
  alive: readonly ModelPod[],
  { step, now }: { readonly step: number; readonly now: number },
): number {
  const serving = alive.filter((one) => isStaying(one) && one.facts.ready?.status === "True");
  let lost = 0;
  for (const one of alive) {
    const index = serving.indexOf(one);
    const part = serving.length === 1 || leaderShare === 0
      ? 1 / serving.length
      : index === 0
      ? leaderShare
      : (1 - leaderShare) / (serving.length - 1);
    const wanted = index < 0 ? 5 : load(step) * part * one.noise();
    const limit = one.facts.containers[0]?.spec["cpu.limits"] ?? Infinity;
    const used = Math.min(wanted, limit);
    one.counterNs += Math.round(used * 1000 * TICK_MS);
    lost += (wanted - used) / 1000 * TICK_MS / SECOND;
    if (one.facts.ready?.status === "False" && now >= one.startAt + readyMs) one.facts = toReady(one.facts, now);
  }
  return lost;
}

function toWorkload({ facts, rates, recorded, state }: ModelPod, { autoscaler }: JointModel): WorkloadPod {
  const births = { recorded, revision: null, template: null };
  return { pod: facts, rates, initialResources: births, vertical: { state, matching: [autoscaler] } };
}

type Told = Pick<Parameters<typeof decideSize>[1], "now" | "scaleInPending" | "scaledInAt">;

interface Surroundings {
  readonly autoscaler: Autoscaler;
  readonly siblings: Siblings | null;
}

/** What the pods that know have come to (L40); `null` where new pods start at the template's size. */
function readSiblings({ autoscaler }: JointModel, alive: readonly ModelPod[], now: number): Siblings | null {
  const known = alive.filter((one) => isStaying(one) && now - one.startAt >= 60 * SECOND);
  if (autoscaler.newPods !== "inherit" || known.length === 0) return null;
  const specs = known.map(({ facts }) => facts.containers[0]?.spec ?? NO_RESOURCES);
  const median = (key: ResourceField) =>
    specs.map((spec) => spec[key]).toSorted((a, b) => (a ?? 0) - (b ?? 0))[Math.floor((specs.length - 1) / 2)] ?? null;
  const sizes = Object.fromEntries(RESOURCE_FIELDS.map((key) => [key, median(key)])) as Resources;
  return { main: { pods: known.length, median: sizes, floorBytes: 0 } };
}

/** One poll of the pod; a resize is accepted and enacted at once. Gives the reasons of its decisions. */
function evaluate(one: ModelPod, { autoscaler, siblings }: Surroundings, told: Told): readonly string[] {
  const { now } = told;
  const point = {
    container: "main",
    instance: one.facts.uid,
    at: now,
    resolutionMs: SECOND,
    cpu: { kind: "counter", counterNs: one.counterNs },
    workingSetBytes: 64 * MI,
    usageBytes: 64 * MI,
    pressure: null,
  } as const;
  const observation = usage([point]);
  one.recorded = nextInitialResources(one.recorded, one.facts);
  one.rates = nextRates(one.rates, observation.usage, {
    pod: one.facts,
    readAt: now,
    capacity: observation.capacity,
  });
  const fold = (observation: Observation) => {
    const outcome = decideSize(one.state, {
      ...told,
      pod: one.facts,
      contenders: one.facts.deleting ? [] : [autoscaler],
      observation,
      siblings,
      room: null,
      limits: null,
      lowersMemoryLimits: true,
      inFlight: false,
      dryRun: false,
    });
    one.state = outcome.state;
    return outcome;
  };
  const { request, decisions } = fold(observation);
  if (request !== null) enact(one, request, fold);
  one.sizes.push(one.facts.containers[0]?.spec["cpu.requests"] ?? 0);
  return decisions.map(({ decision }) => decision.kind === "resize" ? decision.action : decision.reason ?? "revert");
}

function enact(one: ModelPod, request: ResizeRequest, fold: (observation: Observation) => unknown): void {
  const { facts } = one;
  const generation = (facts.generation ?? 0) + 1;
  fold({ kind: "answered", request, answer: { kind: "accepted", generation } });
  const at = Number(one.state.at);
  one.facts = change(facts, {
    generation,
    observedGeneration: generation,
    containers: facts.containers.map((it) => ({ ...it, spec: request.to, reported: request.to })),
    resizes: [resizeEntry("podfit.main", at, { main: request.changes })],
  });
  fold({ kind: "changed" });
}
