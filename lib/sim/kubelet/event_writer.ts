/** The kubelet's Events, core/v1: the same again counts up instead of being written anew, as a real kubelet's do. */
import type { KubeletEvent } from "../model/event.ts";
import { formatTime } from "../../units/time.ts";
import type { ObjectsClient } from "../objects_client.ts";
import type { JsonObject } from "../json.ts";

/** Where events are written, and in whose name. */
export interface EventWriterOptions {
  readonly node: string;
  readonly client: ObjectsClient;
}

/** Events that may still be counted up. */
const MAX_KNOWN = 1000;

/** Events with the same key are one event with a count. */
export function toEventKey({ pod, reason, message, fieldPath }: KubeletEvent): string {
  return [pod.uid, fieldPath ?? "", reason, message].join("\n");
}

/** Throws when it is not taken; a namespace that is on its way out takes none. */
export function createEventWriter({ node, client }: EventWriterOptions): (event: KubeletEvent) => Promise<void> {
  const known = new Map<string, { readonly path: string; readonly count: number }>();
  let written = 0;
  return async (event) => {
    const { pod: { namespace, name, uid }, at, type, reason, message, fieldPath } = event;
    const key = toEventKey(event);
    const collection = `/api/v1/namespaces/${namespace}/events`;
    const before = known.get(key);
    const time = formatTime(at);
    if (before !== undefined) {
      const count = before.count + 1;
      await client.patch(before.path, "merge", { count, lastTimestamp: time });
      known.set(key, { ...before, count });
      return;
    }
    // The time in nanoseconds, as real ones are named; the last six digits tell those of one moment apart.
    const eventName = `${name}.${(BigInt(Math.floor(at)) * 1_000_000n + BigInt(written++ % 1_000_000)).toString(16)}`;
    const involvedObject: JsonObject = {
      apiVersion: "v1",
      kind: "Pod",
      namespace,
      name,
      uid,
      ...(fieldPath === null ? {} : { fieldPath }),
    };
    await client.create(collection, {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name: eventName, namespace },
      involvedObject,
      reason,
      message: message.slice(0, 1024),
      type,
      source: { component: "kubelet", host: node },
      firstTimestamp: time,
      lastTimestamp: time,
      count: 1,
      reportingComponent: "kubelet",
      reportingInstance: node,
    });
    known.set(key, { path: `${collection}/${eventName}`, count: 1 });
    const [oldest] = known.keys();
    if (known.size > MAX_KNOWN && oldest !== undefined) known.delete(oldest);
  };
}
