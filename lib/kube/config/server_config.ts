/** Everything that is needed to reach an API server, from whatever configuration. */
import type { ReadCredential } from "./credential.ts";

export interface ServerConfig {
  /** A file and context, or "in-cluster", for error messages. */
  readonly source: string;
  /** Without a trailing slash. It may hold a path, as behind a proxy such as Rancher. */
  readonly origin: string;
  readonly namespace: string;
  /** CA certificates in PEM, trusted beside the roots of the runtime. */
  readonly caCerts: readonly string[];
  readonly proxyUrl: string | null;
  readonly readCredential: ReadCredential;
}
