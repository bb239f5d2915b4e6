/** The records of the podfit that owns a pod, through the API server's `pods/proxy`: the leader by its Lease, the agent of the pod's node, or the sidecar. */
import { createClient } from "../../kube/client.ts";
import { toApiError } from "../../kube/api_error.ts";
import { readText } from "../../kube/body.ts";
import type { ApiServer } from "../../kube/transport.ts";
import { isRecord } from "../../units/untrusted.ts";
import { toStartError } from "../run/start_error.ts";
import { DebugError, type DebugQuery, type DebugSource, NOTHING_KNOWN, toSearch } from "./debug_source.ts";
import { pick, PODFIT_SELECTOR, type PodfitPod, readPodfit, SIDECAR_LABEL } from "./find_podfits.ts";
import { readLines } from "./read_lines.ts";

/** Whose podfit is looked for. */
export interface Wanted {
  readonly namespace: string;
  /** `null` = of all pods, or of a workload. */
  readonly pod: string | null;
  /** Where podfit runs; `null` = anywhere. */
  readonly podfitNamespace: string | null;
}

type Server = Pick<ApiServer, "origin" | "transport">;

/** One source for each podfit that may know of it, the likeliest first; at least one. Throws a DebugError that says what to do. */
export async function openDebug(server: Server, wanted: Wanted, signal: AbortSignal): Promise<readonly DebugSource[]> {
  const pod = wanted.pod === null
    ? null
    : await fetchOne(server, `/api/v1/namespaces/${wanted.namespace}/pods/${wanted.pod}`, signal);
  if (wanted.pod !== null && pod === null) {
    throw new DebugError(
      "NothingKnown",
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
      `Cannot ask podfit "${nameOf(first)}": it has no --debug-listen; ${how}; ${ALONE}`,
    );
  }
  return listening.map((one) => openProxy(server, one));
}

function describeNoPodfit({ podfitNamespace }: Wanted): string {
  const where = podfitNamespace === null ? "" : ` in namespace "${podfitNamespace}"`;
  return `Cannot find a podfit${where} that owns it: no ready pod has the labels ${PODFIT_SELECTOR}; ` +
    `name it with --url; ${ALONE}`;
}

const ALONE = "explain can look by itself (--without-daemon)";

interface Looked extends Wanted {
  readonly object: unknown;
}

async function findOwners(
  server: Server,
  { object, podfitNamespace }: Looked,
  signal: AbortSignal,
): Promise<readonly PodfitPod[]> {
  const labels = pick(object, "metadata", "labels");
  if (isRecord(labels) && labels[SIDECAR_LABEL] === "sidecar") return [readPodfit(object)].flatMap((one) => one ?? []);
  const all = await listPodfits(server, podfitNamespace, signal);
  const controllers = all.filter(({ component }) => component === "controller");
  const leader = await findLeader(server, controllers, signal);
  const node = pick(object, "spec", "nodeName");
  const agents = all.filter((one) => one.component === "agent" && (object === null || one.node === node));
  return [...leader === null ? [] : [leader], ...agents];
}

async function listPodfits(
  server: Server,
  namespace: string | null,
  signal: AbortSignal,
): Promise<readonly PodfitPod[]> {
  const scope = namespace === null ? "" : `/namespaces/${namespace}`;
  const list = await fetchOne(
    server,
    `/api/v1${scope}/pods?labelSelector=${encodeURIComponent(PODFIT_SELECTOR)}`,
    signal,
  );
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

function openProxy(server: Server, pod: PodfitPod): DebugSource {
  const { namespace, name, debugPort, isTls } = pod;
  const target = `${isTls ? "https:" : ""}${name}:${debugPort}`;
  const path = `/api/v1/namespaces/${namespace}/pods/${target}/proxy/debug/records`;
  return {
    name: `podfit ${nameOf(pod)}`,
    async *read(query: DebugQuery, signal: AbortSignal) {
      const request = new Request(`${server.origin}${path}${toSearch(query)}`, { signal });
      const response = await orUnreachable(server.transport(request), signal);
      if (response.ok && response.body !== null) return yield* readLines(response.body);
      throw toError(response, await readText(response, { limitBytes: LONGEST, signal }).catch(() => ""), pod);
    },
  };
}

const LONGEST = 16_384;

/** The API server's own refusals are Statuses; what podfit says comes as it is. */
function toError(response: Response, text: string, pod: PodfitPod): DebugError {
  const { status } = response;
  const says = text.trim().split("\n")[0] ?? "";
  const what = `Cannot ask podfit "${nameOf(pod)}"`;
  const isOwn = !/"kind":\s*"Status"/.test(text);
  if (!isOwn && status === 403) {
    return new DebugError("NoRight", `${what}: ${toApiError(response, toJson(text)).message}; ${RIGHT}`);
  }
  if (isOwn && (status === 401 || status === 403)) {
    const why = "it wants the token of a reader (--metrics-auth), which the API server does not pass on";
    return new DebugError("NeedsToken", `${what}: ${why}; kubectl port-forward it, and give --url and --token-file`);
  }
  if (status === 404 && NOTHING_KNOWN.test(says)) return new DebugError("NothingKnown", says);
  const reached = "is its --debug-listen on 0.0.0.0, and does a network policy let the API server in?";
  if (status >= 500) {
    return new DebugError("Unreachable", `${what}: ${toApiError(response, toJson(text)).message}; ${reached}`);
  }
  return new DebugError("BadAnswer", `${what}: it answered ${status} ${says}`.trim());
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
