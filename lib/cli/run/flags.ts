/**
 * Which flags and environment variables are there? One row per flag with the variable that stands in for it, and the
 * variables without a flag. What --help prints and the README lists is made of these tables.
 */
import { DEFAULT_PACE, MAX_CONTENDERS } from "../../daemon/defaults.ts";
import { LOG_FORMATS, LOG_LEVELS } from "../../runtime/log.ts";
import { STATS_SOURCES } from "./check_source.ts";

/** A flag with its variable, as --help shows it. */
export interface FlagRow {
  readonly flag: string;
  /** What --help calls its value, in brackets where it may be left out; `null` for a flag that is there or not. */
  readonly value: string | null;
  readonly variable: string;
  readonly help: string;
  readonly isRepeatable?: boolean;
  readonly fallback?: string;
  /** All that its value may be. */
  readonly choices?: readonly string[];
}

/** A flag by the name that commander gives it. */
export type FlagName = keyof typeof FLAGS;

/** By the name that commander gives the flag. */
export const FLAGS = {
  kubeconfig: {
    flag: "--kubeconfig",
    value: "<path>",
    variable: "PODFIT_KUBECONFIG",
    help: "kubeconfig file, repeatable (default: KUBECONFIG, the service account, ~/.kube/config)",
    isRepeatable: true,
  },
  context: {
    flag: "--context",
    value: "<name>",
    variable: "PODFIT_CONTEXT",
    help: "context of the kubeconfig (default: its current-context)",
  },
  namespace: {
    flag: "--namespace",
    value: "<name>",
    variable: "PODFIT_NAMESPACE",
    help: "look after this namespace only; repeatable, or a list with commas (default: all)",
    isRepeatable: true,
  },
  statsSource: {
    flag: "--stats-source",
    value: "<source>",
    variable: "PODFIT_STATS_SOURCE",
    help: "where usage is read: kubelet (each node's own), proxy (the API server's, which needs nodes/proxy), " +
      "cgroup (files of the node of --node), metrics-api (metrics.k8s.io: coarser, lowers no memory limit) or auto " +
      "(kubelet, and metrics-api for nodes whose kubelet cannot be read)",
    fallback: "kubelet",
    choices: STATS_SOURCES,
  },
  node: {
    flag: "--node",
    value: "<name>",
    variable: "PODFIT_NODE",
    help: "look after the pods of this node only (default: all)",
  },
  pod: {
    flag: "--pod",
    value: "<namespace/name>",
    variable: "PODFIT_POD",
    help: "look after this pod only, which podfit runs in: with --stats-source metrics-api, or cgroup and --node " +
      "(default: all)",
  },
  cgroupRoot: {
    flag: "--cgroup-root",
    value: "<directory>",
    variable: "PODFIT_CGROUP_ROOT",
    help: "where the node's /sys/fs/cgroup is mounted, for --stats-source cgroup",
  },
  kubeletCa: {
    flag: "--kubelet-ca",
    value: "<path>",
    variable: "PODFIT_KUBELET_CA",
    help: "PEM file of the CA that signs kubelet certificates (default: the cluster's)",
  },
  kubeletInsecureTls: {
    flag: "--kubelet-insecure-tls",
    value: null,
    variable: "PODFIT_KUBELET_INSECURE_TLS",
    help: "accept any kubelet certificate; the token can then be stolen on the way",
  },
  kubeletTokenFile: {
    flag: "--kubelet-token-file",
    value: "<path>",
    variable: "PODFIT_KUBELET_TOKEN_FILE",
    help:
      "file of the token that kubelets get, read anew when it changes (default: in a pod one that podfit asks for, " +
      "of the service account podfit-kubelet; elsewhere that of the kubeconfig)",
  },
  kubeletPreferredAddressTypes: {
    flag: "--kubelet-preferred-address-types",
    value: "<types>",
    variable: "PODFIT_KUBELET_PREFERRED_ADDRESS_TYPES",
    help: "which addresses of a node are dialed, a list with commas: InternalIP, ExternalIP, Hostname, InternalDNS, " +
      "ExternalDNS; the last three are whatever DNS makes of what the node says",
    fallback: "InternalIP",
  },
  minPollInterval: {
    flag: "--min-poll-interval",
    value: "<duration>",
    variable: "PODFIT_MIN_POLL_INTERVAL",
    help: "raise a shorter pollInterval or pollingInterval to this (default: none is raised)",
  },
  maxCpu: {
    flag: "--max-cpu",
    value: "<quantity>",
    variable: "PODFIT_MAX_CPU",
    help: "size no CPU request or limit above this, whatever bounds say (default: no ceiling)",
  },
  maxMemory: {
    flag: "--max-memory",
    value: "<quantity>",
    variable: "PODFIT_MAX_MEMORY",
    help: "the same for memory",
  },
  maxContenders: {
    flag: "--max-contenders",
    value: "<number>",
    variable: "PODFIT_MAX_CONTENDERS",
    help: "ask this many autoscalers of one container, those of the highest priority",
    fallback: String(MAX_CONTENDERS),
  },
  scaledObjects: {
    flag: "--scaled-objects",
    value: null,
    variable: "PODFIT_SCALED_OBJECTS",
    help: "set replicas as KEDA's ScaledObjects say; never beside a KEDA that runs",
  },
  clusterObjectNamespace: {
    flag: "--cluster-object-namespace",
    value: "<name>",
    variable: "PODFIT_CLUSTER_OBJECT_NAMESPACE",
    help:
      "namespace of the secrets that ClusterTriggerAuthentications name (default: that of the service account, or of " +
      "the context)",
  },
  leaderElect: {
    flag: "--leader-elect",
    value: "[boolean]",
    variable: "PODFIT_LEADER_ELECT",
    help: "act only while holding a Lease, so that several replicas may run (default: true in a pod with its service " +
      "account, else false)",
  },
  leaderElectResourceName: {
    flag: "--leader-elect-resource-name",
    value: "<name>",
    variable: "PODFIT_LEADER_ELECT_RESOURCE_NAME",
    help: "name of that Lease; podfit-sidecar with --pod",
    fallback: "podfit",
  },
  leaderElectResourceNamespace: {
    flag: "--leader-elect-resource-namespace",
    value: "<name>",
    variable: "PODFIT_LEADER_ELECT_RESOURCE_NAMESPACE",
    help: "namespace of that Lease (default: that of the service account, or of the context)",
  },
  dryRun: {
    flag: "--dry-run",
    value: null,
    variable: "PODFIT_DRY_RUN",
    help: "decide and report everything, resize nothing",
  },
  logLevel: {
    flag: "--log-level",
    value: "<level>",
    variable: "PODFIT_LOG_LEVEL",
    help: "least level that is logged: debug, info, warn or error",
    fallback: "info",
    choices: LOG_LEVELS,
  },
  logFormat: {
    flag: "--log-format",
    value: "<format>",
    variable: "PODFIT_LOG_FORMAT",
    help: "one line per message: json or text",
    fallback: "json",
    choices: LOG_FORMATS,
  },
  kubeApiQps: {
    flag: "--kube-api-qps",
    value: "<number>",
    variable: "PODFIT_KUBE_API_QPS",
    help: "how many resizes may begin per second",
    fallback: String(DEFAULT_PACE.perSecond),
  },
  kubeApiBurst: {
    flag: "--kube-api-burst",
    value: "<number>",
    variable: "PODFIT_KUBE_API_BURST",
    help: "how many resizes may begin at once, after a while without any",
    fallback: String(DEFAULT_PACE.burst),
  },
  listen: {
    flag: "--listen",
    value: "<address>",
    variable: "PODFIT_LISTEN",
    help: "where /metrics, /healthz and /readyz answer",
    fallback: "0.0.0.0:8080",
  },
  debugListen: {
    flag: "--debug-listen",
    value: "<address>",
    variable: "PODFIT_DEBUG_LISTEN",
    help: "where /debug/records answers: what was decided of each pod and why, for about an hour (default: nowhere)",
  },
  tlsCertFile: {
    flag: "--tls-cert-file",
    value: "<path>",
    variable: "PODFIT_TLS_CERT_FILE",
    help:
      "PEM file of the certificate, its chain behind it, with which --listen and --debug-listen speak HTTPS; read anew when it changes",
  },
  tlsPrivateKeyFile: {
    flag: "--tls-private-key-file",
    value: "<path>",
    variable: "PODFIT_TLS_PRIVATE_KEY_FILE",
    help: "PEM file of its key",
  },
  metricsAuth: {
    flag: "--metrics-auth",
    value: null,
    variable: "PODFIT_METRICS_AUTH",
    help:
      "give /metrics and /debug/records only to bearer tokens whose owner may get that path, as the API server says",
  },
} as const satisfies Readonly<Record<string, FlagRow>>;

/** Variables without a flag that an operator sets: those of the product that podfit stands in for. */
export const VARIABLES = {
  PRA_ENABLED: { value: "true", help: "without it podfit only answers health and metrics" },
  PRA_REQUIRES_ANNOTATED_PODS: { value: "true", help: "only pods annotated pra.kedify.io/reconcile=enabled" },
  KEDIFY_AGENT_ID: { value: "<id>", help: "label kedify_agent_id of every kedify_ metric" },
} as const;

/** What --help prints below the flags. */
export function formatVariables(): string {
  const rows = Object.entries(VARIABLES).map(([name, { value, help }]) => [`${name}=${value}`, help] as const);
  const width = Math.max(...rows.map(([left]) => left.length));
  return ["", "Environment:", ...rows.map(([left, help]) => `  ${left.padEnd(width)}  ${help}`)].join("\n");
}
