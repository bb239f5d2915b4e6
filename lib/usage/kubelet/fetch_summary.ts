/**
 * How is `/stats/summary` of a node fetched? From its kubelet, or through the proxy of the API server.
 *
 * A failure is a value. Its message says what is missing and what to do.
 *
 * https://kubernetes.io/docs/reference/access-authn-authz/kubelet-authn-authz/
 */
import type { FailureReason } from "../../api/usage.ts";
import { BodyTooLarge, discard, readBytes, readErrorText } from "../../kube/body.ts";
import type { GetCaCerts } from "../../kube/config/certificates.ts";
import { type ClientCertificate, type Credential, type GetCredential, toHeader } from "../../kube/config/credential.ts";
import { getErrorMessage, oneLine } from "../../kube/errors.ts";
import { type ApiServer, sendWithCredential } from "../../kube/transport.ts";
import { BufferPool } from "../../runtime/buffers.ts";
import type { Clock } from "../../runtime/clock.ts";
import { getComputeQueue, type RunQueued } from "../../runtime/event_loop.ts";
import { Semaphore } from "../../runtime/limits.ts";
import { abortable } from "../../runtime/tasks.ts";
import { isDeepEqual } from "../../units/equality.ts";
import type { KubeletAddress, StatusAddress } from "../source.ts";
import { type AddressType, type KubeletAnswer, KubeletClient, type KubeletOrigin, toKubeletOrigin } from "./client.ts";

/** How kubelets are dialed. */
export interface DirectSourceOptions extends SourceOptions {
  /** Resolves to the current CA certificates; only they are trusted. `null` = the cluster's. */
  readonly getCaCerts?: GetCaCerts | null;
  /** Accept any certificate. Then the server at the node's address gets the bearer token, whatever it is. */
  readonly insecureTls?: boolean;
  /** The credential that kubelets get; that of the API server by default. */
  readonly getCredential?: GetCredential;
  /** The types of addresses to dial, the first that a node has; InternalIP by default. */
  readonly addressTypes?: readonly AddressType[];
  /** How a request reaches a kubelet; HTTPS by default. */
  readonly client?: Pick<KubeletClient, "send"> & Disposable;
}

/** Needs `get` on `nodes/stats`. */
export function openDirectSource(server: ApiServer, options: DirectSourceOptions): SummarySource {
  const { getCaCerts = null, insecureTls = false, addressTypes: types = ["InternalIP"] } = options;
  let given: readonly string[] | null = null;
  let login: Login | null = null;
  const origins = new WeakMap<readonly StatusAddress[], { readonly port: number; readonly dialed: KubeletOrigin }>();
  const { clock } = options;
  const client = options.client ?? new KubeletClient({ getCaCerts: () => given ?? server.caCerts, insecureTls, clock });
  const common = {
    ...toCommon(options),
    signedBy: getCaCerts === null ? "the cluster's CA" : "the CA of --kubelet-ca",
    right: "nodes/stats",
  };
  const readCredential = limitRereads(options.getCredential ?? server.getCredential, options.clock);
  // A pod does not run as the node. Outside of the cluster podfit may run on the machine of one: a developer's, or an
  // embedded cluster's.
  const rules = { types, allowsLoopback: server.source !== "in-cluster" };
  async function fetchSummary(node: NodeAddress, signal: AbortSignal): Promise<SummaryAnswer> {
    const where = "at its kubelet";
    if (node.addresses === null) return toFailed({ node, where }, { reason: "unlisted", why: UNLISTED });
    const dialed = findOrigin(node, node.addresses);
    if (dialed.kind === "refused") return toFailed({ node, where }, { reason: "unreachable", why: dialed.why });
    const { origin, host } = dialed;
    const call = { ...common, node, where: `at ${origin}`, host, signal };
    return await fetchAnswer(
      () => sendWithCredential((rejected) => read(rejected, signal), (credential) => send(origin, credential, signal)),
      call,
    );
  }

  /** A node's address seldom changes, and its text is checked with care. */
  function findOrigin({ port }: NodeAddress, addresses: readonly StatusAddress[]): KubeletOrigin {
    const known = origins.get(addresses);
    if (known?.port === port) return known.dialed;
    const dialed = toKubeletOrigin({ addresses, port, maxPods: null }, rules);
    origins.set(addresses, { port, dialed });
    return dialed;
  }

  async function read(rejected: Credential | null, signal: AbortSignal): Promise<Credential> {
    if (rejected === null && login !== null && clock.monotonic() < login.untilMs) return login.credential;
    try {
      return await abortable(readCredential(rejected), signal);
    } catch (cause) {
      throw new CredentialError(getErrorMessage(cause), { cause });
    }
  }

  async function send(origin: string, credential: Credential, signal: AbortSignal): Promise<KubeletAnswer> {
    if (credential !== login?.credential || clock.monotonic() >= login.untilMs) {
      given = await getCaCerts?.(null) ?? given;
      login = toLogin(credential, { before: login, untilMs: clock.monotonic() + LOGIN_MS });
    }
    const { headers, certificate } = login;
    return await client.send(`${origin}${SUMMARY_PATH}`, { headers, signal, certificate });
  }
  return { fetchSummary, [Symbol.dispose]: () => client[Symbol.dispose]() };
}

/** Needs `get` on `nodes/proxy`. Works if nodes cannot be dialed. */
export function createProxySource(server: ApiServer, options: SourceOptions): SummarySource {
  const { origin, transport } = server;
  const common = { ...toCommon(options), host: null, signedBy: null, right: "nodes/proxy" };
  function fetchSummary(node: NodeAddress, signal: AbortSignal): Promise<SummaryAnswer> {
    const url = `${origin}/api/v1/nodes/${encodeURIComponent(node.name)}/proxy${SUMMARY_PATH}`;
    const send = () => transport(new Request(url, { headers: ACCEPT, signal }));
    return fetchAnswer(send, { ...common, node, where: "through the API server", signal });
  }
  return { fetchSummary, [Symbol.dispose]() {} };
}

/** A node and where its kubelet answers. */
export interface NodeAddress extends KubeletAddress {
  readonly name: string;
}

/** The bytes of a summary, or why there is none. */
export type SummaryAnswer =
  | {
    readonly kind: "summary";
    /** JSON in UTF-8, until they are released. */
    readonly bytes: Uint8Array;
    /** The node's clock minus podfit's steady time by the Date header, ms in whole seconds; 0 below two. */
    readonly clockOffsetMs: number;
    /** Returns the memory of `bytes` for the next answer. */
    readonly release?: () => void;
  }
  | { readonly kind: "failed"; readonly reason: FailureReason; readonly message: string };

/** Rejects only with the reason of an abort that is not a timeout. */
export type FetchSummary = (node: NodeAddress, signal: AbortSignal) => Promise<SummaryAnswer>;

/** A source of summaries; disposal closes its connections. */
export interface SummarySource extends Disposable {
  readonly fetchSummary: FetchSummary;
}

/** The options of both sources: the clock to compare the node's with, and the size limit of a summary. */
interface SourceOptions {
  readonly clock: Pick<Clock, "steady" | "monotonic" | "sleep" | "timeout">;
  /** The limit for the node's number of pods by default. */
  readonly limitBytes?: number;
}

const SUMMARY_PATH = "/stats/summary?only_cpu_and_memory=true";

const ACCEPT = { accept: "application/json" };

const UNLISTED = "the node is not known: it is not listed yet, or podfit may not list nodes";

function toCommon(options: SourceOptions): Pick<SummaryCall, "clock" | "limitBytes" | "buffers" | "compute" | "large"> {
  const { clock, limitBytes = null } = options;
  const large = new Semaphore(MAX_LARGE);
  return { clock, limitBytes, buffers: new BufferPool(), compute: getComputeQueue(clock), large };
}

/** What is sent with a credential. The polls of a second share it: to ask for it takes several promises. */
interface Login {
  readonly credential: Credential;
  readonly headers: Readonly<Record<string, string>>;
  readonly certificate: ClientCertificate | null;
  /** By the monotonic clock. */
  readonly untilMs: number;
}

const LOGIN_MS = 1_000;

/** The headers are the same object as long as the credential is equal. A password is sent to the API server only. */
function toLogin(
  credential: Credential,
  { before, untilMs }: { readonly before: Login | null; readonly untilMs: number },
): Login {
  if (before !== null && isDeepEqual(credential, before.credential)) return { ...before, credential, untilMs };
  const { authorization, clientCertificate: certificate } = credential;
  const bearer = authorization?.kind === "bearer" ? toHeader(authorization) : null;
  const headers = bearer === null ? ACCEPT : { ...ACCEPT, authorization: bearer };
  return { credential, headers, certificate, untilMs };
}

/** As often as a file's credential is read again anyway. */
const MIN_REREAD_MS = 60_000;

/**
 * A kubelet that refuses every credential must not cause a load for each poll: a load runs a program, or asks the API
 * server. Between two loads the current credential is used, which may be newer than the refused one.
 */
function limitRereads(readCredential: GetCredential, clock: Pick<Clock, "monotonic">): GetCredential {
  let rereadAtMs = -Infinity;
  let rereading: Promise<Credential> | null = null;
  return (rejected) => {
    if (rejected === null) return readCredential(null);
    if (rereading !== null) return rereading;
    if (clock.monotonic() - rereadAtMs < MIN_REREAD_MS) return readCredential(null);
    rereadAtMs = clock.monotonic();
    const reading = readCredential(rejected).finally(() => rereading = null);
    return rereading = reading;
  };
}

interface SummaryCall {
  readonly clock: Pick<Clock, "steady" | "timeout">;
  readonly buffers: BufferPool;
  /** Of all nodes, the large answers that are under way. */
  readonly large: Semaphore;
  /** The queue in which answers are read. */
  readonly compute: RunQueued;
  /** `null` = the limit by the node's number of pods. */
  readonly limitBytes: number | null;
  readonly node: NodeAddress;
  readonly where: string;
  /** The dialed host; `null` if it is not the kubelet's. */
  readonly host: string | null;
  readonly signal: AbortSignal;
  /** `null` if podfit does not check the kubelet's certificate. */
  readonly signedBy: string | null;
  /** What a 403 asks for. */
  readonly right: string;
}

/** There was no credential to send. */
class CredentialError extends Error {}

/** Sends the request and reads the answer. Rejects only with the reason of an abort that is not a timeout. */
async function fetchAnswer(send: () => Promise<KubeletAnswer>, call: SummaryCall): Promise<SummaryAnswer> {
  const { buffers, compute, signal, node, clock, large } = call;
  const limitBytes = call.limitBytes ?? toLimitBytes(node.maxPods);
  let overdue = null as AbortSignal | null;
  const turn = new DisposableStack();
  const admit = async () => {
    turn.use(await large.acquire(signal));
    overdue = turn.use(clock.timeout(LARGE_MS)).signal;
    return overdue;
  };
  try {
    const answer = await send();
    const clockOffsetMs = computeClockOffset(answer, clock.steady());
    // A group of nodes may have answered together.
    await compute(() => {});
    if (answer.status !== 200) return await toRefusal(answer, call);
    const buffer = await readBytes(answer, {
      limitBytes,
      signal,
      buffers,
      large: { aboveBytes: LARGE_BYTES, admit },
    });
    const release = () => {
      buffers.release(buffer);
      turn.dispose();
    };
    return { kind: "summary", bytes: buffer.bytes(), clockOffsetMs, release };
  } catch (error) {
    turn.dispose();
    if (overdue?.aborted === true) return toFailed(call, { reason: "timeout", why: SLOW });
    if (error instanceof BodyTooLarge) {
      return toFailed(call, { reason: "too_large", why: `the answer has ${error.message}` });
    }
    return signal.aborted ? toAborted(call) : toFailure(error, call);
  }
}

/** Returns a failure of this reason and message. */
function toFailed(
  { node, where }: Pick<SummaryCall, "node" | "where">,
  { reason, why }: { readonly reason: FailureReason; readonly why: string },
): SummaryAnswer {
  return { kind: "failed", reason, message: `Cannot read usage of node "${node.name}" ${where}: ${why}` };
}

/** A real summary has 3 to 4 kB for a pod of two containers, and some 15 kB for ten. */
const BYTES_PER_POD = 32 * 1024;

/** The default of a kubelet. */
const USUAL_PODS = 110;

/** A node reports its own maximum of pods, so the limit has bounds. */
const MIN_LIMIT_BYTES = 2 * 2 ** 20;

/** As for 256 pods. Even 500 pods of ten containers have less than that. */
const MAX_LIMIT_BYTES = 8 * 2 ** 20;

/** The summary of a node with 110 pods has 400 kB. */
const LARGE_BYTES = 512 * 1024;

/** Nodes that are broken or hostile may all answer at once, and podfit has 256 MiB: their bytes are bounded together. */
const MAX_LARGE = 2;

/** For the rest of a large answer: a node that sends slowly must not keep others from their turn. */
const LARGE_MS = 2_000;

const SLOW = `an answer of more than ${LARGE_BYTES / 1024} KiB must end within ${LARGE_MS / 1000} s of its turn`;

function toLimitBytes(maxPods: number | null): number {
  const bytes = (maxPods ?? USUAL_PODS) * BYTES_PER_POD;
  return Math.min(MAX_LIMIT_BYTES, Math.max(MIN_LIMIT_BYTES, bytes));
}

function toAborted(call: SummaryCall): SummaryAnswer {
  const { reason } = call.signal;
  if (!(reason instanceof DOMException) || reason.name !== "TimeoutError") throw reason;
  return toFailed(call, { reason: "timeout", why: reason.message.toLowerCase() });
}

/** Whole seconds, truncated by the node: less than two seconds counts as no difference. */
function computeClockOffset({ headers }: KubeletAnswer, now: number): number {
  const offsetMs = Date.parse(headers.get("date") ?? "") - now;
  return Math.abs(offsetMs) >= 2000 ? Math.round(offsetMs / 1000) * 1000 : 0;
}

async function toRefusal(answer: KubeletAnswer, call: SummaryCall): Promise<SummaryAnswer> {
  const { status, statusText } = answer;
  const text = oneLine(toMessage(await readErrorText(answer, call.signal)));
  await discard(answer);
  const said = `${status} ${text || oneLine(statusText)}`.trim();
  if (status === 401) {
    const why = call.signedBy === null
      ? `${said}; check podfit's credential`
      : `${said}; the kubelet doesn't know podfit's credential: turn on authentication.webhook in its configuration`;
    return toFailed(call, { reason: "unauthorized", why });
  }
  if (status === 403) {
    const why = `${said}; grant that user the verb "get" on "${call.right}" in its ClusterRole`;
    return toFailed(call, { reason: "forbidden", why });
  }
  return toFailed(call, { reason: "http", why: said });
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

function toFailure(error: unknown, call: SummaryCall): SummaryAnswer {
  const words = getErrorMessage(error);
  if (error instanceof CredentialError) return toFailed(call, { reason: "unauthorized", why: words });
  if (call.signedBy === null || !/certificate|handshake|corrupt message|fatal alert/i.test(words)) {
    return toFailed(call, { reason: "unreachable", why: words });
  }
  const { node, signedBy } = call;
  const whose = `the kubelet of node "${node.name}" serves a certificate`;
  const hint = /UnknownIssuer|BadSignature|CaUsedAsEndEntity|UnsupportedCertVersion/.test(words)
    ? `${whose} not signed by ${signedBy}: give its CA with --kubelet-ca, or accept any with --kubelet-insecure-tls`
    : /valid for name|NotValidForName/.test(words)
    ? `${whose} that is not for "${call.host}": renew it with this address (serverTLSBootstrap), or accept any with ` +
      "--kubelet-insecure-tls"
    : "is this the kubelet's port, and does it admit podfit's client certificate";
  return toFailed(call, { reason: "tls", why: `${hint} (${words})` });
}
