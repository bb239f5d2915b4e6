/**
 * How does a command open the API server that flags and variables name, and what does it open on it?
 *
 * Usage of pods, and the parts of a daemon that set replicas.
 */
import type { DaemonOptions } from "../../daemon/daemon.ts";
import type { ReplicasSettings } from "../../daemon/replicas/manager.ts";
import type { ApiServer } from "../../kube/transport.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { SendToTrigger } from "../../triggers/http_client.ts";
import type { WatchUsage } from "../../usage/source.ts";
import { toStartError, VERSION } from "../command/process.ts";

/** What to do about a right that the API server's answer names. */
export const RIGHT_ADVICE = "; ask an administrator for this right (yours: `kubectl auth can-i --list`)";

/** Where the server may be named. */
export interface ServerChoice {
  /** The values of `--kubeconfig`. */
  readonly kubeconfigPaths: readonly string[];
  /** `null` = the kubeconfig's own. */
  readonly context: string | null;
  readonly environment: ServerEnvironment;
}

/** Variables that name a server; `null` = not set. */
interface ServerEnvironment {
  readonly kubeconfig: string | null;
  readonly home: string | null;
  readonly serviceHost: string | null;
  readonly servicePort: string | null;
}

/** Reads the variables. */
export function getServerEnvironment(getEnv: (name: string) => string | undefined): ServerEnvironment {
  const read = (name: string) => getEnv(name)?.trim() || null;
  return {
    kubeconfig: read("KUBECONFIG"),
    home: read("HOME"),
    serviceHost: read("KUBERNETES_SERVICE_HOST"),
    servicePort: read("KUBERNETES_SERVICE_PORT"),
  };
}

/** Resolves to the API server. Rejects with a StartError whose message includes what to do. */
export async function connectTo(
  { kubeconfigPaths, context, environment }: ServerChoice,
  signal: AbortSignal,
): Promise<ApiServer> {
  const { serviceHost, servicePort, home, kubeconfig } = environment;
  const { connect } = await import("../../kube/http_transport.ts");
  try {
    return await connect({
      version: VERSION,
      kubeconfigPaths,
      kubeconfigVariable: kubeconfig,
      context,
      inCluster: serviceHost === null || servicePort === null ? null : { host: serviceHost, port: servicePort },
      defaultPath: home === null ? null : `${home}/.kube/config`,
      signal,
    });
  } catch (error) {
    throw toStartError(error);
  }
}

interface UsageOptions {
  readonly clock: Clock;
  /** Namespaces whose pods metrics.k8s.io is asked for. */
  readonly namespaces: readonly string[];
}

/** Disposal ends the requests. */
interface OpenedUsage extends Disposable {
  readonly watchUsage: WatchUsage;
}

/** Resolves to usage from kubelets, by the proxy of the API server, and from metrics.k8s.io. */
export async function openUsage(server: ApiServer, { clock, namespaces }: UsageOptions): Promise<OpenedUsage> {
  const [{ createAutoSource }, { createProxySource }, { watchKubelets }, { openMetricsApi }] = await Promise.all([
    import("../../usage/auto.ts"),
    import("../../usage/kubelet/fetch_summary.ts"),
    import("../../usage/kubelet/watch.ts"),
    import("../../usage/metrics_api/watch.ts"),
  ]);
  const timing = { clock, random: Math.random };
  const summaries = createProxySource(server, timing);
  const api = openMetricsApi({ server, scope: { namespaces, node: null, pod: null }, ...timing });
  return {
    watchUsage: createAutoSource(
      { name: "kubelet", watchUsage: watchKubelets(summaries, timing) },
      { name: "metrics-api", watchUsage: api.watchUsage },
      timing,
    ),
    [Symbol.dispose]() {
      api[Symbol.dispose]();
      summaries[Symbol.dispose]();
    },
  };
}

/** Which ScaledObjects podfit scales: those annotated `podfit.dev/scale: "true"` where KEDA runs too. Clauses: M1. */
export const REPLICAS_MODES = ["off", "all", "selected"] as const;

export type ReplicasMode = typeof REPLICAS_MODES[number];

/** The flags of the daemon about replicas. */
interface ReplicasFlags extends Required<Pick<ReplicasSettings, "kedaDeactivation" | "maxDeactivationsPerMinute">> {
  readonly scaledObjects: ReplicasMode;
  readonly clusterObjectNamespace: string;
  readonly clusterCredentialsAnywhere: boolean;
  readonly plainHttpCredentials: boolean;
  readonly requireSecretLabel: boolean;
  readonly metricsApis: boolean;
  /** Bytes; `null` = the default. */
  readonly maxTriggerAnswer: number | null;
}

/**
 * Not podfit's own namespace: there are other secrets, such as its certificate. Who may read secrets of triggers must
 * not read those.
 */
export const DEFAULT_CLUSTER_OBJECT_NAMESPACE = "podfit-credentials";

/** For commands without these flags. */
export const SAFE_REPLICAS_FLAGS: Omit<ReplicasFlags, "scaledObjects"> = {
  clusterObjectNamespace: DEFAULT_CLUSTER_OBJECT_NAMESPACE,
  clusterCredentialsAnywhere: false,
  plainHttpCredentials: false,
  requireSecretLabel: false,
  metricsApis: false,
  maxTriggerAnswer: null,
  kedaDeactivation: false,
  maxDeactivationsPerMinute: null,
};

/** Replicas are set only on request, and only then their modules are loaded. Clauses: R1. */
export async function createReplicasOptions(
  options: ReplicasFlags,
  { clock, send }: {
    readonly clock: Clock;
    readonly send: SendToTrigger;
  },
): Promise<Pick<DaemonOptions, "replicas">> {
  if (options.scaledObjects === "off") return {};
  const { createReplicasManager: create } = await import("../../daemon/replicas/manager.ts");
  const { createAskTrigger } = await import("../../triggers/http_trigger.ts");
  const limits = options.maxTriggerAnswer === null ? {} : { maxAnswerBytes: options.maxTriggerAnswer };
  const ask = createAskTrigger({ clock, send, version: VERSION, ...limits });
  const { clusterObjectNamespace, kedaDeactivation, maxDeactivationsPerMinute } = options;
  const credentialRules = {
    goAnywhere: options.clusterCredentialsAnywhere,
    overPlainHttp: options.plainHttpCredentials,
    needLabel: options.requireSecretLabel,
  };
  const replicas = {
    create,
    clusterObjectNamespace,
    credentialRules,
    ask,
    isNextToKeda: options.scaledObjects === "selected",
    usesMetricsApis: options.metricsApis,
    kedaDeactivation,
    maxDeactivationsPerMinute,
  };
  return { replicas };
}
