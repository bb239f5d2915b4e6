/** All that is needed to reach an API server, wherever it was configured. */
import type { ReadCredential } from "./credential.ts";

export interface ServerConfig {
  /** A file and context, or "in-cluster"; for error messages. */
  readonly source: string;
  /** Without a trailing slash. */
  readonly origin: string;
  readonly namespace: string;
  /** PEM; trusted beside the roots of the runtime. */
  readonly caCerts: readonly string[];
  readonly proxyUrl: string | null;
  readonly readCredential: ReadCredential;
}
