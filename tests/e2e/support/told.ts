/**
 * What did podfit tell, and when did it try? The events about an autoscaler as a whole list, so that one too many shows
 * up as much as one too few; and the moments at which it sent a PATCH, refused ones too.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { type PodRef, readEvents, readPod, waitFor } from "./cluster.ts";
import { type Decision, readAt } from "./log.ts";
import { sumOf } from "./metrics.ts";
import type { EventJson } from "./objects.ts";
import type { Podfit } from "./podfit.ts";
import type { WaitOptions } from "./wait.ts";

/** Reason without its prefix, type, count, and what the message has to contain. */
export type Told = readonly [reason: string, type: "Normal" | "Warning", count: number, ...words: readonly string[]];

/**
 * The autoscaler of the pod's own name has told exactly this, in this order. A resize in progress is left out: it lasts
 * some 40 ms, and podfit may look at the pod in them or not.
 */
export async function assertTold(pod: PodRef, expected: readonly Told[]): Promise<void> {
  const events = await waitFor(`${expected.length} events about "${pod.name}"`, async () => {
    const events = await readTold(pod);
    assertEquals(events.map(describe), expected.map(([reason, type, count]) => `${reason} ${type} x${count}`));
    return events;
  }, { timeoutMs: 10_000, everyMs: 500 });
  const { uid } = (await readPod(pod)).metadata;
  for (const [index, [, , , ...words]] of expected.entries()) {
    const { message = "", related } = events[index] ?? {};
    assertEquals([related?.kind, related?.name, related?.uid], ["Pod", pod.name, uid]);
    for (const word of [`pod "${pod.name}"`, ...words]) assertStringIncludes(message, word);
  }
}

/** When podfit sent a PATCH for the pod, in epoch ms. Its log alone tells of each refused one. */
export function readAttempts(podfit: Podfit, pod: PodRef): readonly number[] {
  return podfit.log("Resizing").filter((line) => line.pod === pod.name).map(readAt);
}

export interface AttemptOptions {
  readonly count: number;
  readonly timeoutMs?: number;
}

/** Until podfit has sent so many PATCHes for the pod, refused ones too. */
export function waitForAttempts(podfit: Podfit, pod: PodRef, { count, timeoutMs = 90_000 }: AttemptOptions) {
  return waitFor(`${count} PATCHes of pod "${pod.name}"`, () => {
    const attempts = readAttempts(podfit, pod);
    if (attempts.length >= count) return Promise.resolve(attempts);
    throw new Error(`there are ${attempts.length}`);
  }, { timeoutMs });
}

/** A wait ends at one of podfit's evaluations: this much later at most, on a busy machine. */
const EVALUATION_MS = 9_000;

/** From one moment to another passed this long, to the next evaluation. */
export function assertWaited([from = NaN, to = NaN]: readonly (number | undefined)[], waitMs: number): void {
  const passedMs = to - from;
  assert(passedMs >= waitMs && passedMs < waitMs + EVALUATION_MS, `waited ${passedMs} ms, not ${waitMs} ms`);
}

export interface BlockedOptions {
  readonly reason: string;
  /** Refused PATCHes count too: what they were sent for was no blocked sample. */
  readonly refused?: number;
}

/** `scale_blocked_total` counts each new sample whose candidate was blocked for the reason, and there is one. */
export async function assertCountedBlocked(
  podfit: Podfit,
  { namespace, name }: PodRef,
  { reason, refused = 0 }: BlockedOptions,
): Promise<void> {
  const countLogged = () => {
    return podfit.decisions({ autoscaler: { namespace, name } }).filter((decision) => {
      return isBlocked(decision) && decision.reason === reason && decision.isNewSample;
    }).length;
  };
  const before = countLogged();
  const counted = await readBlocked(podfit, { namespace, name, reason });
  const after = countLogged();
  assert(before > 0, `no new sample was blocked by ${reason}`);
  assert(counted >= before + refused && counted <= after + refused, `${counted} counted, ${before} logged`);
}

export interface Blocks {
  readonly namespace: string;
  /** Of the autoscaler. */
  readonly name: string;
  /** Any when it is left out. */
  readonly reason?: string;
}

/** How many new samples' candidates were blocked so far. */
export async function readBlocked(podfit: Podfit, { namespace, name, reason }: Blocks): Promise<number> {
  const labels = { namespace, name, ...(reason === undefined ? {} : { reason }) };
  return sumOf(await podfit.metrics(), "kedify_agent_pra_scale_blocked_total", labels) ?? 0;
}

/** Until so many new samples' candidates were blocked; gives how many. */
export function waitForBlocked(
  podfit: Podfit,
  { count = 1, timeoutMs = 90_000, everyMs = 250, ...blocks }: Blocks & WaitOptions & { readonly count?: number },
): Promise<number> {
  return waitFor(`"${blocks.name}" to be blocked ${count} times by ${blocks.reason ?? "anything"}`, async () => {
    const blocked = await readBlocked(podfit, blocks);
    if (blocked >= count) return blocked;
    throw new Error(`it was ${blocked} times`);
  }, { timeoutMs, everyMs });
}

/** What was wanted, and did not happen. */
export function isBlocked({ action, why }: Decision): boolean {
  return action !== null && why !== null;
}

const PREFIX = "PodResourceAutoscaler";

async function readTold({ namespace, name }: PodRef): Promise<readonly EventJson[]> {
  const events = (await readEvents(namespace, { about: name }))
    .filter(({ involvedObject, reason }) => involvedObject.kind === PREFIX && reason !== `${PREFIX}ResizeInProgress`);
  // Their names begin with the time in ms: those of one second keep their order.
  return events.toSorted((a, b) => a.metadata.name < b.metadata.name ? -1 : 1);
}

function describe({ reason, type, count }: EventJson): string {
  return `${reason.replace(PREFIX, "")} ${type} x${count ?? 1}`;
}
