/**
 * What a kubelet of Kubernetes 1.36.3 (containerd, cgroup v1) answered and told, out of tests/testdata/kubelet: one JSON
 * value in each line, without the fields that nobody here reads.
 */
import type { PodEvent } from "./embedded/check_pod_watch.ts";
import type { SeenSummary } from "./embedded/check_summaries.ts";

const FOLDER = new URL("../testdata/kubelet/", import.meta.url);

export async function readSummaries(name: string): Promise<readonly SeenSummary[]> {
  return (await readLines<{ at: string; summary: SeenSummary["summary"] }>(name)).map(({ at, summary }) => ({
    at: Date.parse(at),
    summary,
  }));
}

export async function readWatch(name: string): Promise<readonly PodEvent[]> {
  return (await readLines<Omit<PodEvent, "at"> & { at: string | null }>(name)).map(({ at, ...event }) => ({
    ...event,
    at: at === null ? null : Date.parse(at),
  }));
}

async function readLines<T>(name: string): Promise<readonly T[]> {
  const text = await Deno.readTextFile(new URL(`${name}.ndjson`, FOLDER));
  return text.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
}
