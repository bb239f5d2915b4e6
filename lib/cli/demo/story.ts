/**
 * The state of the demo as plain data: usage over time, events, and totals of both clusters.
 *
 * Each observation of the clusters gives the next state.
 */
import type { ContainerState, Ended, NodeState, PodState } from "../../embedded/model/state.ts";
import type { Resources } from "../../units/resources.ts";
import { formatWholeMebibytes } from "../terminal/numbers.ts";
import type { SceneName } from "./options.ts";

/** All that the demo shows. */
export interface Story {
  readonly scene: SceneName;
  readonly startedAt: number;
  readonly at: number;
  /** How much of the past is kept and shown. */
  readonly windowMs: number;
  /**
   * By `container.resource`, oldest first: means of its pods. By `container.pods` the number of pods: with podfit as usage,
   * without podfit as limit.
   */
  readonly traces: Readonly<Record<string, readonly Point[]>>;
  readonly podfit: Tally;
  readonly comparison: Tally;
  /** The newest, in order; `number` counts all events so far. */
  readonly events: readonly StoryEvent[];
  readonly resizes: { readonly up: number; readonly down: number };
  /** Wanted resizes that were blocked, once per new sample, by reason. */
  readonly blocked: Readonly<Record<string, number>>;
  /** By `container.resource`: its last resize. */
  readonly changes: Readonly<Record<string, Change>>;
  /** By container: the result of the last evaluation, and the reason. */
  readonly standing: Readonly<Record<string, LastDecision>>;
  /** By pod: the reason of the resize that is being sent. */
  readonly why: Readonly<Record<string, string>>;
  readonly replicas: ReplicasStory;
}

/** The decisions about the number of pods. */
export interface ReplicasStory {
  /** Accepted writes. */
  readonly changes: { readonly out: number; readonly in: number };
  readonly last: { readonly at: number; readonly tone: "up" | "down"; readonly text: string } | null;
  /** The result of the last scaling loop. */
  readonly standing: { readonly reason: string; readonly since: number } | null;
  /** The proposal of the last scaling loop: `lo` pods at maximum requests, `hi` pods at initial requests. */
  readonly asked: { readonly lo: number; readonly hi: number } | null;
  /** Since when pods do not shrink because their number is about to fall. */
  readonly pendingSince: number | null;
}

/** A container's use and size at one time, in millicores or bytes. */
export interface Point {
  readonly at: number;
  /** `null` while nothing runs. */
  readonly used: number | null;
  readonly requests: number | null;
  readonly limits: number | null;
}

/** What an event is: a resize, a block, a kill, or trouble. */
export type Tone = "up" | "down" | "blocked" | "lost" | "trouble";

/** A line of what happened. */
export interface StoryEvent {
  readonly number: number;
  readonly at: number;
  readonly tone: Tone;
  readonly subject: string;
  readonly text: string;
  /** Why; `null` where the text is enough. */
  readonly why: string;
}

/** The last resize of a container's resource. */
export interface Change {
  readonly at: number;
  readonly tone: "up" | "down";
  /** `50m → 100m`; `null` where that field did not change. */
  readonly requests: string | null;
  readonly limits: string | null;
}

/** The result of the last evaluation of a container. */
interface LastDecision {
  readonly kind: "hold" | "blocked";
  readonly reason: string;
  /** Since when it has been the same. */
  readonly since: number;
}

/** The containers of both clusters at one time. */
interface UsageSnapshot {
  readonly at: number;
  readonly podfit: readonly ContainerUse[];
  readonly comparison: readonly ContainerUse[];
}

/** Returns a story without events; times are the cluster's, in ms. */
export function newStory(startedAt: number, windowMs: number, scene: SceneName = "sizes"): Story {
  return {
    scene,
    startedAt,
    at: startedAt,
    windowMs,
    traces: {},
    podfit: NO_TALLY,
    comparison: NO_TALLY,
    events: [],
    resizes: { up: 0, down: 0 },
    blocked: {},
    changes: {},
    standing: {},
    why: {},
    replicas: { changes: { out: 0, in: 0 }, last: null, standing: null, asked: null, pendingSince: null },
  };
}

/** Returns the story with one observation of both clusters. */
export function nextStory(story: Story, { at, podfit, comparison }: UsageSnapshot): Story {
  const next: Story = {
    ...story,
    at,
    traces: addPoints(story, { at, podfit, comparison }),
    podfit: nextTally(story.podfit, podfit, at),
    comparison: nextTally(story.comparison, comparison, at),
  };
  return [...listKills(podfit, story.podfit, ""), ...listKills(comparison, story.comparison, "without podfit: ")]
    .reduce(
      (so, event) => addEvent(so, event),
      next,
    );
}

const MAX_EVENTS = 100;

/** Returns the story with one more event; the oldest are dropped. */
export function addEvent(story: Story, event: Omit<StoryEvent, "number">): Story {
  const number = (story.events.at(-1)?.number ?? 0) + 1;
  return { ...story, events: [...story.events, { ...event, number }].slice(-MAX_EVENTS) };
}

function addPoints({ traces, windowMs }: Story, { at, podfit, comparison }: UsageSnapshot): Story["traces"] {
  const added = { ...traces };
  const add = (key: string, point: Point) => {
    added[key] = [...(added[key] ?? []).filter((one) => one.at > at - windowMs), point];
  };
  for (const [container, uses] of Map.groupBy(podfit, ({ container }) => container)) {
    for (const resource of ["cpu", "memory"] as const) {
      add(`${container}.${resource}`, {
        at,
        used: mean(uses.map(({ used }) => (resource === "cpu" ? used?.cpuMillicores : used?.memoryBytes) ?? null)),
        requests: mean(uses.map(({ size }) => size[`${resource}.requests`])),
        limits: mean(uses.map(({ size }) => size[`${resource}.limits`])),
      });
    }
    const isOf = (use: ContainerUse) => use.container === container;
    add(`${container}.pods`, { at, used: uses.length, requests: null, limits: comparison.filter(isOf).length });
  }
  return added;
}

/** Only those that have at least one. */
function mean(amounts: readonly (number | null)[]): number | null {
  const known = amounts.filter((amount) => amount !== null);
  return known.length === 0 ? null : known.reduce((sum, amount) => sum + amount, 0) / known.length;
}

function listKills(
  uses: readonly ContainerUse[],
  { seen }: Tally,
  where: string,
): readonly Omit<StoryEvent, "number">[] {
  return uses.filter((use) => isKilled(use, seen[nameUse(use)])).map(({ container, killedAt, size }) => ({
    at: killedAt ?? 0,
    tone: "lost",
    subject: container,
    text: `${where}OOMKilled`,
    why: `at its limit of ${formatWholeMebibytes(size["memory.limits"] ?? 0)}`,
  }));
}

/** Sums over the time in which a cluster was observed. */
export interface Tally {
  /** `null` before the first observation. */
  readonly at: number | null;
  readonly elapsedMs: number;
  /** Requests in force, times ms. */
  readonly reservedCpu: number;
  readonly reservedMemory: number;
  /** Processor time that containers wanted and did not get. */
  readonly throttledNs: number;
  readonly kills: number;
  /** How long containers did not run after a kill for memory. */
  readonly downMs: number;
  /** At one time. */
  readonly mostPods: number;
  /** By `nameUse`. */
  readonly seen: Readonly<Record<string, ContainerUse>>;
}

/** The tally of a cluster that was not observed yet. */
export const NO_TALLY: Tally = {
  at: null,
  elapsedMs: 0,
  reservedCpu: 0,
  reservedMemory: 0,
  throttledNs: 0,
  kills: 0,
  downMs: 0,
  mostPods: 0,
  seen: {},
};

/** Since the last observation the containers were as they are now. */
export function nextTally(tally: Tally, uses: readonly ContainerUse[], at: number): Tally {
  const ms = tally.at === null ? 0 : at - tally.at;
  const add = (read: (use: ContainerUse, before: ContainerUse | undefined) => number) =>
    uses.reduce((sum, use) => sum + read(use, tally.seen[nameUse(use)]), 0);
  return {
    at,
    elapsedMs: tally.elapsedMs + ms,
    reservedCpu: tally.reservedCpu + ms * add(({ size }) => size["cpu.requests"] ?? 0),
    reservedMemory: tally.reservedMemory + ms * add(({ size }) => size["memory.requests"] ?? 0),
    throttledNs: tally.throttledNs + add(computeThrottledNs),
    kills: tally.kills + add((use, before) => isKilled(use, before) ? 1 : 0),
    downMs: tally.downMs + ms * add(({ used, killedAt }) => used === null && killedAt !== null ? 1 : 0),
    mostPods: Math.max(tally.mostPods, new Set(uses.map(({ pod }) => pod)).size),
    seen: Object.fromEntries(uses.map((use) => [nameUse(use), use])),
  };
}

/** Which container of which pod. */
function nameUse({ pod, container }: ContainerUse): string {
  return `${pod}/${container}`;
}

/** Killed for its memory since the last observation. */
function isKilled({ killedAt }: ContainerUse, before: ContainerUse | undefined): boolean {
  return killedAt !== null && killedAt !== (before?.killedAt ?? null);
}

/** A new instance counts from zero; one that is down keeps its counts. */
function computeThrottledNs({ used, throttled }: ContainerUse, before: ContainerUse | undefined): number {
  if (used === null) return 0;
  const isSame = before?.used !== null && before?.throttled.instance === throttled.instance;
  return throttled.ns - (isSame ? before.throttled.ns : 0);
}

/** One container at one observation. */
export interface ContainerUse {
  readonly pod: string;
  readonly container: string;
  /** `null` while it is not running. */
  readonly used: { readonly cpuMillicores: number; readonly memoryBytes: number } | null;
  /** In force. */
  readonly size: Resources;
  /** What the running instance wanted of the processor and did not get. */
  readonly throttled: { readonly instance: number; readonly ns: number };
  /** When the last instance was killed for its memory; `null` when it ended otherwise, or never. */
  readonly killedAt: number | null;
}

/** Every container on the node. */
export function listUses({ pods }: NodeState): readonly ContainerUse[] {
  return pods.flatMap((pod) => pod.life.containers.map((container) => toUse(pod, container)));
}

function toUse({ spec, meters }: PodState, container: ContainerState): ContainerUse {
  const { name, run, actual, instances } = container;
  const meter = run.kind === "running" ? meters[name] : undefined;
  const ended = findEnded(container);
  return {
    pod: spec.name,
    container: name,
    size: actual,
    used: meter === undefined ? null : { cpuMillicores: meter.millicores, memoryBytes: meter.workingSetBytes },
    throttled: { instance: instances, ns: meter?.unmetNs ?? 0 },
    killedAt: ended?.reason === "OOMKilled" ? ended.finishedAt : null,
  };
}

function findEnded({ run, last }: ContainerState): Ended | null {
  return run.kind === "exited" || run.kind === "terminated" || run.kind === "backOff" ? run.ended : last;
}
