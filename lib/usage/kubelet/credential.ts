/**
 * Which credential do kubelets get? Tokens of a service account that may read usage and nothing else.
 *
 * https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/token-request-v1/
 */
import { readText } from "../../kube/body.ts";
import { type Credential, type GetCredential, isSendable } from "../../kube/config/credential.ts";
import { toApiError } from "../../kube/errors.ts";
import { parseJsonOrText } from "../../kube/list.ts";
import type { ApiServer } from "../../kube/transport.ts";
import type { Clock } from "../../runtime/clock.ts";
import { keepSecret } from "../../runtime/secrets.ts";
import { isDeepEqual } from "../../units/equality.ts";
import { isRecord } from "../../units/untrusted.ts";

/** The service account of deploy/install.yaml that tokens are asked for, in podfit's own namespace. */
export const KUBELET_ACCOUNT = "podfit-kubelet";

/**
 * Returns a reader of the credential. It rejects if there is no valid token, whatever the reason: an answer such as 403
 * may come from anybody who answers for the API server, so it must not decide that kubelets get podfit's own credential.
 */
export function createKubeletCredential(server: ApiServer, clock: Pick<Clock, "monotonic" | "timeout">): GetCredential {
  let held: Held | null = null;
  let asking: Promise<Held> | null = null;
  let failure: { readonly error: unknown; readonly untilMs: number } | null = null;

  async function renew(): Promise<Held> {
    try {
      held = await fetchToken(server, clock);
      failure = null;
      return held;
    } catch (error) {
      failure = { error, untilMs: clock.monotonic() + RETRY_MS };
      throw error;
    } finally {
      asking = null;
    }
  }

  return async (rejected) => {
    const nowMs = clock.monotonic();
    const mayAsk = failure === null || nowMs >= failure.untilMs;
    const isRefused = held !== null && rejected !== null && isDeepEqual(rejected, held.credential);
    if (held !== null && nowMs < held.endsAtMs && !isRefused) {
      // The current token is still valid, so no request waits for the next one.
      if (nowMs >= held.renewAtMs && mayAsk) (asking ??= renew()).catch(() => {});
      return held.credential;
    }
    if (asking === null && !mayAsk) throw failure?.error;
    return (await (asking ??= renew())).credential;
  };
}

interface Held {
  readonly credential: Credential;
  /** By the monotonic clock. */
  readonly renewAtMs: number;
  readonly endsAtMs: number;
}

const LIFE_SECONDS = 3600;

/** As a kubelet renews the tokens of pods. */
const RENEW_AFTER = 0.8;

const TIMEOUT_MS = 5_000;

/** Limits the requests to the API server: not one for each poll of each node. */
const RETRY_MS = 10_000;

const MAX_ANSWER_BYTES = 256 * 1024;

/** Its error says what to apply where the account or the right is missing. */
async function fetchToken(server: ApiServer, clock: Pick<Clock, "monotonic" | "timeout">): Promise<Held> {
  const { origin, namespace } = server;
  const nowMs = clock.monotonic();
  const url = `${origin}/api/v1/namespaces/${namespace}/serviceaccounts/${KUBELET_ACCOUNT}/token`;
  const body = {
    kind: "TokenRequest",
    apiVersion: "authentication.k8s.io/v1",
    spec: { expirationSeconds: LIFE_SECONDS },
  };
  using timeout = clock.timeout(TIMEOUT_MS);
  const { signal } = timeout;
  const response = await server.transport(
    new Request(url, {
      method: "POST",
      headers: { accept: "application/json", "content-type": "application/json" },
      body: JSON.stringify(body),
      signal,
    }),
  );
  const answer = parseJsonOrText(await readText(response, { limitBytes: MAX_ANSWER_BYTES, signal }));
  if (response.ok) return toHeld(answer, nowMs);
  const { message } = toApiError(response, answer);
  const advice = response.status === 403 || response.status === 404
    ? "; apply deploy/install.yaml, which has that account and the right to its tokens, or set --kubelet-own-credential"
    : "";
  throw new Error(
    `Cannot get a token of service account "${namespace}/${KUBELET_ACCOUNT}": ${response.status} ${message}${advice}`,
  );
}

/** Computed from the lifetime that the server gave: its clock and podfit's may differ. */
function toHeld(answer: unknown, nowMs: number): Held {
  const { spec, status } = isRecord(answer) ? answer : {};
  const token = isRecord(status) ? status["token"] : null;
  const seconds = isRecord(spec) ? spec["expirationSeconds"] : null;
  if (typeof token !== "string" || !isSendable(token)) {
    throw new Error("Cannot get a token for kubelets: the API server answered without one");
  }
  keepSecret(token);
  const lifeMs = 1000 * (typeof seconds === "number" && seconds > 0 ? Math.min(seconds, LIFE_SECONDS) : LIFE_SECONDS);
  const credential = { authorization: { kind: "bearer", token }, clientCertificate: null } as const;
  return { credential, renewAtMs: nowMs + RENEW_AFTER * lifeMs, endsAtMs: nowMs + lifeMs };
}
