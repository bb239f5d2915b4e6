/** Streams of watches: events that are none, lines cut anywhere, connections that break. */
import * as fc from "fast-check";
import { CollectionFailure } from "../../../../lib/kube/list.ts";
import { watchOnce } from "../../../../lib/kube/watch.ts";
import { VirtualClock } from "../../../support/virtual_clock.ts";
import { podObject } from "../../../support/api_objects.ts";
import { editedText } from "../hostile.ts";
import { must, target } from "../target.ts";

const pod = podObject();
pod.metadata.resourceVersion = "5";
const EVENTS = [
  ...["ADDED", "MODIFIED", "DELETED"].map((type) => ({ type, object: pod })),
  { type: "BOOKMARK", object: { metadata: { resourceVersion: "6" } } },
  { type: "ERROR", object: { kind: "Status", code: 410, reason: "Expired", message: "too old" } },
];

const streams = target({
  name: "watches",
  weight: 12,
  arbitrary: fc.record({
    lines: fc.array(editedText(EVENTS), { maxLength: 3 }),
    cuts: fc.array(fc.nat(4000), { maxLength: 4 }),
    isBroken: fc.boolean(),
  }),
  async check({ lines, cuts, isBroken }) {
    const bytes = new TextEncoder().encode(lines.map((line) => `${line}\n`).join(""));
    const stream = toStream(bytes, { cuts, isBroken });
    const clock = new VirtualClock();
    let seen = 0;
    try {
      const options = {
        origin: "http://a",
        path: "/api/v1/pods",
        clock,
        random: () => 0,
        signal: SIGNAL,
        project: readName,
      };
      for await (
        const { resourceVersion, event } of watchOnce(() => Promise.resolve(new Response(stream)), "1", options)
      ) {
        must(typeof resourceVersion === "string", "a version that is no text");
        must(event === null || typeof event.object === "string", "an object without a name");
        seen++;
      }
    } catch (error) {
      must(error instanceof CollectionFailure, `it throws ${error}`);
      must(error.message.length < 3000, "a failure without an end");
    }
    must(seen <= lines.join("\n").split("\n").length, "more events than lines");
    must(clock.pending === 0, `${clock.pending} timers are left behind`);
  },
});

const SIGNAL = new AbortController().signal;

function readName({ metadata }: { readonly metadata: { readonly name: string } }): string {
  return metadata.name;
}

interface StreamOptions {
  readonly cuts: readonly number[];
  readonly isBroken: boolean;
}

function toStream(
  bytes: Uint8Array<ArrayBuffer>,
  { cuts, isBroken }: StreamOptions,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length];
  const parts = places.slice(1).map((end, index) => bytes.slice(places[index], end));
  let next = 0;
  return new ReadableStream({
    pull(controller) {
      const part = parts[next++];
      if (part !== undefined) controller.enqueue(part);
      else if (isBroken) controller.error(new TypeError("connection reset"));
      else controller.close();
    },
  });
}

export const WATCH_TARGETS = [streams];
