/** Everything that is needed to reach an API server, from whatever configuration. */
import type { ReadCaCerts } from "./ca_certs.ts";
import type { ReadCredential } from "./credential.ts";

export interface ServerConfig {
  /** A file and context, or "in-cluster", for error messages. */
  readonly source: string;
  /** Without a trailing slash. It may hold a path, as behind a proxy such as Rancher. */
  readonly origin: string;
  readonly namespace: string;
  /** CA certificates in PEM: they alone are trusted. Where there are none, the roots of the runtime are. */
  readonly caCerts: readonly string[];
  /** Gives those of the moment; absent where they never change. */
  readonly readCaCerts?: ReadCaCerts;
  readonly proxyUrl: string | null;
  readonly readCredential: ReadCredential;
}
