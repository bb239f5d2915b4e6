/**
 * What became of the question for a summary: its bytes, or why there are none, in words that say what is missing and
 * what to do. Both ways to a kubelet, with its certificate checked or not, fail in the same words.
 */
import type { FailureReason } from "../api/usage.ts";
import type { BufferPool } from "../runtime/buffer_pool.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Compute } from "../runtime/compute.ts";
import { BodyTooLarge, discard, readBytes, readErrorText } from "../kube/body.ts";
import { oneLine, readMessage } from "../kube/network_error.ts";
import type { KubeletAnswer } from "./kubelet_client.ts";
import type { NodeAddress, SummaryAnswer } from "./summary_source.ts";

/** One question for a node's summary. */
export interface Call {
  readonly clock: Pick<Clock, "now">;
  readonly buffers: BufferPool;
  /** The queue in which answers are read. */
  readonly compute: Compute;
  /** `null` for what the node may honestly have. */
  readonly limitBytes: number | null;
  readonly node: NodeAddress;
  /** How it was asked. */
  readonly where: string;
  /** The host that was dialed; `null` where that isn't the kubelet's. */
  readonly host: string | null;
  readonly signal: AbortSignal;
  /** `null` where the kubelet's certificate isn't ours to check. */
  readonly signedBy: string | null;
  /** What a 403 asks for. */
  readonly right: string;
}

/** There was no credential to send. */
export class CredentialError extends Error {}

/** Sends the question and reads what comes of it. Rejects with nothing but the reason of an abort that isn't a timeout. */
export async function ask(send: () => Promise<KubeletAnswer>, call: Call): Promise<SummaryAnswer> {
  const { buffers, compute, signal, node, clock } = call;
  const limitBytes = call.limitBytes ?? toLimitBytes(node.maxPods);
  try {
    const answer = await send();
    const clockOffsetMs = readClockOffset(answer, clock.now());
    // A group of nodes may have answered together.
    await compute(() => {});
    if (answer.status !== 200) return await toRefusal(answer, call);
    const buffer = await readBytes(answer, { limitBytes, signal, buffers });
    return { kind: "summary", bytes: buffer.bytes(), clockOffsetMs, release: () => buffers.release(buffer) };
  } catch (error) {
    if (error instanceof BodyTooLarge) {
      return fail(call, { reason: "too_large", why: `the answer has ${error.message}` });
    }
    return signal.aborted ? toAborted(call) : toFailure(error, call);
  }
}

/** Makes a failure of a reason and its words. */
export function fail(
  { node, where }: Pick<Call, "node" | "where">,
  { reason, why }: { readonly reason: FailureReason; readonly why: string },
): SummaryAnswer {
  return { kind: "failed", reason, message: `Cannot read usage of node "${node.name}" ${where}: ${why}` };
}

/** An honest summary has 3 to 4 kB a pod of two containers, and some 15 kB of ten. */
const BYTES_PER_POD = 32 * 1024;
/** The default of a kubelet. */
const USUAL_PODS = 110;
/** A node says itself how many pods it may have, so what follows from that has bounds. */
const LEAST_LIMIT_BYTES = 2 * 2 ** 20;
const LARGEST_LIMIT_BYTES = 32 * 2 ** 20;

function toLimitBytes(maxPods: number | null): number {
  const bytes = (maxPods ?? USUAL_PODS) * BYTES_PER_POD;
  return Math.min(LARGEST_LIMIT_BYTES, Math.max(LEAST_LIMIT_BYTES, bytes));
}

function toAborted(call: Call): SummaryAnswer {
  const { reason } = call.signal;
  if (!(reason instanceof DOMException) || reason.name !== "TimeoutError") throw reason;
  return fail(call, { reason: "timeout", why: reason.message.toLowerCase() });
}

/** Whole seconds, truncated by the node: nearer than two seconds is taken for the same. */
function readClockOffset({ headers }: KubeletAnswer, now: number): number {
  const offsetMs = Date.parse(headers.get("date") ?? "") - now;
  return Math.abs(offsetMs) >= 2000 ? Math.round(offsetMs / 1000) * 1000 : 0;
}

async function toRefusal(answer: KubeletAnswer, call: Call): Promise<SummaryAnswer> {
  const { status, statusText } = answer;
  const text = oneLine(toMessage(await readErrorText(answer, call.signal)));
  await discard(answer);
  const said = `${status} ${text || oneLine(statusText)}`.trim();
  if (status === 401) {
    const why = call.signedBy === null
      ? `${said}; check podfit's credential`
      : `${said}; the kubelet doesn't know podfit's credential: turn on authentication.webhook in its configuration`;
    return fail(call, { reason: "unauthorized", why });
  }
  if (status === 403) {
    const why = `${said}; grant that user the verb "get" on "${call.right}" in its ClusterRole`;
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
  if (error instanceof CredentialError) return fail(call, { reason: "unauthorized", why: words });
  if (call.signedBy === null || !/certificate|handshake|corrupt message|fatal alert/i.test(words)) {
    return fail(call, { reason: "unreachable", why: words });
  }
  const { node, signedBy } = call;
  const whose = `the kubelet of node "${node.name}" serves a certificate`;
  const hint = /UnknownIssuer|BadSignature|CaUsedAsEndEntity|UnsupportedCertVersion/.test(words)
    ? `${whose} not signed by ${signedBy}: give its CA with --kubelet-ca, or accept any with --kubelet-insecure-tls`
    : /valid for name|NotValidForName/.test(words)
    ? `${whose} that is not for "${call.host}": renew it with this address (serverTLSBootstrap), or accept any with ` +
      "--kubelet-insecure-tls"
    : "is this the kubelet's port, and does it admit podfit's client certificate";
  return fail(call, { reason: "tls", why: `${hint} (${words})` });
}
