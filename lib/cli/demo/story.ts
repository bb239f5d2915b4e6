/**
 * What has happened in the demo so far: a fold over looks at both clusters and over the daemon's evaluations. Plain
 * data, of which a frame, a line or the summary is made.
 */
import { isKilled, nextTally, NO_TALLY, type Tally } from "./tally.ts";
import { formatMemory } from "./text.ts";
import type { ContainerUse } from "./use.ts";

/** All that the demo shows. */
export interface Story {
  readonly startedAt: number;
  readonly at: number;
  /** How much of the past is kept and shown. */
  readonly windowMs: number;
  /** By `container.resource`, oldest first. */
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
  /** By container: what the resize that is being sent is for. */
  readonly why: Readonly<Record<string, string>>;
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

/** A story in which nothing has happened yet; both arguments are of the cluster's time, in ms. */
export function newStory(startedAt: number, windowMs: number): Story {
  return {
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
  };
}

/** The story with one look at both clusters. */
export function nextStory(story: Story, { at, podfit, shadow }: Look): Story {
  const next: Story = {
    ...story,
    at,
    traces: addPoints(story, podfit, at),
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

function addPoints({ traces, windowMs }: Story, uses: readonly ContainerUse[], at: number): Story["traces"] {
  const added = { ...traces };
  for (const { container, used, size } of uses) {
    for (const resource of ["cpu", "memory"] as const) {
      const key = `${container}.${resource}`;
      const amount = resource === "cpu" ? used?.cpuMillicores : used?.memoryBytes;
      const point = {
        at,
        used: amount ?? null,
        requests: size[`${resource}.requests`],
        limits: size[`${resource}.limits`],
      };
      added[key] = [...(added[key] ?? []).filter((one) => one.at > at - windowMs), point];
    }
  }
  return added;
}

function listKills(
  uses: readonly ContainerUse[],
  { seen }: Tally,
  where: string,
): readonly Omit<StoryEvent, "number">[] {
  return uses.filter((use) => isKilled(use, seen[use.container])).map(({ container, killedAt, size }) => ({
    at: killedAt ?? 0,
    tone: "lost",
    subject: container,
    text: `${where}OOMKilled`,
    why: `at its limit of ${formatMemory(size["memory.limits"] ?? 0)}`,
  }));
}
