/**
 * HTTP clients that trust the authorities they are given and no others. Deno adds those to its own store of roots, which
 * holds the public authorities: with them whoever has any public certificate for the name could stand in for the server
 * and get the token. The store is one for the process and is filled when it is first used, as three environment
 * variables say; so it is filled with nothing, before a client of ours is made. node:https would need none of that, but
 * throws inside event handlers at answers that native fetch refuses in good order.
 * https://docs.deno.com/runtime/reference/env_variables/#special-environment-variables
 */
import type { ClientCertificate } from "./config/credential.ts";

export interface TlsClientOptions {
  /** PEM. With none, no server is trusted. */
  readonly caCerts: readonly string[];
  readonly certificate: ClientCertificate | null;
  readonly proxy?: Deno.Proxy;
}

/**
 * Makes a client that trusts servers of these authorities alone. Throws for certificates that can't be used, and where
 * the process trusts public authorities already: because of a request before the first client, a download of packages,
 * or createPublicTlsClient().
 */
export function createTlsClient(options: TlsClientOptions): Deno.HttpClient {
  emptyRootStore();
  return createClient(options);
}

/**
 * Makes a client for a server whose configuration names no authority: it trusts the roots of the runtime. From then on
 * createTlsClient() throws, for the process has them.
 */
export function createPublicTlsClient(options: Omit<TlsClientOptions, "caCerts">): Deno.HttpClient {
  const client = createClient({ ...options, caCerts: [] });
  ROOTS.areLoaded = true;
  return client;
}

/** Names the stores that roots are loaded from, `mozilla` where it is not set; none where it is empty. */
const STORE = "DENO_TLS_CA_STORE";
/** Name files whose certificates are added. */
const FILES = ["DENO_CERT", "NODE_EXTRA_CA_CERTS"];
/** Whether podfit itself had the roots loaded. It is the process that has them, so this is of the process too. */
const ROOTS = { areLoaded: false };

function createClient({ caCerts, certificate, proxy }: TlsClientOptions): Deno.HttpClient {
  return Deno.createHttpClient({
    // Deno never gives up a dead HTTP/2 connection: https://github.com/denoland/deno/issues/36542
    http2: false,
    caCerts: [...caCerts],
    ...(proxy === undefined ? {} : { proxy }),
    ...(certificate ?? {}),
  });
}

function emptyRootStore(): void {
  if (Deno.env.get(STORE) === "" && FILES.every((name) => !Deno.env.get(name))) return;
  if (ROOTS.areLoaded || isStoreFilled()) {
    throw new Error(
      "Cannot trust the given CA alone: this process trusts public authorities already; set certificate-authority of " +
        `the cluster in the kubeconfig, and start podfit with ${STORE}= (empty) in its environment`,
    );
  }
  for (const name of FILES) Deno.env.delete(name);
  Deno.env.set(STORE, "");
  Deno.createHttpClient({}).close();
}

/** A store that has not been filled can't be filled from one that does not exist. */
function isStoreFilled(): boolean {
  // A compiled program would keep that failure; and nothing but podfit's own requests can fill the store there.
  if (Deno.build.standalone) return false;
  const given = Deno.env.get(STORE);
  Deno.env.set(STORE, "podfit-asks-whether-it-is-filled");
  try {
    Deno.createHttpClient({}).close();
    return true;
  } catch {
    return false;
  } finally {
    if (given === undefined) Deno.env.delete(STORE);
    else Deno.env.set(STORE, given);
  }
}
