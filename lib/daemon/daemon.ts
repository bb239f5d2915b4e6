/**
 * The composition root: builds every part, runs them until the signal aborts, and disposes of them in order. Ends with
 * an error only where starting makes no sense; whatever fails later is retried where it failed.
 */
import type { Autoscaler } from "../autoscaler/autoscaler.ts";
import { createClient } from "../kube/client.ts";
import type { WatchUsage } from "../usage/watch_usage.ts";
import type { ApiServer, Transport } from "../kube/transport.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Log } from "../runtime/log.ts";
import { createActuator } from "./act/actuator.ts";
import { Evaluator } from "./evaluator.ts";
import { formatName, type NodeFacts } from "./inventory/facts.ts";
import { Feed } from "./inventory/feed.ts";
import { Inventory } from "./inventory/inventory.ts";
import type { Tracked } from "./inventory/tracked.ts";
import { canDecide, canTellStatus } from "./inventory/knowledge.ts";
import type { Metrics } from "./metrics/metrics.ts";
import { Nodes } from "./polling/nodes.ts";
import { Recorder } from "./report/recorder.ts";
import { createEventSink } from "./report/event_sink.ts";
import { createLogSink } from "./report/log_sink.ts";
import { createMetricsSink } from "./report/metrics_sink.ts";
import { combineSinks, type Sink } from "./report/sink.ts";
import { createStatusSink } from "./report/status_sink.ts";
import type { Scope } from "./inventory/scope.ts";
import type { Verdict } from "./server.ts";
import { StatusEvents } from "./report/status_events.ts";
import { StatusGauges } from "./report/status_gauges.ts";
import { StatusSweep } from "./report/status_sweep.ts";
import { StatusWriter } from "./report/status_writer.ts";
import { createTroubleLog, type OnTrouble, type Trouble } from "./report/trouble.ts";
import { countRequests } from "./metrics/count_requests.ts";
import { UsageHealth } from "./polling/usage_health.ts";

export interface DaemonOptions {
  readonly server: ApiServer;
  readonly watchUsage: WatchUsage;
  readonly scope: Scope;
  readonly dryRun: boolean;
  readonly requiresAnnotation: boolean;
  /** Which podfit this is, in events. */
  readonly instance: string;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Who else takes every evaluation, beside events, log, metrics and status. */
  readonly sinks?: readonly Sink[];
  /** Who else hears what goes wrong beside the decisions, beside the log. Must not throw. */
  readonly onTrouble?: OnTrouble;
  readonly signal: AbortSignal;
}

export interface Daemon {
  readonly isAlive: () => Verdict;
  readonly isReady: () => Verdict;
  /** Runs until the signal aborts and everything is put away. */
  readonly run: () => Promise<void>;
}

const SWEEP_MS = 1_000;
const STUCK_MS = 60_000;
const LAST_STATUS_MS = 5_000;

export function createDaemon(options: DaemonOptions): Daemon {
  const { clock, log, metrics, random, server, scope, dryRun } = options;
  const transport: Transport = countRequests(server.transport, metrics);
  const client = createClient({ origin: server.origin, transport });
  const nodeFacts = new Map<string, NodeFacts>();
  const recorder = new Recorder({ client, clock, random, log, metrics, instance: options.instance });
  const report = combineSinks([
    createEventSink(recorder),
    createLogSink(log),
    createMetricsSink({ metrics, isKnown }),
    createStatusSink({ noteScale: (uid, scale) => status.noteScale(uid, scale), isKnown }),
    ...(options.sinks ?? []),
  ], ({ input: { pod } }, error) => fail("Cannot report evaluation", { pod: formatName(pod), error }));
  const evaluator = new Evaluator({
    clock,
    actuate: createActuator({ client, clock, isCurrent }),
    report,
    dryRun,
    canDecide: (namespace) => canDecide(namespace, { inventory, isListed }),
    onError({ pod }, error) {
      metrics.failed(pod.namespace, "Evaluation");
      fail("Cannot evaluate pod", { pod: formatName(pod), error });
    },
  });
  const health = new UsageHealth({ readState: (uid) => evaluator.readState(uid), now: () => clock.now() });
  const nodes = new Nodes({
    clock,
    random,
    log,
    metrics,
    onTrouble,
    watchUsage: options.watchUsage,
    evaluator,
    facts: nodeFacts,
    areListed: () => isListed("nodes", ""),
    health,
  });
  const inventory = new Inventory({
    requiresAnnotation: options.requiresAnnotation,
    onChanged: (tracked) => nodes.put(tracked),
    onDropped(pod) {
      nodes.remove(pod.uid, pod.nodeName);
      evaluator.drop(pod.uid);
      health.forgetPod(pod.uid);
    },
  });
  const writer = new StatusWriter({
    client,
    clock,
    random,
    metrics,
    onProgress: () => progressAt = clock.monotonic(),
    onTrouble,
  });
  const status = new StatusSweep({
    clock,
    random,
    metrics,
    inventory,
    unread: health.unread,
    canReport: (autoscaler) => canTellStatus(autoscaler, isListed),
    writer,
    listeners: [new StatusEvents({ recorder, onTrouble }), new StatusGauges({ metrics, inventory })],
    onTrouble,
  });
  const feed = new Feed({
    origin: server.origin,
    transport,
    scope,
    clock,
    random,
    log,
    metrics,
    onTrouble,
    inventory,
    nodes: nodeFacts,
    onAutoscalerGone(autoscaler) {
      status.forget(autoscaler.uid);
      metrics.forget(autoscaler);
    },
  });
  let progressAt = clock.monotonic();

  function onTrouble(trouble: Trouble): void {
    createTroubleLog(log)(trouble);
    options.onTrouble?.(trouble);
  }

  function fail(message: string, fields: Readonly<Record<string, unknown>>): void {
    onTrouble({ kind: "failure", level: "error", message, autoscaler: null, fields });
  }

  function isKnown({ uid, namespace }: Autoscaler): boolean {
    return inventory.findAutoscaler(uid, namespace) !== null;
  }

  /** Each change of a pod, and of who contends for it, is tracked anew. */
  function isCurrent(tracked: Tracked): boolean {
    return inventory.tracked.get(tracked.pod.uid) === tracked;
  }

  function isListed(resource: string, namespace: string): boolean {
    return feed.isListed(resource, namespace);
  }

  async function sweep(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      progressAt = clock.monotonic();
      metrics.setTracked({ pods: inventory.tracked.size, nodePollers: nodes.size });
      await status.sweep(signal);
      await clock.sleep(SWEEP_MS, signal).catch(() => {});
    }
  }

  function isReady(): Verdict {
    const waiting = feed.unsynced;
    return waiting.length === 0
      ? { ok: true, message: "ok" }
      : { ok: false, message: `waiting for the first list of ${waiting.join(", ")}` };
  }

  function isAlive(): Verdict {
    const problems = nodes.listStuck().map((node) => `the loop of node "${node}" does not turn`);
    if (clock.monotonic() - progressAt > STUCK_MS) problems.push("the status loop does not turn");
    return problems.length === 0 ? { ok: true, message: "ok" } : { ok: false, message: problems.join("\n") };
  }

  async function run(): Promise<void> {
    // Ended after all others: what they had to tell is still written.
    const closing = new AbortController();
    const recording = recorder.run(closing.signal);
    try {
      await using _nodes = nodes;
      await runTogether([(signal) => feed.run(signal), sweep], options.signal);
    } finally {
      await writeLastStatus();
      closing.abort();
      await recording;
    }
  }

  /** The last resizes, answered while all else was ending. */
  async function writeLastStatus(): Promise<void> {
    using timeout = clock.timeout(LAST_STATUS_MS);
    await status.sweep(timeout.signal);
  }

  return { isAlive, isReady, run };
}

/** When one fails the others are ended before the failure is passed on: nothing runs on by itself. */
async function runTogether(
  parts: readonly ((signal: AbortSignal) => Promise<void>)[],
  signal: AbortSignal,
): Promise<void> {
  const failing = new AbortController();
  const all = AbortSignal.any([signal, failing.signal]);
  const ended = await Promise.allSettled(parts.map((part) =>
    part(all).catch((error) => {
      failing.abort();
      throw error;
    })
  ));
  for (const one of ended) if (one.status === "rejected") throw one.reason;
}
