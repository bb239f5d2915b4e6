/**
 * How does a request reach an API server? All of lib/kube is written against one function type, Transport.
 *
 * An embedded cluster can therefore be called in the same process.
 */
import { type Answer, discard } from "./body.ts";
import { type Credential, type GetCredential, isSameCredential } from "./config/credential.ts";

// How a request reaches an API server. Everything in kube/ is written against one function type, so that an embedded
// cluster can be called in the same process.

/**
 * Sends a request with credentials and TLS. Retries nothing but a 401, once, when there is a newer credential. Rejects
 * with the signal's reason, or with an error that names the server when there is no answer.
 */
export type Transport = (request: Request, options?: SendOptions) => Promise<Response>;

export interface SendOptions {
  /**
   * Called right before the request goes out, each time it does: what comes before may have taken a minute. What it throws
   * rejects the request, which is then not sent.
   */
  readonly beforeSend?: () => void;
}

/** An open connection to an API server. */
export interface ApiServer extends AsyncDisposable {
  /** Without a trailing slash, e.g. `https://10.0.0.1:6443`; requests go to `${origin}/api/v1/...`. */
  readonly origin: string;
  readonly transport: Transport;
  /** The cluster's CA certificates of the moment in PEM, where the configuration names some. */
  readonly caCerts: readonly string[];
  /** Gives the credential of the moment, for kubelets that are dialed with the same one. */
  readonly getCredential: GetCredential;
  /** The namespace of the context or of the service account; `default` otherwise. */
  readonly namespace: string;
  /** The origin of the configuration, for error messages: a file and context, or "in-cluster". */
  readonly source: string;
}

// Sends with the credential of the moment, and after a 401 once more if there is a newer one.

/** Rejects with what either function rejects with; no answer's body is left open then. */
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
  if (isSameCredential(newer, credential)) return answer;
  await discard(answer);
  return await send(newer);
}

/** An answer to whoever has sent a credential. */
interface CredentialAnswer extends Answer {
  readonly status: number;
}
