/**
 * Which flags and environment variables does the daemon have, and what do their values mean?
 *
 * One row per flag with its variable. `--help` and the README are made from these tables.
 */
import { DEFAULT_MAX_AUTOSCALERS } from "../../daemon/cluster/matching.ts";
import { DEFAULT_OBJECT_BOUNDS } from "../../daemon/cluster/object_limits.ts";
import { DEFAULT_WRITE_RATE } from "../../daemon/permits.ts";
import { LOG_FORMATS, LOG_LEVELS } from "../../runtime/log.ts";
import { ADDRESS_TYPES } from "../../usage/kubelet/client.ts";
import type { GetEnv } from "../command/command.ts";
import {
  type FlagValue,
  parseBetween,
  parseBoolean,
  parseBytes,
  parseChoice,
  parseChoices,
  parseHostRules,
  parseListen,
  parseMs,
  parseNamespace,
  parseNamespaces,
  parseOptional,
  parsePod,
  parsePodCount,
  parseSize,
  parseSubdomain,
  parseUid,
  parseWhole,
} from "../command/parse_values.ts";
import { StartError } from "../command/process.ts";
import { DEFAULT_CLUSTER_OBJECT_NAMESPACE, REPLICAS_MODES, type ReplicasMode } from "../connection/api_server.ts";

/** A flag with its variable, as --help shows it. */
export interface FlagRow {
  readonly flag: string;
  /** The name of its value in --help, in brackets where it is optional; `null` for a flag without a value. */
  readonly value: string | null;
  readonly variable: string;
  readonly help: string;
  readonly isRepeatable?: boolean;
  readonly fallback?: string;
  /** The allowed values. */
  readonly choices?: readonly string[];
  /** Returns the option. Gets the fallback where nothing is written. Throws a StartError for a wrong value. */
  readonly parse: (written: readonly FlagValue[]) => unknown;
}

/** The last value; `null` where nothing is written. */
function optional<T>(parse: (written: FlagValue) => T): (written: readonly FlagValue[]) => T | null {
  return (written) => parseOptional(written.at(-1) ?? null, parse);
}

/** The last value, of a flag with a fallback. */
function required<T>(parse: (written: FlagValue) => T): (written: readonly FlagValue[]) => T {
  return (written) => parse(written.at(-1) ?? { name: "", text: "" });
}

/** Off unless written. */
function isOn(written: readonly FlagValue[]): boolean {
  return optional(parseBoolean)(written) ?? false;
}

/** The flag was once one without a value. */
function parseReplicasMode(written: FlagValue): ReplicasMode {
  const text = written.text.toLowerCase();
  if (["true", "t", "1"].includes(text)) return "all";
  if (["false", "f", "0", ""].includes(text)) return "off";
  return parseChoice(written, REPLICAS_MODES);
}

function toText({ text }: FlagValue): string {
  return text;
}

/** Kubernetes' own. Their pods keep every cluster running, and no tenant owns them. */
const EXCLUDED_NAMESPACES = ["kube-system", "kube-public", "kube-node-lease"];

/** Where usage can be read. */
const STATS_SOURCES = ["kubelet", "proxy", "cgroup", "metrics-api", "auto"] as const;

/** A flag by its name in commander. */
export type FlagName = keyof typeof FLAGS;

/** By the name of the flag in commander. */
export const FLAGS = {
  kubeconfig: {
    flag: "--kubeconfig",
    value: "<path>",
    variable: "PODFIT_KUBECONFIG",
    help: "kubeconfig file, repeatable (default: KUBECONFIG, the service account, ~/.kube/config)",
    isRepeatable: true,
    parse: (written: readonly FlagValue[]) => written.map(toText),
  },
  context: {
    flag: "--context",
    value: "<name>",
    variable: "PODFIT_CONTEXT",
    help: "context of the kubeconfig (default: its current-context)",
    parse: optional(toText),
  },
  namespace: {
    flag: "--namespace",
    value: "<name>",
    variable: "PODFIT_NAMESPACE",
    help: "look after this namespace only; repeatable, or a list with commas (default: all)",
    isRepeatable: true,
    parse: parseNamespaces,
  },
  excludeNamespace: {
    flag: "--exclude-namespace",
    value: "<name>",
    variable: "PODFIT_EXCLUDE_NAMESPACE",
    help: "resize and scale nothing in this namespace; repeatable, or a list with commas; none excludes no namespace",
    fallback: EXCLUDED_NAMESPACES.join(),
    isRepeatable: true,
    parse: (written: readonly FlagValue[]) => {
      const names = parseNamespaces(written) ?? [];
      return names.join() === "none" ? [] : names;
    },
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
    parse: required((written) => parseChoice(written, STATS_SOURCES)),
  },
  node: {
    flag: "--node",
    value: "<name>",
    variable: "PODFIT_NODE",
    help: "look after the pods of this node only (default: all)",
    parse: optional((written) => parseSubdomain(written, "node name")),
  },
  pod: {
    flag: "--pod",
    value: "<namespace/name>",
    variable: "PODFIT_POD",
    help: "look after this pod only, which podfit runs in: with --stats-source metrics-api, or cgroup and --node " +
      "(default: all)",
    parse: (written: readonly FlagValue[]) => parsePod(written.at(-1) ?? null),
  },
  cgroupRoot: {
    flag: "--cgroup-root",
    value: "<directory>",
    variable: "PODFIT_CGROUP_ROOT",
    help: "where the node's /sys/fs/cgroup is mounted, for --stats-source cgroup",
    parse: optional(toText),
  },
  kubeletCa: {
    flag: "--kubelet-ca",
    value: "<path>",
    variable: "PODFIT_KUBELET_CA",
    help: "PEM file of the CA that signs kubelet certificates (default: the cluster's)",
    parse: optional(toText),
  },
  kubeletInsecureTls: {
    flag: "--kubelet-insecure-tls",
    value: null,
    variable: "PODFIT_KUBELET_INSECURE_TLS",
    help: "accept any kubelet certificate; the token can then be stolen on the way",
    parse: isOn,
  },
  kubeletTokenFile: {
    flag: "--kubelet-token-file",
    value: "<path>",
    variable: "PODFIT_KUBELET_TOKEN_FILE",
    help:
      "file of the token that kubelets get, read again when it changes (default: in a pod one that podfit asks for, " +
      "of the service account podfit-kubelet; elsewhere that of the kubeconfig)",
    parse: optional(toText),
  },
  kubeletOwnCredential: {
    flag: "--kubelet-own-credential",
    value: null,
    variable: "PODFIT_KUBELET_OWN_CREDENTIAL",
    help: "in a pod, send kubelets podfit's own token, which may resize pods, instead of tokens of podfit-kubelet",
    parse: isOn,
  },
  kubeletPreferredAddressTypes: {
    flag: "--kubelet-preferred-address-types",
    value: "<types>",
    variable: "PODFIT_KUBELET_PREFERRED_ADDRESS_TYPES",
    help: "which addresses of a node are dialed, a list with commas: InternalIP, ExternalIP, Hostname, InternalDNS, " +
      "ExternalDNS; the last three are whatever DNS makes of what the node says",
    fallback: "InternalIP",
    parse: required((written) => parseChoices(written, ADDRESS_TYPES)),
  },
  minPollInterval: {
    flag: "--min-poll-interval",
    value: "<duration>",
    variable: "PODFIT_MIN_POLL_INTERVAL",
    help: "raise a shorter pollInterval or pollingInterval to this (default: none is raised)",
    parse: optional(parseMs),
  },
  maxCpu: {
    flag: "--max-cpu",
    value: "<quantity>",
    variable: "PODFIT_MAX_CPU",
    help: "size no CPU request or limit above this, whatever bounds say (default: no ceiling)",
    parse: optional((written) => parseSize(written, "cpu")),
  },
  maxMemory: {
    flag: "--max-memory",
    value: "<quantity>",
    variable: "PODFIT_MAX_MEMORY",
    help: "the same for memory",
    parse: optional((written) => parseSize(written, "memory")),
  },
  maxContenders: {
    flag: "--max-contenders",
    value: "<number>",
    variable: "PODFIT_MAX_CONTENDERS",
    help: "ask this many autoscalers of one container, those of the highest priority",
    fallback: String(DEFAULT_MAX_AUTOSCALERS),
    parse: required((written) => parseWhole(written, [1, 1000])),
  },
  maxAutoscalersPerNamespace: {
    flag: "--max-autoscalers-per-namespace",
    value: "<number>",
    variable: "PODFIT_MAX_AUTOSCALERS_PER_NAMESPACE",
    help: "the oldest of a namespace count, the others have Ready=False; 0 = no maximum",
    fallback: String(DEFAULT_OBJECT_BOUNDS.maxAutoscalers),
    parse: required((written) => parseWhole(written, [0, 1_000_000])),
  },
  maxScaledObjectsPerNamespace: {
    flag: "--max-scaled-objects-per-namespace",
    value: "<number>",
    variable: "PODFIT_MAX_SCALED_OBJECTS_PER_NAMESPACE",
    help: "the same for ScaledObjects, and for TriggerAuthentications",
    fallback: String(DEFAULT_OBJECT_BOUNDS.maxScaledObjects),
    parse: required((written) => parseWhole(written, [0, 1_000_000])),
  },
  maxObjectBytesPerNamespace: {
    flag: "--max-object-bytes-per-namespace",
    value: "<quantity>",
    variable: "PODFIT_MAX_OBJECT_BYTES_PER_NAMESPACE",
    help:
      "how many bytes the autoscalers, ScaledObjects and TriggerAuthentications of a namespace may have: the oldest that " +
      "fit count, the others have Ready=False; 0 = no maximum",
    fallback: "4Mi",
    parse: required((written) => written.text === "0" ? 0 : parseSize(written, "memory")),
  },
  maxUnavailable: {
    flag: "--max-unavailable",
    value: "<number or percentage>",
    variable: "PODFIT_MAX_UNAVAILABLE",
    help: "how many pods of a workload may be unavailable because resizes restart their containers, for autoscalers " +
      "without policy.maxUnavailable (default: 25%, at least 1)",
    parse: optional(parsePodCount),
  },
  ignoreDisruptionBudgets: {
    flag: "--ignore-disruption-budgets",
    value: null,
    variable: "PODFIT_IGNORE_DISRUPTION_BUDGETS",
    help: "restart containers for a resize whatever PodDisruptionBudgets say; podfit does not watch them",
    parse: isOn,
  },
  scaledObjects: {
    flag: "--scaled-objects",
    value: "[mode]",
    variable: "PODFIT_SCALED_OBJECTS",
    help: "set replicas as KEDA's ScaledObjects say: off; all, which is meant without a mode, where no KEDA runs; or " +
      'selected, next to KEDA, for objects annotated podfit.dev/scale: "true"',
    fallback: "off",
    choices: REPLICAS_MODES,
    parse: required(parseReplicasMode),
  },
  kedaDeactivation: {
    flag: "--keda-deactivation",
    value: null,
    variable: "PODFIT_KEDA_DEACTIVATION",
    help:
      "scale to zero as soon as KEDA does. There is then no cooldown for an object that was never active, an empty " +
      "answer of Prometheus is a zero, the first check after a start counts, and any number of targets goes at once",
    parse: isOn,
  },
  maxDeactivationsPerMinute: {
    flag: "--max-deactivations-per-minute",
    value: "<number>",
    variable: "PODFIT_MAX_DEACTIVATIONS_PER_MINUTE",
    help: "scale at most this many targets to zero within a minute (default: 10, or 5 % of the ScaledObjects if that " +
      "is more; no limit with --keda-deactivation)",
    parse: optional((written) => parseWhole(written, [1, 100_000])),
  },
  clusterObjectNamespace: {
    flag: "--cluster-object-namespace",
    value: "<name>",
    variable: "PODFIT_CLUSTER_OBJECT_NAMESPACE",
    help: "namespace of the secrets that ClusterTriggerAuthentications name",
    fallback: DEFAULT_CLUSTER_OBJECT_NAMESPACE,
    parse: required(parseNamespace),
  },
  clusterCredentialsAnywhere: {
    flag: "--cluster-credentials-anywhere",
    value: null,
    variable: "PODFIT_CLUSTER_CREDENTIALS_ANYWHERE",
    help:
      "send the credentials of a ClusterTriggerAuthentication without annotations to any host, for any namespace, " +
      "as KEDA does; without this flag podfit.dev/allowed-hosts and podfit.dev/allowed-namespaces must name them",
    parse: isOn,
  },
  plainHttpCredentials: {
    flag: "--plain-http-credentials",
    value: null,
    variable: "PODFIT_PLAIN_HTTP_CREDENTIALS",
    help: "send credentials of authentications over plain HTTP too, as KEDA does; without this flag only those " +
      'annotated podfit.dev/allow-plain-http: "true"',
    parse: isOn,
  },
  requireSecretLabel: {
    flag: "--require-secret-label",
    value: null,
    variable: "PODFIT_REQUIRE_SECRET_LABEL",
    help: 'use only secrets with the label podfit.dev/trigger: "true" for triggers',
    parse: isOn,
  },
  metricsApis: {
    flag: "--metrics-apis",
    value: null,
    variable: "PODFIT_METRICS_APIS",
    help: "let triggers of type pods-metric, object-metric and external-metric ask custom.metrics.k8s.io and " +
      "external.metrics.k8s.io, as an HPA does",
    parse: isOn,
  },
  maxTriggerAnswer: {
    flag: "--max-trigger-answer",
    value: "<quantity>",
    variable: "PODFIT_MAX_TRIGGER_ANSWER",
    help:
      "the largest answer of a trigger's server, from 1Ki to 1Mi; podfit parses it on its one thread (default: 128Ki)",
    parse: optional((written) => parseBytes(written, [2 ** 10, 2 ** 20])),
  },
  triggerAllow: {
    flag: "--trigger-allow",
    value: "<hosts>",
    variable: "PODFIT_TRIGGER_ALLOW",
    help:
      "let triggers ask these, although podfit's own pod, the API server, nodes and loopback addresses are denied. " +
      "Errors then name the cause. Values are hosts, *.suffixes or ranges of addresses, each with a port or without; " +
      "repeatable, or a list with commas (default: none)",
    isRepeatable: true,
    parse: parseHostRules,
  },
  triggerDeny: {
    flag: "--trigger-deny",
    value: "<hosts>",
    variable: "PODFIT_TRIGGER_DENY",
    help: "never let triggers ask these, such as 10.0.0.0/8; written as for --trigger-allow (default: none)",
    isRepeatable: true,
    parse: parseHostRules,
  },
  leaderElect: {
    flag: "--leader-elect",
    value: "[boolean]",
    variable: "PODFIT_LEADER_ELECT",
    help: "act only while holding a Lease, so that several replicas may run (default: true in a pod with its service " +
      "account, else false)",
    parse: optional(parseBoolean),
  },
  leaderElectResourceName: {
    flag: "--leader-elect-resource-name",
    value: "<name>",
    variable: "PODFIT_LEADER_ELECT_RESOURCE_NAME",
    help: "name of that Lease; podfit-sidecar with --pod",
    fallback: "podfit",
    parse: required((written) => parseSubdomain(written, "Lease name")),
  },
  leaderElectResourceNamespace: {
    flag: "--leader-elect-resource-namespace",
    value: "<name>",
    variable: "PODFIT_LEADER_ELECT_RESOURCE_NAMESPACE",
    help: "namespace of that Lease (default: that of the service account, or of the context)",
    parse: optional(parseNamespace),
  },
  dryRun: {
    flag: "--dry-run",
    value: null,
    variable: "PODFIT_DRY_RUN",
    help: "decide and report everything, resize nothing",
    parse: isOn,
  },
  logLevel: {
    flag: "--log-level",
    value: "<level>",
    variable: "PODFIT_LOG_LEVEL",
    help: "least level that is logged: debug, info, warn or error",
    fallback: "info",
    choices: LOG_LEVELS,
    parse: required((written) => parseChoice(written, LOG_LEVELS)),
  },
  logFormat: {
    flag: "--log-format",
    value: "<format>",
    variable: "PODFIT_LOG_FORMAT",
    help: "one line per message: json or text",
    fallback: "json",
    choices: LOG_FORMATS,
    parse: required((written) => parseChoice(written, LOG_FORMATS)),
  },
  kubeApiQps: {
    flag: "--kube-api-qps",
    value: "<number>",
    variable: "PODFIT_KUBE_API_QPS",
    help: "how many resizes may begin per second",
    fallback: String(DEFAULT_WRITE_RATE.perSecond),
    parse: required((written) => parseBetween(written, [0.1, 10_000])),
  },
  kubeApiBurst: {
    flag: "--kube-api-burst",
    value: "<number>",
    variable: "PODFIT_KUBE_API_BURST",
    help: "how many resizes may begin at once, after a while without any",
    fallback: String(DEFAULT_WRITE_RATE.burst),
    parse: required((written) => parseBetween(written, [1, 10_000])),
  },
  listen: {
    flag: "--listen",
    value: "<address>",
    variable: "PODFIT_LISTEN",
    help: "where /metrics, /healthz and /readyz answer",
    fallback: "0.0.0.0:8080",
    parse: required(parseListen),
  },
  debugListen: {
    flag: "--debug-listen",
    value: "<address>",
    variable: "PODFIT_DEBUG_LISTEN",
    help:
      "where /debug/records answers: what was decided of each pod and why, for about an hour. An address that other " +
      "machines reach needs --pod-uid or --metrics-auth (default: nowhere)",
    parse: optional(parseListen),
  },
  podUid: {
    flag: "--pod-uid",
    value: "<uid>",
    variable: "PODFIT_POD_UID",
    help: "uid of the pod that podfit runs in. /debug/records then answers only what comes through the API server's " +
      "pods/proxy: a request with this uid, from no address of a pod",
    parse: optional(parseUid),
  },
  tlsCertFile: {
    flag: "--tls-cert-file",
    value: "<path>",
    variable: "PODFIT_TLS_CERT_FILE",
    help:
      "PEM file of the certificate, its chain behind it, with which --listen and --debug-listen speak HTTPS; read again when it changes",
    parse: optional((written) => written),
  },
  tlsPrivateKeyFile: {
    flag: "--tls-private-key-file",
    value: "<path>",
    variable: "PODFIT_TLS_PRIVATE_KEY_FILE",
    help: "PEM file of its key",
    parse: optional((written) => written),
  },
  metricsAuth: {
    flag: "--metrics-auth",
    value: null,
    variable: "PODFIT_METRICS_AUTH",
    help:
      "give /metrics and /debug/records only to bearer tokens whose owner may get that path, as the API server says",
    parse: isOn,
  },
} as const satisfies Readonly<Record<string, FlagRow>>;

/** Variables without a flag that an operator sets: those of the product that podfit replaces. */
export const VARIABLES = {
  PRA_ENABLED: { value: "true", help: "without it podfit only answers health and metrics" },
  PRA_REQUIRES_ANNOTATED_PODS: { value: "true", help: "only pods annotated pra.kedify.io/reconcile=enabled" },
  PODFIT_POD_IPS: {
    value: "<addresses>",
    help:
      "addresses of podfit's pod (status.podIPs): triggers do not ask them, and records go to clients of the first one's " +
      "family",
  },
  KEDIFY_AGENT_ID: { value: "<id>", help: "label kedify_agent_id of every kedify_ metric" },
} as const;

/** What each row's `parse` returns. */
export type FlagValues = { readonly [Name in FlagName]: ReturnType<typeof FLAGS[Name]["parse"]> };

/** Unparsed values. The reader of variables in commander would take `PODFIT_DRY_RUN=false` for true. */
export type GivenFlags = Readonly<Partial<Record<FlagName, true | string | readonly string[]>>>;

/** Returns the value of each row. Throws a StartError for a wrong one. */
export function parseFlags(given: GivenFlags, getEnv: GetEnv): FlagValues {
  const names = Object.keys(FLAGS) as FlagName[];
  return Object.fromEntries(names.map((name) => [name, parseRow(FLAGS[name], given[name], getEnv)])) as FlagValues;
}

function parseRow(row: FlagRow, given: GivenFlags[FlagName], getEnv: GetEnv): unknown {
  const { flag, fallback, parse } = row;
  const written = listWritten(row, given, getEnv);
  return parse(written.length === 0 && fallback !== undefined ? [{ name: flag, text: fallback }] : written);
}

/** The values of the flag, else of its variable. An empty variable counts as missing, an empty flag is an error. */
export function listWritten(row: FlagRow, given: GivenFlags[FlagName], getEnv: GetEnv): readonly FlagValue[] {
  if (given === undefined) {
    const text = getEnv(row.variable)?.trim() ?? "";
    return text === "" ? [] : [{ name: row.variable, text }];
  }
  const texts = given === true ? ["true"] : typeof given === "string" ? [given] : given;
  return texts.map((text) => {
    if (text.trim() === "") throw new StartError(`Cannot read ${row.flag} "${text}": it is empty`);
    return { name: row.flag, text: text.trim() };
  });
}
