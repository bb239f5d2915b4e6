/** When is each kubelet polled? Nodes are polled in groups, so that the load is spread over the interval. */
import type { Reading } from "../../api/usage.ts";
import { getErrorMessage } from "../../kube/errors.ts";
import { Alarm, type Clock, timeoutError } from "../../runtime/clock.ts";
import { getComputeQueue } from "../../runtime/event_loop.ts";
import { readAtInterval, type UsageNode, type WatchUsage, type WatchUsageOptions } from "../source.ts";
import type { FetchSummary, SummaryAnswer, SummarySource } from "./fetch_summary.ts";
import { SummaryReader, SummaryScanner } from "./scan_summary.ts";

/** Polls `source`, which must live as long as every watch. */
export function watchKubelets(
  { fetchSummary }: Pick<SummarySource, "fetchSummary">,
  { clock, random }: WatchKubeletsOptions,
): WatchUsage {
  const phaseMs = random() * GROUP_MS;
  const scanner = new SummaryScanner();
  const isTaken: boolean[] = [];
  /** When the first node was polled first. That node keeps its moment, and those of the others follow from it. */
  let anchorMs: number | null = null;
  return async function* (node, options) {
    const groups = Math.max(1, Math.floor(options.interval() / GROUP_MS));
    // The lowest number that no node has: when nodes are replaced one by one, the groups stay of equal size.
    const free = isTaken.indexOf(false);
    const index = free === -1 ? isTaken.length : free;
    isTaken[index] = true;
    const beat = Math.ceil((clock.monotonic() + phaseMs) / GROUP_MS) + Math.floor(index / GROUP) % groups;
    // The same number for all nodes of a group, so that they share a timer.
    const firstMs = beat * GROUP_MS - phaseMs;
    const [anchor, share] = [anchorMs ??= firstMs, toPhaseShare(index)];
    const toPhaseMs = (intervalMs: number) => anchor + share * Math.max(intervalMs, CYCLE_MS);
    try {
      yield* pollKubelet(node, { ...options, fetchSummary, scanner, clock, firstMs, toPhaseMs });
    } finally {
      isTaken[index] = false;
    }
  };
}

/** How one node is polled. */
export interface PollOptions extends WatchUsageOptions {
  readonly fetchSummary: FetchSummary;
  /** The scanner that nodes share; a new one by default. */
  readonly scanner?: SummaryScanner;
  readonly clock: Clock;
  /** The time of the first poll, monotonic, to spread the nodes; now by default. */
  readonly firstMs?: number;
  /** Returns the phase of all later polls, ms; by default that of the first one. */
  readonly toPhaseMs?: (intervalMs: number) => number;
}

/** The node's readings, failed ones among them, until the signal aborts. Does not reject. */
export function pollKubelet(node: UsageNode, options: PollOptions): AsyncGenerator<Reading> {
  const summaries = new SummaryReader(options.scanner ?? new SummaryScanner());
  const deadline = new Deadline(options);
  return readAtInterval(() => fetchReading(node, { ...options, summaries, deadline }), options);
}

/** The clock, and a random number from 0 to 1. */
interface WatchKubeletsOptions {
  readonly clock: Clock;
  /** Returns a number for the phase of this process, so that several podfits do not ask at the same time. */
  readonly random: () => number;
}

/** How many nodes are polled together for the first time; to send their requests takes some 5 ms. */
const GROUP = 16;

/** The time from group to group, for the first poll. */
const GROUP_MS = 62.5;

/**
 * The phases of shorter intervals are those of this one. So a node that is polled every 5 s for a while is also polled at the
 * moments of its 15 s.
 */
const CYCLE_MS = 15_000;

/** How many groups nodes have at most from their second poll on. */
const MAX_GROUPS = 64;

/** How many groups the nodes of a small cluster have, before there are enough of them for more groups of 16. */
const MIN_GROUPS = 4;

/**
 * Returns the part of the interval, below 1, after which a node is polled. The groups are far from each other, however
 * many there are: 0, 1/2, 1/4, 3/4, 1/8, 5/8 and so on. So pods on several nodes are read at several moments, and a load
 * that grows is seen on the first of them. A group shares its timer and is handled in one go: 100 nodes alone at 64
 * moments cost two thirds more CPU.
 */
function toPhaseShare(index: number): number {
  const [round, place] = [Math.floor(index / (MAX_GROUPS * GROUP)), index % (MAX_GROUPS * GROUP)];
  const group = place < MIN_GROUPS * GROUP ? place % MIN_GROUPS : Math.floor(place / GROUP);
  return toVanDerCorput(group) + toVanDerCorput(round) / MAX_GROUPS;
}

/** The bits of the number behind the point, in reverse: https://en.wikipedia.org/wiki/Van_der_Corput_sequence */
function toVanDerCorput(index: number): number {
  let sum = 0;
  for (let rest = index, share = 1 / 2; rest > 0; rest = Math.floor(rest / 2), share /= 2) sum += share * (rest % 2);
  return sum;
}

/** A kubelet that takes longer than its interval is read as often as it can answer: readings never overlap. */
const TIMEOUT_MS = 10_000;

/** As late as this a timeout may be, so that the polls of several groups share a timer. */
const LATE_MS = 100;

interface ReadOptions extends PollOptions {
  readonly summaries: SummaryReader;
  readonly deadline: Deadline;
}

async function fetchReading(node: UsageNode, options: ReadOptions): Promise<Reading> {
  const { clock, summaries, isTracked: tracked } = options;
  const compute = getComputeQueue(clock);
  // The nodes of a group are due together, and sending a request is work too.
  const { startedMs, answering } = await compute(() => ({
    startedMs: clock.monotonic(),
    answering: fetchInTime(node, options),
  }));
  const answer = await answering;
  const common = { node: node.name, readAt: clock.steady() };
  if (answer.kind === "failed") return { ...common, ...answer };
  const { bytes, clockOffsetMs } = answer;
  const durationMs = clock.monotonic() - startedMs;
  const summary = await compute(() => summaries.read(bytes, { tracked, nodeNow: common.readAt + clockOffsetMs }));
  answer.release?.();
  if (summary.kind === "malformed") {
    const message = `Cannot read usage of node "${node.name}": ${summary.message}`;
    return { ...common, kind: "failed", reason: "malformed", message };
  }
  const { pods, rows, skipped } = summary;
  const usage = { ...common, kind: "usage", clockOffsetMs, pods, skipped, durationMs } as const;
  return rows === undefined ? usage : { ...usage, rows };
}

async function fetchInTime(node: UsageNode, { fetchSummary, deadline }: ReadOptions): Promise<SummaryAnswer> {
  try {
    return await fetchSummary({ name: node.name, ...node.getAddress() }, deadline.begin());
  } catch (error) {
    const message = `Cannot read usage of node "${node.name}": ${getErrorMessage(error)}`;
    return { kind: "failed", reason: "unreachable", message };
  } finally {
    deadline.end();
  }
}

/** The signal of a node's polls. Only a timeout uses it up, so that most polls need no signal and no timer of their own. */
class Deadline {
  readonly #clock: Clock;
  readonly #watch: AbortSignal;
  readonly #alarm: Alarm;
  #poll = new AbortController();

  constructor({ clock, signal }: Pick<PollOptions, "clock" | "signal">) {
    this.#clock = clock;
    this.#watch = signal;
    this.#alarm = new Alarm(clock, () => this.#poll.abort(timeoutError(TIMEOUT_MS)));
    signal.addEventListener("abort", () => this.#poll.abort(signal.reason), { once: true });
  }

  /** Returns the signal of a poll that begins now. It also aborts with the watch. */
  begin(): AbortSignal {
    if (this.#watch.aborted) return this.#watch;
    if (this.#poll.signal.aborted) this.#poll = new AbortController();
    this.#alarm.set(this.#clock.monotonic() + TIMEOUT_MS, LATE_MS);
    return this.#poll.signal;
  }

  end(): void {
    this.#alarm.cancel();
  }
}
