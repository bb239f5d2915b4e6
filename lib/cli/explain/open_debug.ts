/** The records of the podfit that owns a pod, through the API server's `pods/proxy`: the leader by its Lease, the agent of the pod's node, or the sidecar. */
import { createClient } from "../../kube/client.ts";
import { toApiError } from "../../kube/api_error.ts";
import { readErrorText } from "../../kube/body.ts";
import type { ApiServer } from "../../kube/transport.ts";
import { toStartError } from "../run/start_error.ts";
import { DebugError, type DebugListener, NOTHING_KNOWN, toSearch } from "./debug_source.ts";
import { type Mode, pick, type PodfitPod, readPodfit, selectModes } from "./find_podfits.ts";
import { createListener } from "./listener.ts";

/** Whose podfit is looked for. */
export interface Wanted {
  /** `null` = of all namespaces. */
  readonly namespace: string | null;
  /** `null` = of all pods, or of a workload. */
  readonly pod: string | null;
  /** The pod may be gone: some podfit remembers it. */
  readonly mayBeGone?: boolean;
  /** Where podfit runs; `null` = anywhere. */
  readonly podfitNamespace: string | null;
}

type Server = Pick<ApiServer, "origin" | "transport">;

/** One for each podfit that may know of it, the likeliest first; at least one. Throws a DebugError that says what to do. */
export async function openDebug(
  server: Server,
  wanted: Wanted,
  signal: AbortSignal,
): Promise<readonly DebugListener[]> {
  const pod = wanted.pod === null
    ? null
    : await fetchOne(server, `/api/v1/namespaces/${wanted.namespace}/pods/${wanted.pod}`, signal);
  if (wanted.pod !== null && pod === null && wanted.mayBeGone !== true) {
    throw new DebugError(
      "NoPod",
      `Cannot find pod "${wanted.pod}" in namespace "${wanted.namespace}": there is none`,
    );
  }
  const owners = await findOwners(server, { ...wanted, object: pod }, signal);
  const listening = owners.filter(({ debugPort }) => debugPort !== null);
  const [first] = owners;
  if (first === undefined) throw new DebugError("NoPodfit", describeNoPodfit(wanted));
  if (listening.length === 0) {
    const how = "set debug.enabled of its chart, or --debug-listen 0.0.0.0:8081";
    throw new DebugError(
      "NoListener",
      `Cannot ask podfit "${nameOf(first)}": it has no --debug-listen; ${how}`,
    );
  }
  return listening.map((one) => openProxy(server, one));
}

function describeNoPodfit({ podfitNamespace }: Wanted): string {
  const where = podfitNamespace === null ? "" : ` in namespace "${podfitNamespace}"`;
  return `Cannot find a podfit${where} that owns it: no ready pod has a label ${selectModes(OUTSIDE)}; ` +
    "name it with --url";
}

interface Looked extends Wanted {
  readonly object: unknown;
}

async function findOwners(
  server: Server,
  { object, pod, namespace, podfitNamespace }: Looked,
  signal: AbortSignal,
): Promise<readonly PodfitPod[]> {
  const own = readPodfit(object);
  if (own?.mode === "sidecar") return [own];
  const modes = pod === null ? [...OUTSIDE, "sidecar"] as const : OUTSIDE;
  const all = await listPodfits(server, { namespace: podfitNamespace, modes }, signal);
  const releases = Map.groupBy(all.filter(({ mode }) => mode === "central"), toRelease);
  const leaders = await Promise.all([...releases.values()].map((pods) => findLeader(server, pods, signal)));
  const node = pick(object, "spec", "nodeName");
  const agents = all.filter((one) => one.mode === "node-local" && (object === null || one.node === node));
  const sidecars = all.filter((one) => one.mode === "sidecar" && (namespace === null || one.namespace === namespace));
  return [...leaders.flatMap((one) => one ?? []), ...agents, ...sidecars];
}

/** Of several installs each has a Lease of its own, or one pod. */
function toRelease({ namespace, name, lease }: PodfitPod): string {
  return lease === null ? `pod ${namespace}/${name}` : `lease ${lease.namespace}/${lease.name}`;
}

/** They look after pods other than their own. */
const OUTSIDE: readonly Mode[] = ["central", "node-local"];

async function listPodfits(
  server: Server,
  { namespace, modes }: { readonly namespace: string | null; readonly modes: readonly Mode[] },
  signal: AbortSignal,
): Promise<readonly PodfitPod[]> {
  const scope = namespace === null ? "" : `/namespaces/${namespace}`;
  const query = new URLSearchParams({ labelSelector: selectModes(modes) });
  const list = await fetchOne(server, `/api/v1${scope}/pods?${query}`, signal);
  const items = pick(list, "items");
  return (Array.isArray(items) ? items : []).flatMap((one) => readPodfit(one) ?? []).filter(({ isReady }) => isReady);
}

/** The only one leads, and else who holds the Lease. */
async function findLeader(server: Server, pods: readonly PodfitPod[], signal: AbortSignal): Promise<PodfitPod | null> {
  const [first] = pods;
  if (first === undefined || pods.length === 1 || first.lease === null) return first ?? null;
  const { namespace, name } = first.lease;
  const lease = await fetchOne(server, `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/${name}`, signal);
  const holder = pick(lease, "spec", "holderIdentity");
  const holds = (one: PodfitPod) => typeof holder === "string" && holder.startsWith(`${one.name}_`);
  return pods.find(holds) ?? first;
}

function openProxy(server: Server, pod: PodfitPod): DebugListener {
  const { namespace, name, debugPort, isTls } = pod;
  const target = `${isTls ? "https:" : ""}${name}:${debugPort}`;
  const path = `/api/v1/namespaces/${namespace}/pods/${target}/proxy/debug/records`;
  return createListener(`podfit "${nameOf(pod)}"`, async (query, signal) => {
    const request = new Request(`${server.origin}${path}${toSearch(query)}`, { signal });
    const response = await orUnreachable(server.transport(request), signal);
    if (response.ok) return response;
    const text = await readErrorText(response, signal);
    throw /"kind":\s*"Status"/.test(text) ? toRefusal(response, text, pod) : toError(response, text, pod);
  });
}

/** What podfit says comes as it is. */
function toError({ status }: Response, text: string, pod: PodfitPod): DebugError {
  const says = text.trim().split("\n")[0] ?? "";
  const what = `Cannot ask podfit "${nameOf(pod)}"`;
  if (status === 404 && NOTHING_KNOWN.test(says)) return new DebugError("NothingKnown", says);
  if (status === 401 || status === 403) {
    const why = "it wants the token of a reader (--metrics-auth), which the API server does not pass on";
    const { namespace, name, debugPort, isTls } = pod;
    const how = `kubectl -n ${namespace} port-forward pod/${name} ${debugPort}, and here --url ${
      isTls ? "https" : "http"
    }://127.0.0.1:${debugPort} --token-file FILE`;
    return new DebugError("NeedsToken", `${what}: ${why}; use ${how}`);
  }
  return new DebugError(status >= 500 ? "Unreachable" : "BadAnswer", `${what}: it answered ${status} ${says}`.trim());
}

/** The API server's own refusals are Statuses. */
function toRefusal(response: Response, text: string, pod: PodfitPod): DebugError {
  const { message, code } = toApiError(response, toJson(text));
  const what = `Cannot ask podfit "${nameOf(pod)}": ${message}`;
  if (code === 403) return new DebugError("NoRight", `${what}; ${RIGHT}`);
  if (code === 404) return new DebugError("Unreachable", what);
  if (code < 500) return new DebugError("BadAnswer", what);
  const reached = "is its --debug-listen on 0.0.0.0, and does a network policy let the API server in?";
  return new DebugError("Unreachable", `${what}; ${reached}`);
}

const RIGHT = 'it takes the right to "get" on "pods/proxy" in podfit\'s namespace, or kubectl port-forward and --url';

/** `null` = there is none. */
async function fetchOne(server: Server, path: string, signal: AbortSignal): Promise<unknown> {
  const { data, error, response } = await orUnreachable(
    createClient(server).untyped({ method: "GET", path, signal }),
    signal,
  );
  if (response.ok) return data;
  if (response.status === 404) return null;
  const { message, code } = toApiError(response, error);
  const advice = code === 403 && path.startsWith("/api/v1/pods")
    ? "; name podfit's namespace with --podfit-namespace"
    : "";
  throw new DebugError(code === 403 ? "NoRight" : "BadAnswer", `Cannot look for podfit: ${message}${advice}`);
}

/** The transport's errors name the server, and why it cannot be reached. */
async function orUnreachable<T>(asked: Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return await asked;
  } catch (cause) {
    signal.throwIfAborted();
    throw new DebugError("Unreachable", toStartError(cause).message, { cause });
  }
}

function nameOf({ namespace, name }: PodfitPod): string {
  return `${namespace}/${name}`;
}

function toJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
