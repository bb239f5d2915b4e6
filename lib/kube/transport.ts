/**
 * How does a request reach an API server? All of lib/kube is written against one function type, Transport.
 *
 * An embedded cluster can therefore be called in the same process.
 */
import { type Answer, discard } from "./body.ts";
import type { Credential, GetCredential } from "./config/credential.ts";
import { isDeepEqual } from "../units/equality.ts";

/**
 * Sends a request with credentials and TLS. Retries nothing but a 401, once, if there is a newer credential. Rejects
 * with the signal's reason, or, without an answer, with an error that names the server.
 */
export type Transport = (request: Request, options?: SendOptions) => Promise<Response>;

export interface SendOptions {
  /**
   * Called right before each time the request is sent: earlier steps may have taken a minute. If it throws, the request
   * rejects with that error and is not sent.
   */
  readonly beforeSend?: () => void;
}

/** An open connection to an API server. */
export interface ApiServer extends AsyncDisposable {
  /** Without a trailing slash, e.g. `https://10.0.0.1:6443`; requests go to `${origin}/api/v1/...`. */
  readonly origin: string;
  readonly transport: Transport;
  /** The current CA certificates of the cluster in PEM, if the configuration names some. */
  readonly caCerts: readonly string[];
  /** Returns the current credential, for kubelets that get the same one. */
  readonly getCredential: GetCredential;
  /** The namespace of the context or of the service account; `default` otherwise. */
  readonly namespace: string;
  /** The origin of the configuration, for error messages: a file and context, or "in-cluster". */
  readonly source: string;
}

/**
 * Sends with the current credential, and after a 401 once more if there is a newer one. Rejects as either function
 * does; then no body is left open.
 */
export async function sendWithCredential<T extends CredentialAnswer>(
  read: GetCredential,
  send: (credential: Credential) => Promise<T>,
): Promise<T> {
  const credential = await read(null);
  const answer = await send(credential);
  if (answer.status !== 401) return answer;
  let newer: Credential;
  try {
    newer = await read(credential);
  } catch (error) {
    await discard(answer);
    throw error;
  }
  if (isDeepEqual(newer, credential)) return answer;
  await discard(answer);
  return await send(newer);
}

/** An answer to a request with a credential. */
interface CredentialAnswer extends Answer {
  readonly status: number;
}
