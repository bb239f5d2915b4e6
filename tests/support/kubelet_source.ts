/** Sources of summaries against kubelets that answer as a test says, over TLS on 127.0.0.1. */
import { assert, assertEquals, assertStringIncludes } from "#assert";
import type { Credential } from "../../lib/kube/config/credential.ts";
import type { ApiServer, Transport } from "../../lib/kube/transport.ts";
import { VirtualClock } from "./virtual_clock.ts";
import {
  type DirectSourceOptions,
  type NodeAddress,
  openDirectSource,
  type SummaryAnswer,
} from "../../lib/usage/kubelet/fetch_summary.ts";
import { readTls } from "./tls.ts";

export const NODE: NodeAddress = nodeAt("127.0.0.1", 10250);

/** A node with this InternalIP, of 110 pods. */
export function nodeAt(address: string, port: number): NodeAddress {
  return { name: "n1", addresses: [{ type: "InternalIP", address }], port, maxPods: 110 };
}

/** With the token "secret", on podfit's own machine. */
export function apiServer(transport: Transport = () => Promise.reject(new Error("not to be called"))): ApiServer {
  return {
    origin: "https://127.0.0.1:6443",
    transport,
    caCerts: [],
    getCredential: () => Promise.resolve(bearer("secret")),
    namespace: "default",
    source: "test",
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

export function bearer(token: string): Credential {
  return { authorization: { kind: "bearer", token }, clientCertificate: null };
}

export type Case = Partial<DirectSourceOptions> & {
  readonly clusterCa?: string[];
  readonly signal?: AbortSignal;
  readonly host?: string;
};

/** Each way in which a kubelet is asked: through podfit's own connections, through fetch, through node:https. */
export const KUBELET_MODES: readonly { readonly how: string; readonly options: Case }[] = [
  { how: "with the cluster's CA", options: {} },
  {
    how: "with a client certificate",
    options: {
      getCredential: () => {
        const clientCertificate = { cert: readTls("client.crt"), key: readTls("client.key") };
        return Promise.resolve({ ...bearer("secret"), clientCertificate });
      },
    },
  },
  { how: "without checking the certificate", options: { insecureTls: true } },
];

/** One poll of a kubelet that listens at `origin`. */
export async function fetchFrom({ origin }: { readonly origin: string }, options: Case): Promise<SummaryAnswer> {
  const { clusterCa = [readTls("ca.crt")], signal = new AbortController().signal, host = "127.0.0.1" } = options;
  using source = openDirectSource({ ...apiServer(), caCerts: clusterCa }, { clock: new VirtualClock(), ...options });
  return await source.fetchSummary(nodeAt(host, Number(new URL(origin).port)), signal);
}

export function assertFailed(answer: SummaryAnswer, reason: string, message: string | RegExp): void {
  if (answer.kind !== "failed") throw new Error("It did not fail");
  assertEquals(answer.reason, reason, answer.message);
  if (typeof message === "string") assertStringIncludes(answer.message, message);
  else assert(message.test(answer.message), answer.message);
}

/** The summary's text; what failed says why it has none. */
export function readSummaryText(answer: SummaryAnswer): string {
  return answer.kind === "summary" ? new TextDecoder().decode(answer.bytes) : answer.message;
}
