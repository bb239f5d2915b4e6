/**
 * The options of the daemon: flags and environment variables, parsed and checked in the same way.
 *
 * One table has a row per flag with its variable; `--help` and the README are made from it. The commander program is
 * made here, and all other commands are added to it.
 */
import { Command, type Option } from "commander";
import { DEFAULT_MAX_AUTOSCALERS } from "../../daemon/cluster/matching.ts";
import { DEFAULT_WRITE_RATE, type WriteRate } from "../../daemon/permits.ts";
import type { OperatorLimits } from "../../resources/pod_resource_autoscaler/parse.ts";
import { LOG_FORMATS, LOG_LEVELS, type LogFormat, type LogLevel } from "../../runtime/log.ts";
import { ADDRESS_TYPES, type AddressType } from "../../usage/kubelet/client.ts";
import { addExamples, type CommandContext, createFlag, formatFlagError, type GetEnv } from "../command/command.ts";
import {
  type FlagValue,
  parseBetween,
  parseBoolean,
  parseChoice,
  parseChoices,
  parseListen,
  parseMs,
  parseNamespace,
  parseNamespaces,
  parseOptional,
  parsePod,
  parseSize,
  parseSubdomain,
  parseWhole,
} from "../command/parse_values.ts";
import { formatExitCodes, StartError, VERSION } from "../command/process.ts";
import { writeDiagnostic, writeOutput } from "../terminal/output.ts";
import {
  checkReplicas,
  checkSidecar,
  checkSource,
  STATS_SOURCES,
  type StatsSource,
  toNamespaces,
} from "./check_options.ts";

// Which flags and environment variables are there? One row per flag with the variable that stands in for it, and the
// variables without a flag. What --help prints and the README lists is made of these tables.

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
type FlagName = keyof typeof FLAGS;

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
    fallback: String(DEFAULT_MAX_AUTOSCALERS),
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
    fallback: String(DEFAULT_WRITE_RATE.perSecond),
  },
  kubeApiBurst: {
    flag: "--kube-api-burst",
    value: "<number>",
    variable: "PODFIT_KUBE_API_BURST",
    help: "how many resizes may begin at once, after a while without any",
    fallback: String(DEFAULT_WRITE_RATE.burst),
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
function formatVariables(): string {
  const rows = Object.entries(VARIABLES).map(([name, { value, help }]) => [`${name}=${value}`, help] as const);
  const width = Math.max(...rows.map(([left]) => left.length));
  return ["", "Environment:", ...rows.map(([left, help]) => `  ${left.padEnd(width)}  ${help}`)].join("\n");
}

// From a row of the flags' table to commander's option.

/** Help shows the choices in the flag's own text; completion uses the choices. */
function toCommanderOption({ flag, value, variable, help, fallback, isRepeatable, choices }: FlagRow): Option {
  const notes = [...(fallback === undefined ? [] : [`default: ${fallback}`]), `env: ${variable}`].join(", ");
  return createFlag(value === null ? flag : `${flag} ${value}`, `${help} (${notes})`, { isRepeatable, choices });
}

// The daemon's options: flags and their environment variables, parsed and checked by one way for both. With
// `terminal/output.ts` and `runtime/log.ts` the only place that reads arguments and environment.

/** The daemon's options, checked. */
export interface RunOptions {
  readonly kubeconfigPaths: readonly string[];
  readonly context: string | null;
  /** `null` = all. That of the pod, where there is one. */
  readonly namespaces: readonly string[] | null;
  readonly statsSource: StatsSource;
  /** `null` = all. */
  readonly node: string | null;
  /** The one that podfit runs in and looks after; `null` = all. */
  readonly pod: { readonly namespace: string; readonly name: string } | null;
  /** Where the cgroups of `node` are; `null` unless they are the source. */
  readonly cgroupRoot: string | null;
  readonly kubeletCa: string | null;
  readonly kubeletInsecureTls: boolean;
  readonly kubeletTokenFile: string | null;
  /** In the order in which they are looked for. */
  readonly kubeletPreferredAddressTypes: readonly AddressType[];
  readonly limits: OperatorLimits;
  readonly maxContenders: number;
  /** Are replicas set, as ScaledObjects say? */
  readonly scaledObjects: boolean;
  /** Where secrets of ClusterTriggerAuthentications are; `null` = in that of the service account, or of the context. */
  readonly clusterObjectNamespace: string | null;
  readonly leaderElection: LeaderElection;
  readonly dryRun: boolean;
  readonly logLevel: LogLevel;
  readonly logFormat: LogFormat;
  readonly pace: WriteRate;
  readonly listen: { readonly hostname: string; readonly port: number };
  /** Where what was decided is told; `null` = nowhere. */
  readonly debugListen: { readonly hostname: string; readonly port: number } | null;
  /** With which both speak HTTPS; `null` = HTTP. */
  readonly tls: { readonly certPath: string; readonly keyPath: string } | null;
  readonly metricsAuth: boolean;
  readonly environment: Environment;
}

/** Whether one of several podfits acts, and by which Lease. */
interface LeaderElection {
  /** `null` = where podfit runs in a pod, by its service account. */
  readonly isOn: boolean | null;
  readonly name: string;
  /** `null` = that of the service account, or of the context. */
  readonly namespace: string | null;
}

const LEASE = FLAGS.leaderElectResourceName.fallback;

/** What `--kube-api-qps` and `--kube-api-burst` may be. */
const PER_SECOND = [0.1, 10_000] as const;

const BURST = [1, 10_000] as const;

/** Variables without a flag: those of the product that podfit stands in for, and the platform's. */
interface Environment {
  readonly isEnabled: boolean;
  readonly requiresAnnotation: boolean;
  readonly agentId: string;
  readonly kubeconfig: string | null;
  readonly home: string | null;
  readonly hostname: string | null;
  readonly serviceHost: string | null;
  readonly servicePort: string | null;
}

/** What podfit does. */
interface ProgramParts {
  /** The daemon, which is what podfit without a command is. */
  readonly run: (options: RunOptions) => Promise<void>;
  /** None unless given. */
  readonly commands?: (context: CommandContext) => readonly Command[];
}

/** The commander program; a command gets its options once they are valid. What is wrong with them is a StartError. */
export function createProgram(getEnv: GetEnv, { run, commands = () => [] }: ProgramParts, name = "podfit"): Command {
  const complain = (text: string, command: string) => formatFlagError(text, command.replace(/^podfit/, name));
  const program = new Command(name)
    .description("Keeps every pod the right size: resizes pods in place by what their containers really use.")
    .version(VERSION, "--version", "print the version and exit")
    .helpOption("-h, --help", "print this help and exit")
    // What a flag may be stands in its own words.
    .configureHelp({ optionDescription: ({ description }) => description })
    .addHelpText("after", [formatVariables(), formatExitCodes(), ""].join("\n"))
    .configureOutput({ ...OUTPUT, outputError: (text, write) => write(complain(text, "podfit")) })
    .allowExcessArguments(false)
    // A flag belongs to the command before it: `podfit lint --dry-run` is an error.
    .enablePositionalOptions();
  for (const row of Object.values(FLAGS)) program.addOption(toCommanderOption(row));
  for (const command of commands({ toComplaint: complain, getEnv })) {
    program.addCommand(command.configureOutput(OUTPUT));
  }
  return addExamples(program, EXAMPLES).action((given: GivenFlags) => run(toRunOptions(given, getEnv)));
}

/** Help and complaints of commander go the way of all output. */
const OUTPUT = { writeOut: (text: string) => void writeOutput(text), writeErr: writeDiagnostic };

const EXAMPLES = [
  [
    "the daemon, by the current context of the kubeconfig, on two namespaces",
    "PRA_ENABLED=true podfit --namespace shop,cart",
  ],
  ["what it would do, resizing nothing", "PRA_ENABLED=true podfit --dry-run --log-format text"],
  ["podfit at work on an embedded cluster, for a minute", "podfit demo"],
] as const;

/** Values as they were written; commander's own reading of variables takes `PODFIT_DRY_RUN=false` for true. */
type GivenFlags = Readonly<Partial<Record<FlagName, true | string | readonly string[]>>>;

function toRunOptions(given: GivenFlags, getEnv: GetEnv): RunOptions {
  const list = (name: FlagName) => listWritten({ row: FLAGS[name], given: given[name] }, getEnv);
  const last = (name: FlagName) => list(name).at(-1) ?? null;
  const lastOr = (name: FlagName, fallback: string) => last(name) ?? { name: FLAGS[name].flag, text: fallback };
  const pod = parsePod(last("pod"));
  const options = {
    kubeconfigPaths: list("kubeconfig").map(({ text }) => text),
    context: last("context")?.text ?? null,
    namespaces: toNamespaces(parseNamespaces(list("namespace")), pod),
    statsSource: parseChoice(lastOr("statsSource", FLAGS.statsSource.fallback), STATS_SOURCES),
    node: parseOptional(last("node"), (written) => parseSubdomain(written, "node name")),
    pod,
    cgroupRoot: last("cgroupRoot")?.text ?? null,
    kubeletCa: last("kubeletCa")?.text ?? null,
    kubeletInsecureTls: parseBoolean(lastOr("kubeletInsecureTls", "false")),
    kubeletTokenFile: last("kubeletTokenFile")?.text ?? null,
    kubeletPreferredAddressTypes: parseChoices(
      lastOr("kubeletPreferredAddressTypes", FLAGS.kubeletPreferredAddressTypes.fallback),
      ADDRESS_TYPES,
    ),
    limits: {
      minPollIntervalMs: parseOptional(last("minPollInterval"), parseMs),
      maxCpuMillicores: parseOptional(last("maxCpu"), (written) => parseSize(written, "cpu")),
      maxMemoryBytes: parseOptional(last("maxMemory"), (written) => parseSize(written, "memory")),
    },
    maxContenders: parseWhole(lastOr("maxContenders", FLAGS.maxContenders.fallback), [1, 1000]),
    scaledObjects: parseBoolean(lastOr("scaledObjects", "false")),
    clusterObjectNamespace: parseOptional(last("clusterObjectNamespace"), parseNamespace),
    leaderElection: {
      isOn: parseOptional(last("leaderElect"), parseBoolean),
      name: parseSubdomain(lastOr("leaderElectResourceName", pod === null ? LEASE : `${LEASE}-sidecar`), "Lease name"),
      namespace: parseOptional(last("leaderElectResourceNamespace"), parseNamespace),
    },
    dryRun: parseBoolean(lastOr("dryRun", "false")),
    logLevel: parseChoice(lastOr("logLevel", FLAGS.logLevel.fallback), LOG_LEVELS),
    logFormat: parseChoice(lastOr("logFormat", FLAGS.logFormat.fallback), LOG_FORMATS),
    pace: {
      perSecond: parseBetween(lastOr("kubeApiQps", FLAGS.kubeApiQps.fallback), PER_SECOND),
      burst: parseBetween(lastOr("kubeApiBurst", FLAGS.kubeApiBurst.fallback), BURST),
    },
    listen: parseListen(lastOr("listen", FLAGS.listen.fallback)),
    debugListen: parseOptional(last("debugListen"), parseListen),
    tls: toTlsFiles(last("tlsCertFile"), last("tlsPrivateKeyFile")),
    metricsAuth: parseBoolean(lastOr("metricsAuth", "false")),
    environment: getRunEnvironment(getEnv),
  };
  checkSource(options);
  checkSidecar(options);
  checkReplicas(options);
  return options;
}

function toTlsFiles(cert: FlagValue | null, key: FlagValue | null): RunOptions["tls"] {
  if (cert === null && key === null) return null;
  if (cert !== null && key !== null) return { certPath: cert.text, keyPath: key.text };
  const [given, missing] = cert !== null ? [cert, FLAGS.tlsPrivateKeyFile] : [key, FLAGS.tlsCertFile];
  throw new StartError(`Cannot use ${given?.name} without ${missing.flag}: a certificate and its key go together`);
}

/** The flag as often as it is there, else its variable. An empty variable is as good as none, an empty flag is not. */
function listWritten(
  { row, given }: { readonly row: FlagRow; readonly given: GivenFlags[FlagName] | undefined },
  getEnv: GetEnv,
): readonly FlagValue[] {
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

function getRunEnvironment(getEnv: GetEnv): Environment {
  const read = (name: string) => getEnv(name)?.trim() || null;
  const isTrue = (name: string) => parseBoolean({ name, text: read(name) ?? "false" });
  return {
    isEnabled: isTrue("PRA_ENABLED"),
    requiresAnnotation: isTrue("PRA_REQUIRES_ANNOTATED_PODS"),
    agentId: read("KEDIFY_AGENT_ID") ?? "",
    kubeconfig: read("KUBECONFIG"),
    home: read("HOME"),
    hostname: read("HOSTNAME"),
    serviceHost: read("KUBERNETES_SERVICE_HOST"),
    servicePort: read("KUBERNETES_SERVICE_PORT"),
  };
}
