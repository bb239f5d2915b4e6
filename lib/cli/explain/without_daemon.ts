/** Explains without a running podfit: a daemon in this process watches for two samples of usage, and writes nothing. */
import { createDaemon, type DaemonOptions } from "../../daemon/daemon.ts";
import { createMetrics } from "../../daemon/metrics/metrics.ts";
import { type Evaluation, withQuiet } from "../../daemon/pods/controller.ts";
import type { ReplicasEvaluation } from "../../daemon/replicas/reports.ts";
import { decideReplicas } from "../../horizontal/decide.ts";
import type { ApiServer } from "../../kube/transport.ts";
import { type PodLine, type RecordLine, REPLICAS_RECORD_VERSION, toRecord } from "../../record/record.ts";
import { isSelected } from "../../resources/scaled_object/adoption.ts";
import type { Clock } from "../../runtime/clock.ts";
import { createLog } from "../../runtime/log.ts";
import type { WatchUsage } from "../../usage/source.ts";
import { decideSize } from "../../vertical/decide.ts";
import type { Subject } from "../command/parse_values.ts";
import { VERSION } from "../command/process.ts";
import { createReplicasOptions, type ReplicasMode, SAFE_REPLICAS_FLAGS } from "../connection/api_server.ts";
import { fetchOne, getField, toPath } from "../connection/podfits.ts";
import { DebugError, type DebugSource } from "../connection/records.ts";
import { findTargetName, isPodOf } from "../explanation/explain_workload.ts";

interface CollectOptions {
  readonly server: ApiServer;
  readonly watchUsage: WatchUsage;
  readonly clock: Clock;
  readonly namespace: string;
  /** Returns whether the samples are enough. */
  readonly isEnough: (lines: readonly RecordLine[]) => boolean;
  readonly onLine: (line: RecordLine) => void;
  readonly subject: Subject;
  readonly signal: AbortSignal;
}

/** What these samples cannot show. */
export const UNKNOWN_WITHOUT_DAEMON: readonly string[] = [
  "streaks, windows and peaks of usage from before this look: it has seen two samples, where a podfit that runs has seen them all",
  "cooldowns and resizes but the last that the pod's managedFields tell of, and how long they took",
  "what a podfit that runs is told by its flags, such as --dry-run, --max-cpu or PRA_REQUIRES_ANNOTATED_PODS",
];

/** The maximum wait for usage, ms. */
const MAX_WATCH_MS = 90_000;

/** Resolves to the lines of all samples, oldest first, after 90 s at the latest. */
export async function collectRecords(options: CollectOptions): Promise<readonly RecordLine[]> {
  const { clock, namespace, isEnough, onLine, signal } = options;
  const ending = new AbortController();
  const lines: RecordLine[] = [];
  const take = (line: RecordLine) => {
    lines.push(line);
    onLine(line);
    if (isEnough(lines)) ending.abort();
  };
  const send = () => Promise.reject(new Error("triggers are not asked without a podfit that runs"));
  const replicas = await createReplicasOptions({
    ...SAFE_REPLICAS_FLAGS,
    scaledObjects: await findReplicasMode(options),
  }, {
    clock,
    send,
  });
  const daemon = createDaemon({
    ...toQuietOptions(options),
    ...(replicas.replicas &&
      { replicas: { ...replicas.replicas, sinks: [{ onPass: (pass) => take(toObjectLine(pass)) }] } }),
    scope: { namespaces: [namespace], node: null, pod: null },
    sinks: [withQuiet((evaluation) => take(toPodLine(evaluation)))],
    signal: AbortSignal.any([signal, ending.signal]),
  });
  const timeout = clock.sleep(MAX_WATCH_MS, AbortSignal.any([signal, ending.signal])).catch(() => {}).then(() =>
    ending.abort()
  );
  await daemon.run();
  ending.abort();
  await timeout;
  signal.throwIfAborted();
  return lines;
}

/** What a ScaledObject means depends on whether it is selected for podfit next to KEDA. */
async function findReplicasMode(
  { server, subject: { kind, name }, namespace, signal }: CollectOptions,
): Promise<ReplicasMode> {
  if (kind === "pod") return "off";
  const path = toPath`/apis/keda.sh/v1alpha1/namespaces/${namespace}/scaledobjects`;
  const items = getField(await fetchOne(server, path, signal).catch(() => null), "items");
  const key = kind === "scaledobject" ? ["metadata", "name"] : ["spec", "scaleTargetRef", "name"];
  const isSubject = (object: unknown) => isSelected(object) && getField(object, ...key) === name;
  return Array.isArray(items) && items.some(isSubject) ? "selected" : "all";
}

type QuietDaemonOptions = Omit<DaemonOptions, "scope" | "sinks" | "signal">;

function toQuietOptions({ server, watchUsage, clock }: CollectOptions): QuietDaemonOptions {
  return {
    server: { ...server, transport: refuseWrites(server), [Symbol.asyncDispose]: () => Promise.resolve() },
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

/** Every write of the daemon is refused before it is sent. */
function refuseWrites({ transport }: ApiServer): ApiServer["transport"] {
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

/** As a podfit with the right to resize would have decided. */
function toPodLine({ before, input: given }: Evaluation): RecordLine {
  const input = { ...given, dryRun: false };
  const { namespace, name, uid } = input.pod;
  const record = toRecord({ before, input, outcome: decideSize(before, input) });
  return { kind: "pod", namespace, name, uid, count: 1, since: input.now, record };
}

function toObjectLine({ before, input: given }: ReplicasEvaluation): RecordLine {
  const input = { ...given, dryRun: false };
  const { namespace, name, uid } = input.object;
  const record = { version: REPLICAS_RECORD_VERSION, before, input, outcome: decideReplicas(before, input) } as const;
  return { kind: "scaledObject", namespace, name, uid, count: 1, since: input.now, record };
}

/** Two samples of a pod; two scaling loops of a ScaledObject, or without one two samples of a pod of the workload. */
export function hasEnoughRecords(lines: readonly RecordLine[], { kind, name }: Subject): boolean {
  const pods = lines.filter((line) => line.kind === "pod");
  if (kind === "pod") return pods.some((line) => line.name === name && hasTwoSamples(line));
  if (kind === "podresourceautoscaler") return pods.some((line) => isSizedBy(line, name) && hasTwoSamples(line));
  const target = `${kind}/${name}`;
  const objects = lines.filter((line) => line.kind === "scaledObject").filter((line) =>
    kind === "scaledobject" ? line.name === name : findTargetName(line) === target
  );
  if (objects.length > 0) return objects.filter(({ record }) => record.outcome.report?.half === "tick").length > 1;
  return pods.some((line) => isPodOf(line, target) && hasTwoSamples(line));
}

/** Returns whether the autoscaler of this name, in the pod's namespace, matches the pod. */
export function isSizedBy({ record: { input } }: PodLine, name: string): boolean {
  return input.contenders.some((one) => one.name === name);
}

function hasTwoSamples({ record: { outcome: { state } } }: PodLine): boolean {
  const views = [...Object.values(state.views), ...Object.values(state.shadow?.state.views ?? {})];
  return views.length > 0 && views.every(({ evidence: { since, until } }) => since !== null && until > since);
}

export function createRecordsSource(lines: readonly RecordLine[]): DebugSource {
  return {
    name: "this look",
    async *read({ namespace, pod, scaledObject, latest }) {
      await Promise.resolve();
      const named = lines.filter((line) =>
        (namespace === undefined || line.namespace === namespace) &&
        (pod === undefined || (line.kind === "pod" && line.name === pod)) &&
        (scaledObject === undefined || (line.kind === "scaledObject" && line.name === scaledObject))
      );
      const name = pod ?? scaledObject;
      if (named.length === 0 && name !== undefined) {
        const why = "no PodResourceAutoscaler or ScaledObject is about it, or no usage of it came";
        throw new DebugError("NothingKnown", `Cannot explain "${name}": ${why}`);
      }
      yield* latest === true ? listLatest(named) : named;
    },
  };
}

function listLatest(lines: readonly RecordLine[]): readonly RecordLine[] {
  return [...new Map(lines.map((line) => [`${line.kind} ${line.uid}`, line])).values()];
}
