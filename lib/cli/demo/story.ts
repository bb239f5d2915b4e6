/**
 * What has happened in the demo so far: a fold over looks at both clusters and over the daemon's evaluations. Plain
 * data, of which a frame, a line or the summary is made.
 */
import type { SceneName } from "./scene_name.ts";
import { isKilled, nameUse, nextTally, NO_TALLY, type Tally } from "./tally.ts";
import { formatMemory } from "./text.ts";
import type { ContainerUse } from "./use.ts";

/** All that the demo shows. */
export interface Story {
  readonly scene: SceneName;
  readonly startedAt: number;
  readonly at: number;
  /** How much of the past is kept and shown. */
  readonly windowMs: number;
  /**
   * By `container.resource`, oldest first: means of its pods. By `container.pods` how many there are: with podfit as what
   * is used, in the shadow as the limit.
   */
  readonly traces: Readonly<Record<string, readonly Point[]>>;
  readonly podfit: Tally;
  readonly shadow: Tally;
  /** The newest, in order; `number` counts all that there were. */
  readonly events: readonly StoryEvent[];
  readonly resizes: { readonly up: number; readonly down: number };
  /** Wanted resizes that were held back, once per new sample, by reason. */
  readonly blocked: Readonly<Record<string, number>>;
  /** By `container.resource`: its last resize. */
  readonly changes: Readonly<Record<string, Change>>;
  /** By container: what the last evaluation ended with, and why. */
  readonly standing: Readonly<Record<string, Standing>>;
  /** By pod: what the resize that is being sent is for. */
  readonly why: Readonly<Record<string, string>>;
  readonly replicas: ReplicasStory;
}

/** What was decided of the number of pods. */
export interface ReplicasStory {
  /** Accepted writes. */
  readonly changes: { readonly out: number; readonly in: number };
  readonly last: { readonly at: number; readonly tone: "up" | "down"; readonly text: string } | null;
  /** What the last tick ended with. */
  readonly standing: { readonly reason: string; readonly since: number } | null;
  /** What the last tick asked for: `lo` pods if all were full-grown, `hi` if all were as born. */
  readonly asked: { readonly lo: number; readonly hi: number } | null;
  /** Since when pods do not shrink because their number is about to. */
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
  /** Why, where the text alone does not say so. */
  readonly why: string;
}

/** The last resize of a container's resource. */
export interface Change {
  readonly at: number;
  readonly tone: "up" | "down";
  /** `50m → 100m`; `null` where that side stayed. */
  readonly requests: string | null;
  readonly limits: string | null;
}

/** What the last evaluation of a container ended with. */
export interface Standing {
  readonly kind: "hold" | "blocked";
  readonly reason: string;
  /** Since when it is so. */
  readonly since: number;
}

/** The containers of both clusters at one time. */
export interface Look {
  readonly at: number;
  readonly podfit: readonly ContainerUse[];
  readonly shadow: readonly ContainerUse[];
}

/** A story in which nothing has happened yet; times are the cluster's, in ms. */
export function newStory(startedAt: number, windowMs: number, scene: SceneName = "sizes"): Story {
  return {
    scene,
    startedAt,
    at: startedAt,
    windowMs,
    traces: {},
    podfit: NO_TALLY,
    shadow: NO_TALLY,
    events: [],
    resizes: { up: 0, down: 0 },
    blocked: {},
    changes: {},
    standing: {},
    why: {},
    replicas: { changes: { out: 0, in: 0 }, last: null, standing: null, asked: null, pendingSince: null },
  };
}

/** The story with one look at both clusters. */
export function nextStory(story: Story, { at, podfit, shadow }: Look): Story {
  const next: Story = {
    ...story,
    at,
    traces: addPoints(story, { at, podfit, shadow }),
    podfit: nextTally(story.podfit, podfit, at),
    shadow: nextTally(story.shadow, shadow, at),
  };
  return [...listKills(podfit, story.podfit, ""), ...listKills(shadow, story.shadow, "without podfit: ")].reduce(
    (so, event) => addEvent(so, event),
    next,
  );
}

const MOST_EVENTS = 100;

/** The story with one event more; the oldest go. */
export function addEvent(story: Story, event: Omit<StoryEvent, "number">): Story {
  const number = (story.events.at(-1)?.number ?? 0) + 1;
  return { ...story, events: [...story.events, { ...event, number }].slice(-MOST_EVENTS) };
}

function addPoints({ traces, windowMs }: Story, { at, podfit, shadow }: Look): Story["traces"] {
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
    add(`${container}.pods`, { at, used: uses.length, requests: null, limits: shadow.filter(isOf).length });
  }
  return added;
}

/** Of those that have any. */
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
    why: `at its limit of ${formatMemory(size["memory.limits"] ?? 0)}`,
  }));
}
