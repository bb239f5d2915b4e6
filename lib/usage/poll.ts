/** The readings of one kubelet, one per cycle: its summary is fetched and parsed, and what fails is a reading too. */
import type { Reading } from "../api/usage.ts";
import type { Clock } from "../runtime/clock.ts";
import { readMessage } from "../kube/network_error.ts";
import { computeOn } from "../runtime/compute.ts";
import { readAtBeat } from "./beat.ts";
import type { FetchSummary, SummaryAnswer } from "./summary_source.ts";
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
export function pollKubelet(node: UsageNode, options: PollOptions): AsyncGenerator<Reading> {
  return readAtBeat(() => readOnce(node, options), options);
}

/** A kubelet that takes longer than its cycle is read as often as it can answer: readings never overlap. */
const TIMEOUT_MS = 10_000;

async function readOnce(node: UsageNode, options: PollOptions): Promise<Reading> {
  const { clock, isTracked: tracked } = options;
  const compute = computeOn(clock);
  // The nodes of a group are due together, and to send a request is work too.
  const { startedMs, answering } = await compute(() => ({
    startedMs: clock.monotonic(),
    answering: fetchOnce(node, options),
  }));
  const answer = await answering;
  const common = { node: node.name, readAt: clock.now() };
  if (answer.kind === "failed") return { ...common, ...answer };
  const { bytes, clockOffsetMs } = answer;
  const durationMs = clock.monotonic() - startedMs;
  const summary = await compute(() => parseSummary(bytes, { tracked, nodeNow: common.readAt + clockOffsetMs }));
  answer.release?.();
  if (summary.kind === "malformed") {
    const message = `Cannot read usage of node "${node.name}": ${summary.message}`;
    return { ...common, kind: "failed", reason: "malformed", message };
  }
  const { pods, skipped } = summary;
  return { ...common, kind: "usage", clockOffsetMs, pods, skipped, durationMs };
}

async function fetchOnce(node: UsageNode, options: PollOptions): Promise<SummaryAnswer> {
  const { fetchSummary, clock, signal } = options;
  using timeout = clock.timeout(TIMEOUT_MS);
  try {
    return await fetchSummary({ name: node.name, ...node.readAddress() }, AbortSignal.any([signal, timeout.signal]));
  } catch (error) {
    const message = `Cannot read usage of node "${node.name}": ${readMessage(error)}`;
    return { kind: "failed", reason: "unreachable", message };
  }
}
