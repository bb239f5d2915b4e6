/**
 * Which pods of a cluster run podfit, and which of them owns the pod that the user asks about?
 *
 * The labels, flags and variables of the chart say so. Anyone who creates pods can write these. So a podfit for other
 * pods counts only in podfit's namespace, and a sidecar counts for its own pod only. Records are then fetched
 * through `pods/proxy` of the API server, or directly from the address of `--url`.
 */
import { POD_UID_HEADER } from "../../daemon/server/records_access.ts";
import { readErrorText } from "../../kube/body.ts";
import { createClient } from "../../kube/client.ts";
import { toApiError } from "../../kube/errors.ts";
import type { ApiServer } from "../../kube/transport.ts";
import type { RecordLine } from "../../record/record.ts";
import { isRecord } from "../../units/untrusted.ts";
import { describeFileError, EXIT, listenForSignals, StartError, toStartError } from "../command/process.ts";
import type { AccessOptions } from "./access_options.ts";
import { connectTo, RIGHT_ADVICE } from "./api_server.ts";
import {
  createDebugListener,
  DebugError,
  type DebugListener,
  type DebugQuery,
  NOTHING_KNOWN,
  toSearch,
} from "./records.ts";

/** Resolves to exit code 0: answered, or ended by a signal. Rejects with a StartError where there is no answer. */
export async function withAccess(
  options: AccessOptions,
  work: (access: Access, signal: AbortSignal) => Promise<void>,
): Promise<number> {
  using ending = listenForSignals();
  const { signal } = ending;
  try {
    await using access = await openAccess(options, signal);
    await work(access, signal);
    return EXIT.ok;
  } catch (error) {
    if (signal.aborted) return EXIT.ok;
    throw error;
  }
}

/** An open connection. Disposal closes it. */
export interface Access extends AsyncDisposable {
  /** `null` where a podfit's address is given. */
  readonly server: ApiServer | null;
  /** Namespace of the subject: that of -n, or of the context. */
  readonly namespace: string;
  /** Throws a DebugError. */
  readonly open: (
    wanted: Omit<PodfitQuery, "podfitNamespace">,
    signal: AbortSignal,
  ) => Promise<readonly DebugListener[]>;
}

/** Rejects with a StartError where a file or the configuration cannot be used. */
async function openAccess(options: AccessOptions, signal: AbortSignal): Promise<Access> {
  const { url, tokenFile, podfitNamespace, namespace } = options;
  if (url !== null) {
    const source = openUrl({ url, token: tokenFile === null ? null : await readToken(tokenFile) });
    return {
      server: null,
      namespace: namespace ?? "default",
      open: () => Promise.resolve([source]),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
  }
  const server = await connectTo(options.server, signal);
  return {
    server,
    namespace: namespace ?? server.namespace,
    open: (wanted, until) => openPodfits(server, { ...wanted, podfitNamespace }, until),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

async function readToken(path: string): Promise<string> {
  try {
    return (await Deno.readTextFile(path)).trim();
  } catch (error) {
    throw new StartError(`Cannot read --token-file "${path}": ${describeFileError(error)}`, { cause: error });
  }
}

/** The subject whose podfit is searched. */
export interface PodfitQuery {
  /** `null` = of all namespaces. */
  readonly namespace: string | null;
  /** `null` = of all pods, or of a workload. */
  readonly pod: string | null;
  /** The pod may be gone, and a podfit may still have its records. */
  readonly mayBeGone?: boolean;
  /** Where podfits for other pods than their own run. */
  readonly podfitNamespace: string;
}

export type Server = Pick<ApiServer, "origin" | "transport">;

/** Returns the podfits that may have a record of it, the likeliest first; at least one. Throws a DebugError. */
export async function openPodfits(
  server: Server,
  wanted: PodfitQuery,
  signal: AbortSignal,
): Promise<readonly DebugListener[]> {
  const pod = wanted.pod === null
    ? null
    : await fetchOne(server, toPath`/api/v1/namespaces/${wanted.namespace ?? ""}/pods/${wanted.pod}`, signal);
  if (wanted.pod !== null && pod === null && wanted.mayBeGone !== true) {
    throw new DebugError(
      "NoPod",
      `Cannot find pod "${wanted.pod}" in namespace "${wanted.namespace}": there is none`,
    );
  }
  const { owners, failure } = await findOwners(server, { ...wanted, object: pod }, signal);
  const listening = owners.filter(({ debugPort }) => debugPort !== null);
  const [first] = owners;
  if (first === undefined) throw failure ?? new DebugError("NoPodfit", describeNoPodfit(wanted));
  if (listening.length === 0) {
    const how = "set debug.enabled of its chart, or --debug-listen 0.0.0.0:8081";
    throw new DebugError(
      "NoListener",
      `Cannot ask podfit "${formatPodName(first)}": it has no --debug-listen; ${how}`,
    );
  }
  const failed = failure === null ? [] : [createDebugListener("sidecars", () => Promise.reject(failure))];
  return [...listening.map((one) => openProxy(server, one)), ...failed];
}

/** Returns a path with encoded segments: none of them can lead to another resource. Throws a DebugError for dots. */
export function toPath(texts: TemplateStringsArray, ...segments: readonly string[]): string {
  const dots = segments.find((segment) => segment === "." || segment === "..");
  if (dots !== undefined) throw new DebugError("BadAnswer", `Cannot look for podfit: "${dots}" is not a name`);
  return String.raw({ raw: texts }, ...segments.map(encodeURIComponent));
}

function describeNoPodfit({ podfitNamespace }: PodfitQuery): string {
  return `Cannot find a podfit in namespace "${podfitNamespace}" that owns it: no ready pod has a label ${
    selectModes(OUTSIDE_MODES)
  }; name its namespace with --podfit-namespace, or its address with --url`;
}

interface PodfitSearch extends PodfitQuery {
  readonly object: unknown;
}

interface FoundPodfits {
  readonly owners: readonly PodfitPod[];
  /** Why no sidecars are among them, where they could not be listed. */
  readonly failure: DebugError | null;
}

async function findOwners(
  server: Server,
  { object, pod, namespace, podfitNamespace }: PodfitSearch,
  signal: AbortSignal,
): Promise<FoundPodfits> {
  const own = parsePodfit(object);
  if (own?.mode === "sidecar") return { owners: [own], failure: null };
  const [outside, accounts, sidecars] = await Promise.all([
    listPodfits(server, { namespace: podfitNamespace, modes: OUTSIDE_MODES }, signal),
    fetchAccounts(server, podfitNamespace, signal),
    pod === null ? listPodfits(server, { namespace, modes: ["sidecar"] }, signal).catch(orFailure) : [],
  ]);
  const all = accounts.length === 0 ? outside : outside.filter(({ account }) => accounts.includes(account));
  const releases = Map.groupBy(all.filter(({ mode }) => mode === "central"), toRelease);
  const leaders = await Promise.all([...releases.values()].map((pods) => findLeaders(server, pods, signal)));
  const node = getField(object, "spec", "nodeName");
  const agents = all.filter((one) => one.mode === "node-local" && (object === null || one.node === node));
  const owners = [...leaders.flat(), ...agents];
  return sidecars instanceof DebugError
    ? { owners, failure: sidecars }
    : { owners: [...owners, ...sidecars], failure: null };
}

function orFailure(error: unknown): DebugError {
  if (error instanceof DebugError) return error;
  throw error;
}

/** The labels of the chart's ClusterRoleBindings, whatever the release is called. */
const BINDING_LABELS = "app.kubernetes.io/component in (controller,agent)";

/**
 * Returns the service accounts of the namespace that the chart's ClusterRoleBindings name. Only an administrator writes
 * these. Empty where they may not be read, or where podfit was installed in another way.
 */
async function fetchAccounts(server: Server, namespace: string, signal: AbortSignal): Promise<readonly string[]> {
  const query = new URLSearchParams({ labelSelector: BINDING_LABELS });
  const path = `/apis/rbac.authorization.k8s.io/v1/clusterrolebindings?${query}`;
  const list = await fetchOne(server, path, signal).catch(orFailure);
  return toList(getField(list, "items")).flatMap((binding) => toList(getField(binding, "subjects")))
    .filter((one) => getField(one, "kind") === "ServiceAccount" && getField(one, "namespace") === namespace)
    .flatMap((one) => toText(getField(one, "name")) ?? []);
}

/** Each of several installs has its own Lease, or one pod. */
function toRelease({ namespace, name, lease }: PodfitPod): string {
  return lease === null ? `pod ${namespace}/${name}` : `lease ${lease.namespace}/${lease.name}`;
}

/** They act on other pods than their own. */
const OUTSIDE_MODES: readonly PodfitMode[] = ["central", "node-local"];

async function listPodfits(
  server: Server,
  { namespace, modes }: { readonly namespace: string | null; readonly modes: readonly PodfitMode[] },
  signal: AbortSignal,
): Promise<readonly PodfitPod[]> {
  const scope = namespace === null ? "" : toPath`/namespaces/${namespace}`;
  const query = new URLSearchParams({ labelSelector: selectModes(modes) });
  const list = await fetchOne(server, `/api/v1${scope}/pods?${query}`, signal);
  return toList(getField(list, "items")).flatMap((one) => parsePodfit(one) ?? [])
    .filter(({ isReady, mode }) => isReady && modes.includes(mode));
}

/** Resolves to the holder of the Lease alone, or to all pods where the Lease may not be read or names none of them. */
async function findLeaders(
  server: Server,
  pods: readonly PodfitPod[],
  signal: AbortSignal,
): Promise<readonly PodfitPod[]> {
  const lease = pods[0]?.lease ?? null;
  if (pods.length <= 1 || lease === null) return pods;
  const path = toPath`/apis/coordination.k8s.io/v1/namespaces/${lease.namespace}/leases/${lease.name}`;
  const found = await fetchOne(server, path, signal).catch(orFailure);
  const holder = found instanceof DebugError ? undefined : getField(found, "spec", "holderIdentity");
  const leader = pods.find((one) => typeof holder === "string" && holder.startsWith(`${one.name}_`));
  return leader === undefined ? pods : [leader];
}

function openProxy(server: Server, pod: PodfitPod): DebugListener {
  const { namespace, name, debugPort, isTls } = pod;
  const scheme = isTls ? "https:" : "";
  const path =
    `${toPath`/api/v1/namespaces/${namespace}/pods/`}${scheme}${toPath`${name}`}:${debugPort}/proxy/debug/records`;
  return createDebugListener(`podfit "${formatPodName(pod)}"`, async (query, signal) => {
    const url = `${server.origin}${path}${toSearch(narrowQuery(query, pod))}`;
    const request = new Request(url, { headers: { [POD_UID_HEADER]: pod.uid }, signal });
    const response = await orApiServerUnreachable(server.transport(request), signal);
    if (response.ok) return response;
    const text = await readErrorText(response, signal);
    throw /"kind":\s*"Status"/.test(text) ? toApiServerError(response, text, pod) : toProxyError(response, text, pod);
  }, (line) => isLineOf(line, pod));
}

/** A sidecar is asked about its own pod only. Throws a DebugError for another subject. */
function narrowQuery(query: DebugQuery, { mode, namespace, name }: PodfitPod): DebugQuery {
  if (mode !== "sidecar") return query;
  const isOther = query.scaledObject !== undefined || (query.pod ?? name) !== name ||
    (query.namespace ?? namespace) !== namespace;
  if (!isOther) return { ...query, namespace, pod: name };
  throw new DebugError("NothingKnown", `Nothing is known of it to the sidecar of pod "${namespace}/${name}"`);
}

/** What a podfit of that mode can have evaluated. */
function isLineOf(line: RecordLine, { mode, namespace, name, node }: PodfitPod): boolean {
  if (mode === "central") return true;
  if (line.kind !== "pod") return false;
  return mode === "sidecar"
    ? line.namespace === namespace && line.name === name
    : line.record.input.pod.nodeName === node;
}

/** The beginning of the listener's 403 for a client that does not come through the API server, or is of another version. */
const OUTSIDER = /^Forbidden: (records are|the request comes from pod)/;

/** The message of podfit is printed unchanged. */
function toProxyError({ status }: Response, text: string, pod: PodfitPod): DebugError {
  const says = text.trim().split("\n")[0] ?? "";
  const what = `Cannot ask podfit "${formatPodName(pod)}"`;
  if (status === 404 && NOTHING_KNOWN.test(says)) return new DebugError("NothingKnown", says);
  if (status === 403 && OUTSIDER.test(says)) return new DebugError("NoRight", `${what}: ${says}`);
  if (status === 401 || status === 403) {
    const why = "it requires the token of a reader (--metrics-auth), which the API server does not pass on";
    const { namespace, name, debugPort, isTls } = pod;
    const how = `kubectl -n ${namespace} port-forward pod/${name} ${debugPort}, and here --url ${
      isTls ? "https" : "http"
    }://127.0.0.1:${debugPort} --token-file FILE`;
    return new DebugError("NeedsToken", `${what}: ${why}; use ${how}`);
  }
  return new DebugError(status >= 500 ? "Unreachable" : "BadAnswer", `${what}: it answered ${status} ${says}`.trim());
}

/** Errors of the API server itself are Status objects. */
function toApiServerError(response: Response, text: string, pod: PodfitPod): DebugError {
  const { message, code } = toApiError(response, toJson(text));
  const what = `Cannot ask podfit "${formatPodName(pod)}": ${message}`;
  if (code === 403) return new DebugError("NoRight", `${what}; ${PROXY_ADVICE}`);
  if (code === 404) return new DebugError("Unreachable", what);
  if (code < 500) return new DebugError("BadAnswer", what);
  const reached = "is its --debug-listen on 0.0.0.0, and does a network policy let the API server in?";
  return new DebugError("Unreachable", `${what}; ${reached}`);
}

const PROXY_ADVICE =
  'it takes the right to "get" on "pods/proxy" in podfit\'s namespace, or with --metrics-auth kubectl port-forward, --url ' +
  "and --token-file";

/** Resolves to an object or a list; `null` = there is none. Rejects with a DebugError. */
export async function fetchOne(server: Server, path: string, signal: AbortSignal): Promise<unknown> {
  const { data, error, response } = await orApiServerUnreachable(
    createClient(server).untyped({ method: "GET", path, signal }),
    signal,
  );
  if (response.ok) return data;
  if (response.status === 404) return null;
  const { message, code } = toApiError(response, error);
  const advice = code !== 403
    ? ""
    : path.startsWith("/api/v1/pods")
    ? "; sidecars are missing: grant list of pods, or name one namespace with -n"
    : RIGHT_ADVICE;
  throw new DebugError(code === 403 ? "NoRight" : "BadAnswer", `Cannot look for podfit: ${message}${advice}`);
}

/** The transport's errors name the server, and why it cannot be reached. */
async function orApiServerUnreachable<T>(asked: Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return await asked;
  } catch (cause) {
    signal.throwIfAborted();
    throw new DebugError("Unreachable", toStartError(cause).message, { cause });
  }
}

function formatPodName({ namespace, name }: PodfitPod): string {
  return `${namespace}/${name}`;
}

function toJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

interface UrlOptions {
  /** Without a slash at its end. */
  readonly url: string;
  /** For a listener with --metrics-auth; `null` = none is sent. */
  readonly token: string | null;
}

export function openUrl({ url, token }: UrlOptions): DebugListener {
  const headers = token === null ? {} : { authorization: `Bearer ${token}` };
  return createDebugListener(url, async (query, signal) => {
    const response = await orUrlUnreachable(
      fetch(`${url}/debug/records${toSearch(query)}`, { headers, signal, redirect: "error" }),
      { url, signal },
    );
    if (response.ok) return response;
    throw toUrlError(response, await readErrorText(response, signal), url);
  });
}

async function orUrlUnreachable(
  asked: Promise<Response>,
  { url, signal }: { readonly url: string; readonly signal: AbortSignal },
): Promise<Response> {
  try {
    return await asked;
  } catch (cause) {
    signal.throwIfAborted();
    const why = toStartError(cause).message;
    throw new DebugError("Unreachable", `Cannot reach podfit at "${url}": ${why}; is it --debug-listen's address?`, {
      cause,
    });
  }
}

function toUrlError({ status }: Response, text: string, base: string): DebugError {
  const says = text.trim().split("\n")[0] ?? "";
  if (status === 404 && NOTHING_KNOWN.test(says)) return new DebugError("NothingKnown", says);
  if (status === 404) {
    const why = "it has no /debug/records there; name the address of --debug-listen, not that of --listen";
    return new DebugError("NoListener", `Cannot read records of "${base}": ${why}`);
  }
  if (status === 403 && OUTSIDER.test(says)) {
    return new DebugError("NoRight", `Cannot read records of "${base}": ${says}`);
  }
  if (status === 401 || status === 403) {
    const why = `it requires the token of a reader (--metrics-auth), and answered ${status}`;
    return new DebugError("NeedsToken", `Cannot read records of "${base}": ${why}; give --token-file`);
  }
  return new DebugError("BadAnswer", `Cannot read records of "${base}": it answered ${status} ${says}`.trim());
}

/** The chart's modes: one Deployment, one podfit on each node, one in each pod. */
const MODES = ["central", "node-local", "sidecar"] as const;

type PodfitMode = typeof MODES[number];

/** A pod that podfit runs in. */
interface PodfitPod {
  readonly namespace: string;
  readonly name: string;
  readonly mode: PodfitMode;
  readonly node: string | null;
  /** Sent to its listener, as a proof that the reader may read pods there. */
  readonly uid: string;
  /** The name of its service account. */
  readonly account: string;
  readonly isReady: boolean;
  /** The port of --debug-listen; `null` = it has none. */
  readonly debugPort: number | null;
  readonly isTls: boolean;
  /** The name of the leader; `null` without an election. */
  readonly lease: { readonly namespace: string; readonly name: string } | null;
}

/** Labels and flags that the chart gives its pods under any release name, and users give pods with a sidecar. */
const LABEL = "podfit.dev/mode";

/** Returns the pods of podfits in these modes. */
function selectModes(modes: readonly PodfitMode[]): string {
  return `${LABEL} in (${modes.join(",")})`;
}

/** `null` for a pod that is not podfit's, or that is terminating. */
export function parsePodfit(pod: unknown): PodfitPod | null {
  const { name, namespace, uid, labels, deletionTimestamp } = toRecord(getField(pod, "metadata"));
  if (typeof name !== "string" || typeof namespace !== "string" || deletionTimestamp !== undefined) return null;
  const mode = parseMode(labels);
  const container = listContainers(pod).find((one) => getField(one, "name") === "podfit") ?? listContainers(pod)[0];
  if (mode === null || container === undefined) return null;
  const flags = listFlags(container);
  const leads = mode === "central" && flags.get("leader-elect") !== "false";
  return {
    namespace,
    name,
    uid: toText(uid) ?? "",
    mode,
    node: toText(getField(pod, "spec", "nodeName")),
    account: toText(getField(pod, "spec", "serviceAccountName")) ?? "default",
    isReady: isReady(pod),
    debugPort: parsePort(flags.get("debug-listen")),
    isTls: flags.has("tls-cert-file"),
    lease: leads
      ? {
        namespace: flags.get("leader-elect-resource-namespace") ?? namespace,
        name: flags.get("leader-elect-resource-name") ?? "podfit",
      }
      : null,
  };
}

function parseMode(labels: unknown): PodfitMode | null {
  return MODES.find((mode) => mode === toRecord(labels)[LABEL]) ?? null;
}

/** Native sidecars are init containers. */
function listContainers(pod: unknown): readonly unknown[] {
  return [getField(pod, "spec", "containers"), getField(pod, "spec", "initContainers")].flatMap((list) =>
    Array.isArray(list) ? list : []
  );
}

/** Flags by name without dashes, and variables `PODFIT_...` where no flag is given. */
function listFlags(container: unknown): ReadonlyMap<string, string> {
  const flags = new Map<string, string>();
  for (const one of toList(getField(container, "env"))) {
    const [name, value] = [toText(getField(one, "name")), toText(getField(one, "value"))];
    const known = /^PODFIT_([A-Z_]+)$/.exec(name ?? "")?.[1];
    if (known !== undefined && value !== null) flags.set(known.toLowerCase().replaceAll("_", "-"), value);
  }
  const args = [...toList(getField(container, "command")), ...toList(getField(container, "args"))].map(String);
  for (const [at, arg] of args.entries()) {
    const [, name = "", value] = /^--([a-z-]+)(?:=(.*))?$/s.exec(arg) ?? [];
    const next = args[at + 1];
    if (name !== "") flags.set(name, value ?? (next === undefined || next.startsWith("-") ? "true" : next));
  }
  return flags;
}

function parsePort(listen: string | undefined): number | null {
  const port = Number(/(\d+)$/.exec(listen ?? "")?.[1] ?? NaN);
  return Number.isInteger(port) && port > 0 && port < 65_536 ? port : null;
}

function isReady(pod: unknown): boolean {
  return toList(getField(pod, "status", "conditions")).some((one) =>
    getField(one, "type") === "Ready" && getField(one, "status") === "True"
  );
}

/** Returns a field of a value of any shape. */
export function getField(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce((at: unknown, key) => isRecord(at) && Object.hasOwn(at, key) ? at[key] : undefined, value);
}

function toRecord(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}

function toList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function toText(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
