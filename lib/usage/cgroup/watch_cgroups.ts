/**
 * Usage from the cgroups of the node that podfit itself runs on: as fresh as the second, where a kubelet's summary is 10
 * to 19 s old, and without asking anybody (L61).
 */
import type { Reading } from "../../api/usage.ts";
import type { Clock } from "../../runtime/clock.ts";
import { readAtBeat } from "../beat.ts";
import type { UsageNode, WatchUsage, WatchUsageOptions } from "../watch_usage.ts";
import type { CgroupFiles } from "./files.ts";
import { CgroupReader } from "./reader.ts";

/** The node whose cgroups `files` are, where they are mounted, and its clock, which is podfit's own. */
export interface WatchCgroupsOptions {
  readonly node: string;
  /** For messages. */
  readonly root: string;
  readonly clock: Clock;
}

/** Reads `files` as often as the shortest interval asks for, at most each second; other nodes cannot be read. */
export function watchCgroups(files: CgroupFiles, options: WatchCgroupsOptions): WatchUsage {
  const { clock } = options;
  return async function* (node, watch) {
    // A rate divides by the time between two points: their clock is never set, whatever becomes of the wall's.
    const startedAt = clock.now() - clock.monotonic();
    const now = () => Math.round(startedAt + clock.monotonic());
    using reader = new CgroupReader(files, now);
    yield* readAtBeat(() => readOnce(node, { ...options, reader, now, watch }), { ...watch, clock });
  };
}

interface Context extends WatchCgroupsOptions {
  readonly reader: CgroupReader;
  /** The time of the points, epoch ms. */
  readonly now: () => number;
  readonly watch: WatchUsageOptions;
}

function readOnce({ name }: UsageNode, { node, root, clock, reader, now, watch }: Context): Reading {
  const startedMs = clock.monotonic();
  const common = { node: name, readAt: clock.now() };
  const read = name === node
    ? reader.read(watch.pods())
    : { kind: "failed", why: `they are those of node "${node}"` } as const;
  if (read.kind === "failed") {
    const message = `Cannot read usage of node "${name}" in the cgroups at "${root}": ${read.why}`;
    return { ...common, kind: "failed", reason: "unreachable", message };
  }
  const { pods, skipped } = read;
  const durationMs = clock.monotonic() - startedMs;
  return { ...common, kind: "usage", clockOffsetMs: now() - clock.now(), pods, skipped, durationMs };
}
