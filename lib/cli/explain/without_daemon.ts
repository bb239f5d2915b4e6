/**
 * Records without a podfit that runs: its daemon, with a way to the API server that only reads, looks at the pods of a namespace for two samples of
 * usage (or two ticks of a ScaledObject), and is gone.
 */
import { createDaemon, type DaemonOptions } from "../../daemon/daemon.ts";
import { createMetrics } from "../../daemon/metrics/metrics.ts";
import type { ReplicasPass } from "../../daemon/replicas/sink.ts";
import type { Evaluation } from "../../daemon/report/sink.ts";
import { decide } from "../../core/decide.ts";
import { decideReplicas } from "../../core/replicas/decide.ts";
import type { ApiServer } from "../../kube/transport.ts";
import type { RecordLine } from "../../record/line.ts";
import { toRecord } from "../../record/record.ts";
import { REPLICAS_RECORD_VERSION } from "../../record/replicas_record.ts";
import type { Clock } from "../../runtime/clock.ts";
import { createLog } from "../../runtime/log.ts";
import type { WatchUsage } from "../../usage/watch_usage.ts";
import { VERSION } from "../version.ts";
import { readReplicas } from "../run/run.ts";

export interface LookOptions {
  readonly server: ApiServer;
  readonly watchUsage: WatchUsage;
  readonly clock: Clock;
  readonly namespace: string;
  /** Says when enough was seen. */
  readonly isEnough: (lines: readonly RecordLine[]) => boolean;
  readonly onLine: (line: RecordLine) => void;
  readonly looksAtReplicas: boolean;
  readonly signal: AbortSignal;
}

/** What such a look cannot know. */
export const UNKNOWN_WITHOUT_DAEMON: readonly string[] = [
  "streaks, windows and peaks of usage from before this look: it has seen two samples, where a podfit that runs has seen them all",
  "cooldowns and resizes but the last that the pod's managedFields tell of, and how long they took",
  "what a podfit that runs is told by its flags, such as --dry-run, --max-cpu or PRA_REQUIRES_ANNOTATED_PODS",
];

/** However long usage stays away, ms. */
const LONGEST_MS = 90_000;

/** Lines of all that was seen, oldest first. Resolves after 90 s at the latest. */
export async function lookOnce(options: LookOptions): Promise<readonly RecordLine[]> {
  const { server, clock, namespace, isEnough, onLine, looksAtReplicas, signal } = options;
  const ending = new AbortController();
  const lines: RecordLine[] = [];
  const take = (line: RecordLine) => {
    lines.push(line);
    onLine(line);
    if (isEnough(lines)) ending.abort();
  };
  const send = () => Promise.reject(new Error("triggers are not asked without a podfit that runs"));
  const replicas = await readReplicas({ scaledObjects: looksAtReplicas, clusterObjectNamespace: null }, {
    server,
    clock,
    send,
  });
  const daemon = createDaemon({
    ...toQuietOptions(options),
    ...(replicas.replicas &&
      { replicas: { ...replicas.replicas, sinks: [{ onPass: (pass) => take(toObjectLine(pass)) }] } }),
    scope: { namespaces: [namespace], node: null, pod: null },
    sinks: [(evaluation) => take(toPodLine(evaluation))],
    signal: AbortSignal.any([signal, ending.signal]),
  });
  const timeout = clock.sleep(LONGEST_MS, AbortSignal.any([signal, ending.signal])).catch(() => {}).then(() =>
    ending.abort()
  );
  await daemon.run();
  ending.abort();
  await timeout;
  signal.throwIfAborted();
  return lines;
}

type Quiet = Omit<DaemonOptions, "scope" | "sinks" | "signal">;

function toQuietOptions({ server, watchUsage, clock }: LookOptions): Quiet {
  return {
    server: { ...server, transport: readOnly(server), [Symbol.asyncDispose]: () => Promise.resolve() },
    watchUsage,
    dryRun: true,
    requiresAnnotation: false,
    instance: "explain",
    clock,
    random: Math.random,
    log: createLog({ level: "error", format: "json", clock, write() {} }),
    metrics: createMetrics({ version: VERSION }),
  };
}

/** Whatever the daemon wants to write is refused before it leaves. */
function readOnly({ transport }: ApiServer): ApiServer["transport"] {
  return (request, options) => {
    if (request.method === "GET") return transport(request, options);
    const refusal = {
      kind: "Status",
      apiVersion: "v1",
      status: "Failure",
      code: 403,
      reason: "Forbidden",
      message: "explain only reads",
    };
    return Promise.resolve(Response.json(refusal, { status: 403 }));
  };
}

/** As a podfit that may resize would have decided. */
function toPodLine({ before, input: given }: Evaluation): RecordLine {
  const input = { ...given, dryRun: false };
  const { namespace, name, uid } = input.pod;
  const record = toRecord({ before, input, outcome: decide(before, input) });
  return { kind: "pod", namespace, name, uid, count: 1, since: input.now, record };
}

function toObjectLine({ before, input: given }: ReplicasPass): RecordLine {
  const input = { ...given, dryRun: false };
  const { namespace, name, uid } = input.object;
  const record = { version: REPLICAS_RECORD_VERSION, before, input, outcome: decideReplicas(before, input) } as const;
  return { kind: "scaledObject", namespace, name, uid, count: 1, since: input.now, record };
}
