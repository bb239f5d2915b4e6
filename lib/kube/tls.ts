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
 * Deno's look for a newer Deno, or createPublicTlsClient().
 */
export function createTlsClient(options: TlsClientOptions): Deno.HttpClient {
  if (readRoots() !== "none") {
    if (readRoots() === "public" || isStoreFilled()) {
      throw new Error(
        "Cannot trust the given CA alone: this process trusts public authorities already; set certificate-authority " +
          "of the cluster in the kubeconfig, and start podfit by `deno task start`, or with DENO_NO_UPDATE_CHECK=1",
      );
    }
    fillStoreWithNothing();
  }
  return createClient(options);
}

/**
 * Makes a client for a server whose configuration names no authority: it trusts the roots of the runtime. From then on
 * createTlsClient() throws, for the process has them.
 */
export function createPublicTlsClient(options: Omit<TlsClientOptions, "caCerts">): Deno.HttpClient {
  const client = createClient({ ...options, caCerts: [] });
  if (readRoots() === null) Deno.env.set(ROOTS, `public ${Deno.pid}`);
  return client;
}

/**
 * Has the process trust no root of the runtime. For one that has not fetched anything yet: a store that has been filled
 * stays as it is.
 */
export function fillStoreWithNothing(): void {
  const given = FILES.map((name) => [name, Deno.env.get(name)] as const);
  const store = Deno.env.get(STORE) ?? "";
  for (const name of FILES) Deno.env.delete(name);
  Deno.env.set(STORE, "");
  Deno.createHttpClient({}).close();
  Deno.env.set(ROOTS, `none ${Deno.pid}`);
  // As they were, for programs that podfit runs.
  if (store === "") Deno.env.delete(STORE);
  else Deno.env.set(STORE, store);
  for (const [name, file] of given) if (file !== undefined) Deno.env.set(name, file);
}

/** Names the stores that roots are loaded from, `mozilla` where it is not set; none where it is empty. */
const STORE = "DENO_TLS_CA_STORE";
/** Name files whose certificates are added. */
const FILES = ["DENO_CERT", "NODE_EXTRA_CA_CERTS"];
/** What podfit has had loaded, and into which process: no variable of a module, as workers share the store. */
const ROOTS = "PODFIT_ROOTS";

function readRoots(): "none" | "public" | null {
  const [what, pid] = Deno.env.get(ROOTS)?.split(" ") ?? [];
  return pid === String(Deno.pid) && (what === "none" || what === "public") ? what : null;
}

function createClient({ caCerts, certificate, proxy }: TlsClientOptions): Deno.HttpClient {
  return Deno.createHttpClient({
    // Deno never gives up a dead HTTP/2 connection: https://github.com/denoland/deno/issues/36542
    http2: false,
    caCerts: [...caCerts],
    ...(proxy === undefined ? {} : { proxy }),
    ...(certificate ?? {}),
  });
}

/** A store that has not been filled can't be filled from one that does not exist. */
function isStoreFilled(): boolean {
  const given = Deno.env.get(STORE);
  // Whatever has filled it then, it was with nothing.
  if (given === "" && FILES.every((name) => !Deno.env.get(name))) return false;
  // A compiled program would keep that failure; and nothing but podfit's own requests can fill the store there.
  if (Deno.build.standalone) return false;
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
