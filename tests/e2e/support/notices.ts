/** The Events about an autoscaler as a whole list, so that one too many shows up as much as one too few. */
import { assertEquals, assertStringIncludes } from "#assert";
import { type PodRef, readEvents, readPod, waitFor } from "./cluster.ts";
import type { EventJson } from "./objects.ts";

/** Reason without its prefix, type, count, and what the message has to contain. */
export type ExpectedNotice = readonly [
  reason: string,
  type: "Normal" | "Warning",
  count: number,
  ...words: readonly string[],
];

/**
 * Throws unless there are exactly these Events about the autoscaler that has the pod's name, in this order. A resize in
 * progress is left out: it lasts some 40 ms, in which podfit may look at the pod or not. So is Limited, which is about all
 * pods of the autoscaler and comes with its next status.
 */
export async function assertNotices(pod: PodRef, expected: readonly ExpectedNotice[]): Promise<void> {
  const events = await waitFor(`${expected.length} events about "${pod.name}"`, async () => {
    const events = await readNotices(pod);
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

const PREFIX = "PodResourceAutoscaler";
const LEFT_OUT: ReadonlySet<string> = new Set([`${PREFIX}ResizeInProgress`, `${PREFIX}Limited`]);

async function readNotices({ namespace, name }: PodRef): Promise<readonly EventJson[]> {
  const events = (await readEvents(namespace, { about: name }))
    .filter(({ involvedObject, reason }) => involvedObject.kind === PREFIX && !LEFT_OUT.has(reason));
  // Their names begin with the time in ms: those of one second keep their order.
  return events.toSorted((a, b) => a.metadata.name < b.metadata.name ? -1 : 1);
}

function describe({ reason, type, count }: EventJson): string {
  return `${reason.replace(PREFIX, "")} ${type} x${count ?? 1}`;
}
