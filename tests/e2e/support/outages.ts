/**
 * How many pods of a workload were down, or about to restart for a resize, at one time? A recorder watches all of them and
 * looks after each event, so that no moment between two of them can be missed.
 */
import { backend, toCollection } from "./backend.ts";
import { waitFor } from "./cluster.ts";
import type { PodJson } from "./objects.ts";
import { readActualSize, readSpecSize } from "./patches.ts";

export interface OutageRecorder extends AsyncDisposable {
  /** The most at one time so far. */
  most(): number;
  /** How many pods are Ready, with a container that has restarted once and has the size that its spec says. */
  restarted(): number;
}

/** Begins with the pods as they are now; `count` of them have to be there. */
export async function recordOutages(namespace: string, app: string, count: number): Promise<OutageRecorder> {
  const pods = new Map<string, PodJson>();
  let most = 0;
  let ended: string | null = null;
  const { watch } = backend();
  const query = new URLSearchParams({ watch: "1", labelSelector: `app=${app}` });
  const watching = watch(`${toCollection("Pod", namespace)}?${query}`);
  const reading = read().catch((error: unknown) => {
    ended = String(error);
  });
  await waitFor(`the watch of the pods of "${app}" to begin`, () => Promise.resolve(pods.size === count), {
    timeoutMs: 10_000,
    everyMs: 20,
  });
  return {
    most() {
      if (ended !== null) throw new Error(`Cannot watch the pods of "${app}": ${ended}`);
      return most;
    },
    restarted: () =>
      [...pods.values()].filter((pod) => isUp(pod) && pod.status.containerStatuses?.[0]?.restartCount === 1).length,
    async [Symbol.asyncDispose]() {
      await watching[Symbol.asyncDispose]();
      await reading;
    },
  };

  async function read(): Promise<void> {
    for await (const line of watching.lines) {
      const { type, object } = JSON.parse(line) as { readonly type: string; readonly object: PodJson };
      if (type === "ERROR") throw new Error(line);
      if (type === "DELETED") pods.delete(object.metadata.name);
      else pods.set(object.metadata.name, object);
      if (pods.size === count) most = Math.max(most, [...pods.values()].filter((pod) => !isUp(pod)).length);
    }
    ended ??= "the server ended the watch";
  }
}

/** Ready, and no size of its spec waits for the kubelet. */
function isUp(pod: PodJson): boolean {
  const isReady = pod.status.conditions?.some(({ type, status }) => type === "Ready" && status === "True") === true;
  const actual = readActualSize(pod, "main");
  return isReady && JSON.stringify(actual) === JSON.stringify(readSpecSize(pod, "main"));
}
