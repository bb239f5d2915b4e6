/**
 * The readings of one node, one per cycle, for as long as the signal lasts. Polls never overlap, and a cycle that was
 * missed (a slow node, a busy consumer) is not made up: the next poll comes at once, and the one after a cycle later.
 */
import type { Reading } from "../api/usage.ts";
import type { Clock } from "../runtime/clock.ts";
import { readMessage } from "../kube/network_error.ts";
import type { FetchSummary, SummaryAnswer } from "./kubelet.ts";
import { parseSummary } from "./parse_summary.ts";
import type { UsageNode, WatchUsageOptions } from "./watch_usage.ts";

/** How one node is polled. */
export interface PollOptions extends WatchUsageOptions {
  readonly fetchSummary: FetchSummary;
  readonly clock: Clock;
  /** Before the first poll, to spread the nodes. */
  readonly initialDelayMs?: number;
}

/** The node's readings, failed ones among them, until the signal aborts. Does not reject. */
export async function* pollKubelet(node: UsageNode, options: PollOptions): AsyncGenerator<Reading> {
  const { clock, signal, initialDelayMs = 0 } = options;
  await sleep(initialDelayMs, options);
  let dueMs = clock.monotonic();
  while (!signal.aborted) {
    const reading = await readOnce(node, options);
    if (signal.aborted) return;
    yield reading;
    for (let leftMs = 1; leftMs > 0 && !signal.aborted;) {
      leftMs = dueMs + toIntervalMs(options) - clock.monotonic();
      if (leftMs > 0) await sleep(leftMs > LAST_WAIT_MS ? LOOK_AGAIN_MS : leftMs, options);
    }
    dueMs = Math.max(dueMs + toIntervalMs(options), clock.monotonic() - LATE_MS);
  }
}

const MIN_INTERVAL_MS = 1000;
const MAX_TIMEOUT_MS = 10_000;
/** A poll must end within its cycle. */
const TIMEOUT_SHARE = 0.9;
/** How often a long wait asks for the interval anew; at the default of 15 s nothing but the poll itself wakes. */
const LOOK_AGAIN_MS = 5_000;
const LAST_WAIT_MS = 15_000;
/** Timers ring a little late; that much doesn't move the beat. */
const LATE_MS = 50;

/** Whatever is asked for, a node is polled once a second at most. */
function toIntervalMs({ interval }: PollOptions): number {
  const intervalMs = interval();
  return intervalMs >= MIN_INTERVAL_MS ? intervalMs : MIN_INTERVAL_MS;
}

function sleep(ms: number, { clock, signal }: PollOptions): Promise<void> {
  // Rejects only when aborted, which every caller looks at next.
  return clock.sleep(ms, signal).catch(() => {});
}

async function readOnce(node: UsageNode, options: PollOptions): Promise<Reading> {
  const { clock, isTracked: tracked } = options;
  const startedMs = clock.monotonic();
  const answer = await fetchOnce(node, options);
  const common = { node: node.name, readAt: clock.now() };
  if (answer.kind === "failed") return { ...common, ...answer };
  const { text, clockOffsetMs } = answer;
  const durationMs = clock.monotonic() - startedMs;
  const summary = parseSummary(text, { tracked, nodeNow: common.readAt + clockOffsetMs });
  if (summary.kind === "malformed") {
    const message = `Cannot read usage of node "${node.name}": ${summary.message}`;
    return { ...common, kind: "failed", reason: "malformed", message };
  }
  const { pods, skipped } = summary;
  return { ...common, kind: "usage", clockOffsetMs, pods, skipped, durationMs };
}

async function fetchOnce(node: UsageNode, options: PollOptions): Promise<SummaryAnswer> {
  const { fetchSummary, clock, signal } = options;
  const timeoutMs = Math.max(MIN_INTERVAL_MS, TIMEOUT_SHARE * toIntervalMs(options));
  using timeout = clock.timeout(Math.min(MAX_TIMEOUT_MS, Math.round(timeoutMs)));
  try {
    return await fetchSummary({ name: node.name, ...node.readAddress() }, AbortSignal.any([signal, timeout.signal]));
  } catch (error) {
    const message = `Cannot read usage of node "${node.name}": ${readMessage(error)}`;
    return { kind: "failed", reason: "unreachable", message };
  }
}
