/**
 * Fetches `/stats/summary` of a node: from its kubelet, or through the API server's proxy. A failure is a value whose
 * message says what is missing and what to do. The proxy needs `nodes/proxy`, which also lets its holder run commands
 * in any container of the node, so it is the second choice: https://kubernetes.io/docs/reference/access-authn-authz/kubelet-authn-authz/
 */
import type { FailureReason } from "../api/usage.ts";
import { BufferPool } from "../runtime/buffer_pool.ts";
import type { Clock } from "../runtime/clock.ts";
import { abortable } from "@std/async/abortable";
import { BodyTooLarge, discard, readErrorText, readText } from "../kube/body.ts";
import { toHeader } from "../kube/config/credential.ts";
import { oneLine, readMessage } from "../kube/network_error.ts";
import { KubeletClient } from "./kubelet_client.ts";
import { MAX_SUMMARY_BYTES } from "./parse_summary.ts";
import type { ApiServer } from "../kube/transport.ts";
import type { Address } from "./watch_usage.ts";

/** A node and where its kubelet answers. */
export interface NodeAddress extends Address {
  readonly name: string;
}

/** The text of a summary, or why there is none. */
export type SummaryAnswer =
  /** `clockOffsetMs`: node's clock minus ours by the Date header, whole seconds; 0 below two. */
  | { readonly kind: "summary"; readonly text: string; readonly clockOffsetMs: number }
  | { readonly kind: "failed"; readonly reason: FailureReason; readonly message: string };

/** Throws nothing but the reason of an abort that isn't a timeout. */
export type FetchSummary = (node: NodeAddress, signal: AbortSignal) => Promise<SummaryAnswer>;

/** A way to summaries; disposal closes its connections. */
export interface SummarySource extends Disposable {
  readonly fetchSummary: FetchSummary;
}

/** What both sources need: the clock to compare the node's with, and how long a summary may be. */
export interface SourceOptions {
  readonly clock: Pick<Clock, "now">;
  readonly limitBytes?: number;
}

/** How kubelets are dialed. */
export interface DirectOptions extends SourceOptions {
  /** PEM; `null` for the cluster's of the moment. They alone are trusted. */
  readonly caCerts?: readonly string[] | null;
  /** Accept any certificate. The bearer token then goes to whoever answers at the node's address. */
  readonly insecureTls?: boolean;
  /** How a request reaches a kubelet; HTTPS by default. */
  readonly client?: Pick<KubeletClient, "send"> & Disposable;
}

/** Needs `get` on `nodes/stats`. Sends the credential of the API server. */
export function openDirectSource(server: ApiServer, options: DirectOptions): SummarySource {
  const { caCerts = null, insecureTls = false } = options;
  const client = options.client ?? new KubeletClient({ readCaCerts: () => caCerts ?? server.caCerts, insecureTls });
  const buffers = new BufferPool();
  const signedBy = caCerts === null ? "the cluster's CA" : "the CA of --kubelet-ca";
  async function fetchSummary(node: NodeAddress, signal: AbortSignal): Promise<SummaryAnswer> {
    const { host, port } = node;
    const call = { ...options, buffers, node, where: "at its kubelet", signal, signedBy, right: "nodes/stats" };
    if (host === null) return fail(call, { reason: "unlisted", why: UNLISTED });
    if (host === "") return fail(call, { reason: "unreachable", why: "the node's status has no address" });
    const origin = `https://${host.includes(":") ? `[${host}]` : host}:${port}`;
    // The address comes from the node's own status, and the token is sent there.
    if (!HOST.test(host) || !URL.canParse(origin)) {
      return fail(call, { reason: "unreachable", why: `"${oneLine(host)}" is no address` });
    }
    return await fetchAt(origin, { ...call, where: `at ${origin}` });
  }

  async function fetchAt(origin: string, call: Call): Promise<SummaryAnswer> {
    const { signal } = call;
    let authorization: string | null;
    try {
      const token = await abortable(server.readToken(), signal);
      authorization = token === null ? null : toHeader({ kind: "bearer", token });
    } catch (error) {
      if (signal.aborted) return toAborted(call);
      return fail(call, { reason: "unauthorized", why: readMessage(error) });
    }
    const headers = authorization === null ? ACCEPT : { ...ACCEPT, authorization };
    const { clientCertificate: certificate } = server;
    return await answer(() => client.send(`${origin}${PATH}`, { headers, signal, certificate }), call);
  }
  return { fetchSummary, [Symbol.dispose]: () => client[Symbol.dispose]() };
}

/** Needs `get` on `nodes/proxy`. Works where nodes can't be dialed. */
export function createProxySource(server: ApiServer, options: SourceOptions): SummarySource {
  const { origin, transport } = server;
  const buffers = new BufferPool();
  function fetchSummary(node: NodeAddress, signal: AbortSignal): Promise<SummaryAnswer> {
    const call = {
      ...options,
      buffers,
      node,
      where: "through the API server",
      signal,
      signedBy: null,
      right: "nodes/proxy",
    };
    const url = `${origin}/api/v1/nodes/${encodeURIComponent(node.name)}/proxy${PATH}`;
    return answer(() => transport(new Request(url, { headers: ACCEPT, signal })), call);
  }
  return { fetchSummary, [Symbol.dispose]() {} };
}

const PATH = "/stats/summary?only_cpu_and_memory=true";
const ACCEPT = { accept: "application/json" };
const UNLISTED = "the node is not known: it is not listed yet, or podfit may not list nodes";
const HOST = /^[\w.:-]+$/;

interface Call extends SourceOptions {
  readonly buffers: BufferPool;
  readonly node: NodeAddress;
  readonly where: string;
  readonly signal: AbortSignal;
  /** `null` where the kubelet's certificate isn't ours to check. */
  readonly signedBy: string | null;
  /** What a 403 asks for. */
  readonly right: string;
}

async function answer(send: () => Promise<Response>, call: Call): Promise<SummaryAnswer> {
  const { buffers, signal, limitBytes = MAX_SUMMARY_BYTES, clock } = call;
  try {
    const response = await send();
    const clockOffsetMs = readClockOffset(response, clock.now());
    if (response.status !== 200) return await toRefusal(response, call);
    return { kind: "summary", text: await readText(response, { limitBytes, signal, buffers }), clockOffsetMs };
  } catch (error) {
    if (error instanceof BodyTooLarge) {
      return fail(call, { reason: "too_large", why: `the answer has ${error.message}` });
    }
    return signal.aborted ? toAborted(call) : toFailure(error, call);
  }
}

function toAborted(call: Call): SummaryAnswer {
  const { reason } = call.signal;
  if (!(reason instanceof DOMException) || reason.name !== "TimeoutError") throw reason;
  return fail(call, { reason: "timeout", why: reason.message.toLowerCase() });
}

/** Whole seconds, truncated by the node: nearer than two seconds is taken for the same. */
function readClockOffset(response: Response, now: number): number {
  const offsetMs = Date.parse(response.headers.get("date") ?? "") - now;
  return Math.abs(offsetMs) >= 2000 ? Math.round(offsetMs / 1000) * 1000 : 0;
}

async function toRefusal(response: Response, call: Call): Promise<SummaryAnswer> {
  const { status } = response;
  const text = oneLine(toMessage(await readErrorText(response, call.signal)));
  await discard(response);
  const said = `${status} ${text || response.statusText}`.trim();
  if (status === 401) {
    const why = call.signedBy === null
      ? `${said}; check podfit's credential`
      : `${said}; the kubelet doesn't know podfit's credential: turn on authentication.webhook in its configuration`;
    return fail(call, { reason: "unauthorized", why });
  }
  if (status === 403) {
    const why = `${said}; grant podfit the verb "get" on "${call.right}" in its ClusterRole`;
    return fail(call, { reason: "forbidden", why });
  }
  return fail(call, { reason: "http", why: said });
}

/** The API server answers with a Status, a kubelet with text. */
function toMessage(text: string): string {
  try {
    const { message } = JSON.parse(text);
    return typeof message === "string" ? message : text;
  } catch {
    return text;
  }
}

function toFailure(error: unknown, call: Call): SummaryAnswer {
  const words = readMessage(error);
  if (call.signedBy === null || !/certificate|handshake|corrupt message|fatal alert/i.test(words)) {
    return fail(call, { reason: "unreachable", why: words });
  }
  const { node, signedBy } = call;
  const whose = `the kubelet of node "${node.name}" serves a certificate`;
  const hint = /UnknownIssuer|BadSignature|CaUsedAsEndEntity|UnsupportedCertVersion/.test(words)
    ? `${whose} not signed by ${signedBy}: give its CA with --kubelet-ca, or accept any with --kubelet-insecure-tls`
    : /valid for name|NotValidForName/.test(words)
    ? `${whose} that is not for "${node.host}": renew it with this address (serverTLSBootstrap), or accept any with ` +
      "--kubelet-insecure-tls"
    : "is this the kubelet's port, and does it admit podfit's client certificate";
  return fail(call, { reason: "tls", why: `${hint} (${words})` });
}

function fail(
  { node, where }: Call,
  { reason, why }: { readonly reason: FailureReason; readonly why: string },
): SummaryAnswer {
  return { kind: "failed", reason, message: `Cannot read usage of node "${node.name}" ${where}: ${why}` };
}
