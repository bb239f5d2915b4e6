/** The workload that a suggestion is for, its pods, and where they run, as the API server has them. */
import type { Deployment, Pod } from "../../api/kubernetes.ts";
import type { WorkloadKind } from "../../autoscaler/autoscaler.ts";
import type { PodFacts } from "../../core/pod/pod_facts.ts";
import { readPod } from "../../daemon/inventory/read_pod.ts";
import { readWorkload } from "../../daemon/inventory/read_workload.ts";
import { PLURALS, WORKLOAD_KINDS } from "../../daemon/inventory/workloads.ts";
import { toApiError } from "../../kube/api_error.ts";
import { createClient } from "../../kube/client.ts";
import type { ApiServer } from "../../kube/transport.ts";
import { formatSelector } from "../../units/selector.ts";
import { isRecord } from "../../units/untrusted.ts";
import { StartError } from "../run/start_error.ts";
import type { Target } from "./manifest.ts";

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
const MOST_PODS = 10;

/** Rejects with a StartError where there is none, or where it may not be read. */
export async function findWorkload(server: Server, target: Target, signal: AbortSignal): Promise<FoundWorkload> {
  const { kind, namespace, name } = target;
  const path = `/apis/apps/v1/namespaces/${namespace}/${PLURALS[kind]}/${name}`;
  return await readFound(server, await get(server, path, signal) as Deployment, { kind, namespace, signal });
}

/** Every Deployment, StatefulSet and DaemonSet of a namespace. Rejects as findWorkload() does. */
export async function listWorkloads(
  server: Server,
  namespace: string,
  signal: AbortSignal,
): Promise<readonly FoundWorkload[]> {
  const found: FoundWorkload[] = [];
  for (const kind of WORKLOAD_KINDS) {
    const list = await get(server, `/apis/apps/v1/namespaces/${namespace}/${PLURALS[kind]}?limit=500`, signal);
    for (const item of readItems(list)) {
      found.push(await readFound(server, item as Deployment, { kind, namespace, signal }));
    }
  }
  return found;
}

interface FindOptions {
  readonly kind: WorkloadKind;
  readonly namespace: string;
  readonly signal: AbortSignal;
}

async function readFound(
  server: Server,
  workload: Deployment,
  { kind, namespace, signal }: FindOptions,
): Promise<FoundWorkload> {
  const { name, selector } = readWorkload(workload, kind);
  const template = workload.spec?.template;
  const pod = readPod({ metadata: { ...template?.metadata, name, namespace }, spec: template?.spec } as Pod);
  const target: Target = { kind, namespace, name };
  if (selector === null) return { target, pod, pods: [] };
  const query = new URLSearchParams({ labelSelector: formatSelector(selector), limit: "500" });
  const list = await get(server, `/api/v1/namespaces/${namespace}/pods?${query}`, signal);
  const pods = readItems(list).map((item) => readPod(item as Pod))
    .filter(({ phase, nodeName, deleting }) => phase === "Running" && nodeName !== null && !deleting);
  return { target, pod, pods: pods.slice(0, MOST_PODS) };
}

async function get(server: Server, path: string, signal: AbortSignal): Promise<unknown> {
  const { data, error, response } = await createClient(server).untyped({ method: "GET", path, signal });
  if (response.ok) return data;
  throw new StartError(`Cannot read what to suggest for: ${toApiError(response, error).message}`);
}

function readItems(list: unknown): readonly unknown[] {
  return isRecord(list) && Array.isArray(list["items"]) ? list["items"] : [];
}
