/**
 * From where do summaries come, and what do kubelets get to see of podfit? Each choice is told in the log, as is what
 * falls back to less than was meant (C54).
 */
import { createCaReader } from "../../kube/config/ca_certs.ts";
import { createGivenCredential } from "../../kube/config/given_credential.ts";
import type { ReadCredential } from "../../kube/config/credential.ts";
import type { ApiServer } from "../../kube/transport.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { Log } from "../../runtime/log.ts";
import { createProxySource, openDirectSource } from "../../usage/kubelet.ts";
import { KUBELET_ACCOUNT, requestCredential } from "../../usage/requested_credential.ts";
import type { SummarySource } from "../../usage/summary_source.ts";
import type { RunOptions } from "./options.ts";
import { toStartError } from "./start_error.ts";

/** What summaries are read with. */
export interface SummariesContext {
  readonly server: ApiServer;
  readonly log: Log;
  readonly clock: Clock;
}

/** Opens kubelets, or the API server's proxy. Rejects with a StartError where a file cannot be used. */
export async function openSummaries(options: RunOptions, context: SummariesContext): Promise<SummarySource> {
  const { server, log, clock } = context;
  const { statsSource: source, kubeletCa: path, kubeletInsecureTls: insecureTls } = options;
  if (source === "proxy") {
    log.info("Reading usage", { source });
    return createProxySource(server, { clock });
  }
  if (insecureTls) {
    log.warn(
      "Kubelet certificates are not checked (--kubelet-insecure-tls): whoever can answer at a node's address gets " +
        "the token that kubelets get; give their CA with --kubelet-ca instead",
    );
  }
  try {
    const { credential, readCredential } = await chooseCredential(options, context);
    log.info("Reading usage", { source, credential });
    const readCaCerts = path === null
      ? null
      : createCaReader({ kind: "file", path }, { what: "--kubelet-ca", now: clock.now });
    await readCaCerts?.(null);
    const addressTypes = options.kubeletPreferredAddressTypes;
    return openDirectSource(server, { clock, readCaCerts, insecureTls, readCredential, addressTypes });
  } catch (error) {
    throw toStartError(error);
  }
}

/** What kubelets get. */
export interface Chosen {
  /** In words. */
  readonly credential: string;
  readonly readCredential: ReadCredential;
}

/**
 * Chooses the credential for kubelets. In a pod the one that may resize never leaves for a kubelet, where the manifest's
 * other account is there. Rejects when a file cannot be read.
 */
export async function chooseCredential(
  { kubeletTokenFile: path }: RunOptions,
  { server, log, clock }: SummariesContext,
): Promise<Chosen> {
  if (path !== null) {
    const authorization = { kind: "tokenFile", path } as const;
    const readCredential = createGivenCredential({ kind: "given", authorization, certificate: null }, clock);
    await readCredential(null);
    return { credential: `the token file "${path}"`, readCredential };
  }
  if (server.source !== "in-cluster") {
    return { credential: `that of ${server.source}`, readCredential: server.readCredential };
  }
  const account = `${server.namespace}/${KUBELET_ACCOUNT}`;
  const readCredential = requestCredential(server, {
    clock,
    onFallback: (why) =>
      log.warn(
        `${why}; kubelets get podfit's own credential, which may resize pods: apply deploy/install.yaml, which has that ` +
          'account and the right to "create" on "serviceaccounts/token" for it',
      ),
    onHealed: () => log.info("Kubelets get a token of their own again", { account }),
  });
  return { credential: `tokens of service account "${account}"`, readCredential };
}
