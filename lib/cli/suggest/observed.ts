/** What was observed of a workload: usage of its pods in the cluster, or history from files and Prometheus. */
import type { Deployment, Pod } from "../../api/kubernetes.ts";
import { parseWorkload } from "../../daemon/cluster/parse_objects.ts";
import { parsePod } from "../../daemon/cluster/parse_pod.ts";
import { WORKLOAD_KINDS, WORKLOAD_PLURALS } from "../../daemon/cluster/tables.ts";
import { createClient } from "../../kube/client.ts";
import { toApiError } from "../../kube/errors.ts";
import { MAX_PAGES } from "../../kube/list.ts";
import type { ApiServer } from "../../kube/transport.ts";
import type { WorkloadKind } from "../../model/autoscaler.ts";
import { listResizableNames, type PodFacts } from "../../model/pod.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { NamedLoad } from "../../simulate/load.ts";
import { collectUsage } from "../../simulate/load/usage.ts";
import { isText, LABEL_RULE } from "../../units/fields.ts";
import { formatSelector, type Selector } from "../../units/selector.ts";
import { RESOURCES } from "../../units/resources.ts";
import { formatDuration } from "../../units/time.ts";
import { isRecord } from "../../units/untrusted.ts";
import type { UsageNode, UsagePod, WatchUsage } from "../../usage/source.ts";
import { StartError } from "../command/process.ts";
import { RIGHT_ADVICE } from "../connection/api_server.ts";
import { isPodNameOf } from "../explanation/explain_workload.ts";
import { listUnused, type LoadSources, readLoads, type SourcedLoad } from "../loads/loads.ts";
import { readManifests } from "../manifests/files.ts";
import { parseManifestObjects } from "../manifests/objects.ts";
import type { Subject } from "./judge.ts";

/** The workload of the manifest. */
export interface Target {
  readonly kind: WorkloadKind;
  readonly namespace: string;
  readonly name: string;
}

export interface ObservedWorkload {
  readonly target: Target;
  /** A pod as its workload makes it. */
  readonly pod: PodFacts;
  readonly loads: readonly NamedLoad[];
  /** The source of the usage: `usage of 2 pods, watched for 30m`. */
  readonly source: string;
}

/** More pods than these add no information. */
const MAX_SUBJECT_PODS = 5;

/** A shorter load is not enough for a suggestion. */
export const MIN_SECONDS = 60;

/** One for each container with enough usage. */
export function toSubjects({ pod, loads }: ObservedWorkload): readonly Subject[] {
  return pod.containers.filter(({ kind }) => kind !== "init").flatMap((container): readonly Subject[] => {
    const own = loads.filter((one) => one.container === container.name);
    const found = (own.length > 0 ? own : loads.filter((one) => one.container === null))
      .filter(({ load }) => load.seconds >= MIN_SECONDS).slice(0, MAX_SUBJECT_PODS);
    if (found.length === 0) return [];
    const seen = RESOURCES.filter((resource) => found.every((one) => one.seen.includes(resource)));
    if (seen.length === 0) {
      throw new StartError(
        `Cannot suggest for container "${container.name}": one load has no CPU and another no memory; give loads that ` +
          "have the same columns",
      );
    }
    return [{
      container: container.name,
      pod: { ...pod, containers: [container] },
      loads: found.map(({ load }) => load),
      seen,
    }];
  });
}

interface WatchOptions {
  readonly watchUsage: WatchUsage;
  readonly clock: Pick<Clock, "timeout" | "monotonic">;
  readonly forMs: number;
  /** Ends the watch early: the samples up to then count. */
  readonly signal: AbortSignal;
  /** Gets each reading, and why one failed. */
  readonly onReading?: (reading: { readonly passedMs: number; readonly failure: string | null }) => void;
}

/** The poll interval of a profile. */
const INTERVAL_MS = 5_000;

/** Resolves when the time is over. Never rejects for a node that cannot be read. */
export async function watchWorkloads(
  workloads: readonly FoundWorkload[],
  { watchUsage, clock, forMs, signal, onReading }: WatchOptions,
): Promise<readonly ObservedWorkload[]> {
  const usage = collectUsage();
  const startedAt = clock.monotonic();
  using timeout = clock.timeout(forMs);
  const ending = AbortSignal.any([signal, timeout.signal]);
  const pods = workloads.flatMap((one) => one.pods);
  const names = new Map(pods.map((pod) => [pod.uid, getPodKey(pod)]));
  const nodes = [...new Set(pods.flatMap(({ nodeName }) => nodeName ?? []))];
  await Promise.all(nodes.map(async (name) => {
    const own = pods.filter(({ nodeName }) => nodeName === name);
    const options = {
      interval: () => INTERVAL_MS,
      isTracked: (uid: string) => names.has(uid),
      pods: () => own.map(toUsagePod),
      signal: ending,
    };
    for await (const reading of watchUsage(toNode(name), options)) {
      if (reading.kind === "usage") {
        for (const [uid, { points }] of reading.pods) usage.add(names.get(uid) ?? uid, points);
      }
      const failure = reading.kind === "failed" ? reading.message : null;
      onReading?.({ passedMs: clock.monotonic() - startedAt, failure });
    }
  }));
  const passedMs = Math.min(forMs, Math.round((clock.monotonic() - startedAt) / 1000) * 1000);
  const loads = usage.toLoads();
  return workloads.map(({ target, pod, pods }) => ({
    target,
    pod,
    loads: loads.filter((load) => pods.some((one) => getPodKey(one) === load.pod)),
    source: `usage of ${pods.length} pod${pods.length === 1 ? "" : "s"}, watched for ${formatDuration(passedMs)}`,
  }));
}

function getPodKey({ namespace, name }: PodFacts): string {
  return `${namespace}/${name}`;
}

/** Summaries come through the API server, which knows the node's address. */
function toNode(name: string): UsageNode {
  return { name, getAddress: () => ({ addresses: null, port: 10_250, maxPods: null }) };
}

function toUsagePod({ uid, namespace, name, qosClass, containers }: PodFacts): UsagePod {
  return {
    uid,
    namespace,
    name,
    qosClass,
    containers: containers.map(({ name, instance, runningAt }) => ({ name, instance, runningAt })),
  };
}

/** A workload of the cluster. */
export interface FoundWorkload {
  readonly target: Target;
  /** As its template makes it. */
  readonly pod: PodFacts;
  /** Those that run, on a node. */
  readonly pods: readonly PodFacts[];
}

type Server = Pick<ApiServer, "origin" | "transport">;

/** Pods of one workload that are watched. */
const MAX_WATCHED_PODS = 10;

/** Resolves to the workload. Rejects with a StartError where it is missing or may not be read. */
export async function fetchWorkload(server: Server, target: Target, signal: AbortSignal): Promise<FoundWorkload> {
  const { kind, namespace, name } = target;
  const path = `/apis/apps/v1/namespaces/${namespace}/${WORKLOAD_PLURALS[kind]}/${name}`;
  return await toFoundWorkload(server, await fetchObject(server, path, signal) as Deployment, {
    kind,
    namespace,
    signal,
  });
}

/** Which workloads are listed. */
interface WorkloadScope {
  /** `null` = all. */
  readonly namespace: string | null;
  readonly selector: Selector | null;
  readonly signal: AbortSignal;
  /** Gets the number of workloads whose pods are listed. */
  readonly onFound?: (count: number) => void;
}

/** The API server lists this many objects at a time. */
const PAGE_SIZE = 500;

/** Every Deployment, StatefulSet and DaemonSet of the scope. Rejects as fetchWorkload() does. */
export async function listWorkloads(
  server: Server,
  { namespace, selector, signal, onFound }: WorkloadScope,
): Promise<readonly FoundWorkload[]> {
  const found: FoundWorkload[] = [];
  const prefix = namespace === null ? "/apis/apps/v1" : `/apis/apps/v1/namespaces/${namespace}`;
  for (const kind of WORKLOAD_KINDS) {
    const query = new URLSearchParams({ limit: `${PAGE_SIZE}` });
    if (selector !== null) query.set("labelSelector", formatSelector(selector));
    for (let page = 0; page < MAX_PAGES; page++) {
      const list = await fetchObject(server, `${prefix}/${WORKLOAD_PLURALS[kind]}?${query}`, signal);
      for (const item of listItems(list)) {
        const own = (item as Deployment).metadata?.namespace ?? namespace ?? "default";
        found.push(await toFoundWorkload(server, item as Deployment, { kind, namespace: own, signal }));
        onFound?.(found.length);
      }
      const next = getContinueToken(list);
      if (next === null) break;
      query.set("continue", next);
    }
  }
  return found;
}

/** `null` on the last page. */
function getContinueToken(list: unknown): string | null {
  const metadata = isRecord(list) && isRecord(list["metadata"]) ? list["metadata"] : {};
  const token = metadata["continue"];
  return typeof token === "string" && token !== "" ? token : null;
}

interface FindOptions {
  readonly kind: WorkloadKind;
  readonly namespace: string;
  readonly signal: AbortSignal;
}

async function toFoundWorkload(
  server: Server,
  workload: Deployment,
  { kind, namespace, signal }: FindOptions,
): Promise<FoundWorkload> {
  const { name, selector } = parseWorkload(workload, kind);
  const template = workload.spec?.template;
  const pod = parsePod({ metadata: { ...template?.metadata, name, namespace }, spec: template?.spec } as Pod);
  const target: Target = { kind, namespace, name };
  if (selector === null) return { target, pod, pods: [] };
  const query = new URLSearchParams({ labelSelector: formatSelector(selector), limit: "500" });
  const list = await fetchObject(server, `/api/v1/namespaces/${namespace}/pods?${query}`, signal);
  const pods = listItems(list).map((item) => parsePod(item as Pod))
    .filter(({ phase, nodeName, deleting }) => phase === "Running" && nodeName !== null && !deleting);
  return { target, pod, pods: pods.slice(0, MAX_WATCHED_PODS) };
}

async function fetchObject(server: Server, path: string, signal: AbortSignal): Promise<unknown> {
  const { data, error, response } = await createClient(server).untyped({ method: "GET", path, signal });
  if (response.ok) return data;
  const advice = response.status === 403 ? RIGHT_ADVICE : "";
  throw new StartError(`Cannot read what to suggest for: ${toApiError(response, error).message}${advice}`);
}

function listItems(list: unknown): readonly unknown[] {
  return isRecord(list) && Array.isArray(list["items"]) ? list["items"] : [];
}

interface HistoryOptions {
  readonly target: Target;
  /** Manifests that may hold the workload. */
  readonly filenames: readonly string[];
  /** The container of a load that names none. */
  readonly container: string | null;
  readonly files: LoadSources;
}

/** Rejects with a StartError for an unreadable file. */
export async function readHistory(options: HistoryOptions): Promise<ObservedWorkload> {
  const { target, files, container } = options;
  const { prometheus } = files;
  const manifest = await readTemplate(options);
  const found = selectTargetLoads(await readLoads(files), target);
  const loads = container === null ? found : found.map((one) => ({ ...one, container: one.container ?? container }));
  const pod = manifest ?? toUsualPod(target, loads);
  if (container !== null) checkContainer(container, { pod, loads, target });
  checkLoads(loads, { pod, target });
  const source = [
    ...files.csv.length + files.records.length > 0 ? [[...files.csv, ...files.records].join(", ")] : [],
    ...prometheus === null ? [] : [`Prometheus, ${formatDuration(prometheus.range.to - prometheus.range.from)}`],
    ...files.noise === null ? [] : ["with seeded noise of 10 % upon CPU"],
    ...manifest === null ? ["a pod that begins with 500m of 1 CPU and 256Mi of 512Mi"] : [],
  ];
  return { target, pod, loads, source: source.join("; ") };
}

/** A name that no load and no container has is a slip. */
function checkContainer(container: string, { pod, loads, target }: Omit<ObservedWorkload, "source">): void {
  const names = listResizableNames(pod);
  const fault = !names.includes(container)
    ? `${target.kind}/${target.name} has ${names.join(", ")}`
    : !loads.some((one) => one.container === container)
    ? `each load names its container, and none names this one`
    : null;
  if (fault !== null) throw new StartError(`Cannot use --container "${container}": ${fault}`);
}

/** Several loads of one container are several pods. A load of no container of the pod is a slip. */
function checkLoads(loads: readonly SourcedLoad[], { pod, target }: Pick<ObservedWorkload, "pod" | "target">): void {
  const names = listResizableNames(pod);
  const own = loads.filter(({ container }) => container === null || names.includes(container));
  const [unused] = listUnused(loads, own);
  const slip = loads.find(({ source }) => source === unused);
  if (slip === undefined) return;
  throw new StartError(
    `Cannot use load "${slip.source}": it is of container ${slip.container}, and ${target.kind}/${target.name} has ` +
      `${names.join(", ")}; correct the name`,
  );
}

/** Records may be of many workloads, and the names of pods say which. */
function selectTargetLoads(loads: readonly SourcedLoad[], { kind, namespace, name }: Target): readonly SourcedLoad[] {
  if (loads.every(({ pod }) => pod === null)) return loads;
  const isOwn = (pod: string) =>
    pod.startsWith(`${namespace}/`) && isPodNameOf(pod.slice(namespace.length + 1), `${kind}/${name}`);
  const own = loads.filter(({ pod }) => pod === null || pod === `${namespace}/${name}` || isOwn(pod));
  if (own.length > 0) return own;
  const pods = [...new Set(loads.map(({ pod }) => pod))].slice(0, 5).join(", ");
  throw new StartError(`Cannot find pods of ${kind}/${name} of "${namespace}" in the records: they are of ${pods}`);
}

async function readTemplate({ filenames, target }: HistoryOptions): Promise<PodFacts | null> {
  if (filenames.length === 0) return null;
  const { sources, failures } = await readManifests(filenames);
  if (failures.length > 0) throw new StartError(failures.join("; "));
  const { workloads, complaints } = parseManifestObjects(sources, target.namespace);
  if (complaints.length > 0) throw new StartError(complaints.join("; "));
  const found = workloads.find(({ kind, namespace, name }) =>
    kind.toLowerCase() === target.kind && name === target.name && namespace === target.namespace
  );
  if (found !== undefined) return parsePod(found.pod);
  const titles = workloads.map(({ kind, namespace, name }) => `${kind.toLowerCase()}/${name} of ${namespace}`);
  const has = titles.length === 0 ? "no workload" : titles.join(", ");
  throw new StartError(
    `Cannot find ${target.kind}/${target.name} of "${target.namespace}" in the files: they have ${has}`,
  );
}

/** The usual round numbers, limits twice the requests, as in docs/evidence/quality.md. Throws a StartError. */
function toUsualPod({ kind, namespace, name }: Target, loads: readonly NamedLoad[]): PodFacts {
  const named = [...new Set(loads.flatMap((one) => one.container ?? []))];
  if (named.length === 0 && !isText(name, LABEL_RULE)) {
    throw new StartError(
      `Cannot name the container of ${kind}/${name} after it: "${name}" is not a name of a container; name it with -c`,
    );
  }
  const names = named.length > 0 ? named : [name];
  const resources = { requests: { cpu: "500m", memory: "256Mi" }, limits: { cpu: "1", memory: "512Mi" } };
  const pod: Pod = {
    metadata: { namespace, name, labels: {} },
    spec: { containers: names.map((one) => ({ name: one, image: "example.com/app:1", resources })) },
  };
  return parsePod(pod);
}
