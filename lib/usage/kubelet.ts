/**
 * Fetches `/stats/summary` of a node: from its kubelet, or through the API server's proxy. A failure is a value whose
 * message says what is missing and what to do. The proxy needs `nodes/proxy`, which also lets its holder run commands
 * in any container of the node, so it is the second choice: https://kubernetes.io/docs/reference/access-authn-authz/kubelet-authn-authz/
 */
import { BufferPool } from "../runtime/buffer_pool.ts";
import type { Clock } from "../runtime/clock.ts";
import { computeOn } from "../runtime/compute.ts";
import { abortable } from "@std/async/abortable";
import type { ReadCaCerts } from "../kube/config/ca_certs.ts";
import { type Credential, type ReadCredential, toHeader } from "../kube/config/credential.ts";
import { readMessage } from "../kube/network_error.ts";
import { type AddressType, toKubeletOrigin } from "./kubelet_address.ts";
import { type KubeletAnswer, KubeletClient } from "./kubelet_client.ts";
import { ask, type Call, CredentialError, fail } from "./read_answer.ts";
import { sendWithCredential } from "../kube/send_with_credential.ts";
import type { ApiServer } from "../kube/transport.ts";
import type { NodeAddress, SummaryAnswer, SummarySource } from "./summary_source.ts";

/** What both sources need: the clock to compare the node's with, and how long a summary may be. */
export interface SourceOptions {
  readonly clock: Pick<Clock, "now" | "monotonic" | "sleep">;
  /** What a node of its number of pods may have, by default. */
  readonly limitBytes?: number;
}

/** How kubelets are dialed. */
export interface DirectOptions extends SourceOptions {
  /** Gives the CA certificates of the moment, which alone are trusted; `null` for the cluster's. */
  readonly readCaCerts?: ReadCaCerts | null;
  /** Accept any certificate. The bearer token then goes to whoever answers at the node's address. */
  readonly insecureTls?: boolean;
  /** The credential that kubelets get; that of the API server by default. */
  readonly readCredential?: ReadCredential;
  /** Which addresses of nodes are dialed, the first that a node has; InternalIP by default. */
  readonly addressTypes?: readonly AddressType[];
  /** How a request reaches a kubelet; HTTPS by default. */
  readonly client?: Pick<KubeletClient, "send"> & Disposable;
}

/** Needs `get` on `nodes/stats`. */
export function openDirectSource(server: ApiServer, options: DirectOptions): SummarySource {
  const { readCaCerts = null, insecureTls = false, addressTypes: types = ["InternalIP"] } = options;
  let given: readonly string[] | null = null;
  const client = options.client ?? new KubeletClient({ readCaCerts: () => given ?? server.caCerts, insecureTls });
  const common = {
    ...toCommon(options),
    signedBy: readCaCerts === null ? "the cluster's CA" : "the CA of --kubelet-ca",
    right: "nodes/stats",
  };
  const readCredential = limitRereads(options.readCredential ?? server.readCredential, options.clock);
  // A pod is no node. Outside of the cluster podfit may be on the machine of one: a developer's, or an embedded cluster's.
  const rules = { types, allowsLoopback: server.source !== "in-cluster" };
  async function fetchSummary(node: NodeAddress, signal: AbortSignal): Promise<SummaryAnswer> {
    const where = "at its kubelet";
    if (node.addresses === null) return fail({ node, where }, { reason: "unlisted", why: UNLISTED });
    const dialed = toKubeletOrigin(node, rules);
    if (dialed.kind === "refused") return fail({ node, where }, { reason: "unreachable", why: dialed.why });
    const { origin, host } = dialed;
    const call = { ...common, node, where: `at ${origin}`, host, signal };
    return await ask(
      () => sendWithCredential((rejected) => read(rejected, signal), (credential) => send(origin, credential, signal)),
      call,
    );
  }

  async function read(rejected: Credential | null, signal: AbortSignal): Promise<Credential> {
    try {
      return await abortable(readCredential(rejected), signal);
    } catch (cause) {
      throw new CredentialError(readMessage(cause), { cause });
    }
  }

  /** A password is for the API server alone. */
  async function send(origin: string, credential: Credential, signal: AbortSignal): Promise<KubeletAnswer> {
    given = await readCaCerts?.(null) ?? given;
    const { authorization, clientCertificate: certificate } = credential;
    const bearer = authorization?.kind === "bearer" ? toHeader(authorization) : null;
    const headers = bearer === null ? ACCEPT : { ...ACCEPT, authorization: bearer };
    return await client.send(`${origin}${PATH}`, { headers, signal, certificate });
  }
  return { fetchSummary, [Symbol.dispose]: () => client[Symbol.dispose]() };
}

/** Needs `get` on `nodes/proxy`. Works where nodes can't be dialed. */
export function createProxySource(server: ApiServer, options: SourceOptions): SummarySource {
  const { origin, transport } = server;
  const common = { ...toCommon(options), host: null, signedBy: null, right: "nodes/proxy" };
  function fetchSummary(node: NodeAddress, signal: AbortSignal): Promise<SummaryAnswer> {
    const url = `${origin}/api/v1/nodes/${encodeURIComponent(node.name)}/proxy${PATH}`;
    const send = () => transport(new Request(url, { headers: ACCEPT, signal }));
    return ask(send, { ...common, node, where: "through the API server", signal });
  }
  return { fetchSummary, [Symbol.dispose]() {} };
}

const PATH = "/stats/summary?only_cpu_and_memory=true";
const ACCEPT = { accept: "application/json" };
const UNLISTED = "the node is not known: it is not listed yet, or podfit may not list nodes";

function toCommon(options: SourceOptions): Pick<Call, "clock" | "limitBytes" | "buffers" | "compute"> {
  const { clock, limitBytes = null } = options;
  return { clock, limitBytes, buffers: new BufferPool(), compute: computeOn(clock) };
}

/** As often as a file's credential is read again anyway. */
const LEAST_REREAD_MS = 60_000;

/**
 * A kubelet that refuses every credential must not have one loaded for each poll: that runs a program, or asks the API
 * server. Between two reloads the one of the moment is given, which may be newer than the one that was refused.
 */
function limitRereads(readCredential: ReadCredential, clock: Pick<Clock, "monotonic">): ReadCredential {
  let rereadAtMs = -Infinity;
  let rereading: Promise<Credential> | null = null;
  return (rejected) => {
    if (rejected === null) return readCredential(null);
    if (rereading !== null) return rereading;
    if (clock.monotonic() - rereadAtMs < LEAST_REREAD_MS) return readCredential(null);
    rereadAtMs = clock.monotonic();
    const reading = readCredential(rejected).finally(() => rereading = null);
    return rereading = reading;
  };
}
