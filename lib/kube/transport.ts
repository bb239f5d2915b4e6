/**
 * How a request reaches an API server. Everything in kube/ is written against this one function type, so that an
 * embedded cluster can be called in process. A transport adds credentials and TLS; it retries nothing but a 401, once,
 * when it has a newer credential.
 */

export type Transport = (request: Request) => Promise<Response>;

export interface ApiServer extends AsyncDisposable {
  /** Origin without a trailing slash, e.g. `https://10.0.0.1:6443`; requests are built as `${origin}/api/v1/...`. */
  readonly origin: string;
  readonly transport: Transport;
  /** PEM of the cluster's CA certificates, where the configuration names one. */
  readonly caCerts: readonly string[];
  /** The bearer token that would be sent now, for kubelets dialed directly; `null` when another credential is used. */
  readonly readToken: () => Promise<string | null>;
  /** PEM client certificate and key, when the configuration has them. */
  readonly clientCertificate: { readonly cert: string; readonly key: string } | null;
  /** Namespace of the context or of the service account; `default` otherwise. */
  readonly namespace: string;
  /** Where the configuration came from, for error messages: a file and context, or "in-cluster". */
  readonly source: string;
}
