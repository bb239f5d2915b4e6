/**
 * What are the options of the daemon, and do they fit together?
 *
 * The commander program is made here, with the command `run`, and all other commands are added to it. Options that
 * contradict each other are a StartError that says what to leave out.
 */
import { Command, type Help, type Option } from "commander";
import type { WriteRate } from "../../daemon/permits.ts";
import type { OperatorLimits } from "../../resources/pod_resource_autoscaler/parse.ts";
import {
  addExamples,
  type CommandContext,
  createFlag,
  formatFlagError,
  formatHelpItem,
  type GetEnv,
  getHelpColumns,
  throwExit,
} from "../command/command.ts";
import { type FlagValue, parseBoolean } from "../command/parse_values.ts";
import { EXIT, formatExitCodes, StartError, VERSION } from "../command/process.ts";
import { writeDiagnostic, writeOutput } from "../terminal/output.ts";
import { type FlagRow, FLAGS, type FlagValues, type GivenFlags, listWritten, parseFlags, VARIABLES } from "./flags.ts";

/** What --help prints below the flags. */
function formatVariables(): string {
  const rows = Object.entries(VARIABLES).map(([name, { value, help }]) => [`${name}=${value}`, help] as const);
  const width = Math.max(...rows.map(([left]) => left.length));
  return ["", "Environment:", ...rows.map(([left, help]) => formatHelpItem(left, width, help)), ""].join("\n");
}

/** Help shows the choices in the flag's own text; completion uses the choices. */
function toCommanderOption({ flag, value, variable, help, fallback, isRepeatable, choices }: FlagRow): Option {
  const notes = [...(fallback === undefined ? [] : [`default: ${fallback}`]), `env: ${variable}`].join(", ");
  return createFlag(value === null ? flag : `${flag} ${value}`, `${help} (${notes})`, { isRepeatable, choices });
}

/** Flags that are combined with others, or are options of another name. */
type JoinedFlag =
  | "kubeconfig"
  | "namespace"
  | "excludeNamespace"
  | "minPollInterval"
  | "maxCpu"
  | "maxMemory"
  | "maxAutoscalersPerNamespace"
  | "maxScaledObjectsPerNamespace"
  | "maxObjectBytesPerNamespace"
  | "maxUnavailable"
  | "leaderElect"
  | "leaderElectResourceName"
  | "leaderElectResourceNamespace"
  | "kubeApiQps"
  | "kubeApiBurst"
  | "tlsCertFile"
  | "tlsPrivateKeyFile";

/** The daemon's options, checked. */
export interface RunOptions extends Omit<FlagValues, JoinedFlag> {
  readonly kubeconfigPaths: readonly string[];
  /** `null` = all; with --pod that of the pod. */
  readonly namespaces: readonly string[] | null;
  readonly limits: OperatorLimits;
  readonly leaderElection: LeaderElection;
  readonly pace: WriteRate;
  /** With which --listen and --debug-listen speak HTTPS; `null` = HTTP. */
  readonly tls: { readonly certPath: string; readonly keyPath: string } | null;
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

/** Variables without a flag: those of the product that podfit replaces, and the platform's. */
interface Environment {
  readonly isEnabled: boolean;
  readonly requiresAnnotation: boolean;
  readonly agentId: string;
  readonly kubeconfig: string | null;
  readonly home: string | null;
  readonly hostname: string | null;
  readonly serviceHost: string | null;
  readonly servicePort: string | null;
  /** Of the pod that podfit runs in. */
  readonly podIps: readonly string[];
}

/** What podfit does. */
interface ProgramParts {
  /** The daemon, which is the command `run`. */
  readonly run: (options: RunOptions) => Promise<void>;
  /** No other commands unless given. */
  readonly commands?: (context: CommandContext) => readonly Command[];
}

/** Returns the commander program. A command gets its options once they are valid; an invalid one is a StartError. */
export function createProgram(getEnv: GetEnv, { run, commands = () => [] }: ProgramParts, name = "podfit"): Command {
  const complain = (text: string, command: string) => formatFlagError(text, command.replace(/^podfit/, name));
  const program: Command = new Command(name)
    .version(VERSION, "--version", "print the version and exit")
    .helpOption("-h, --help", "print this help and exit")
    .configureHelp({ formatHelp: formatOverview })
    .configureOutput({ ...OUTPUT, outputError: (text, write) => write(complain(toRunAdvice(text, name), "podfit")) })
    // A flag belongs to the command before it: `podfit lint --dry-run` is an error.
    .enablePositionalOptions()
    .helpCommand(false);
  const daemon = new Command("run").description("the daemon: resize pods and scale workloads until it is ended")
    // The flag's own text lists its choices.
    .configureHelp({ optionDescription: ({ description }) => description, formatItem: formatHelpItem })
    .helpOption("-h, --help", "print this help and exit")
    .addHelpText("after", () => `${formatVariables()}\n${formatExitCodes()}\n`)
    .configureOutput({ outputError: (text, write) => write(complain(text, "podfit run")) })
    .allowExcessArguments(false)
    .exitOverride(throwExit)
    .action((given: GivenFlags) => run(toRunOptions(given, getEnv)));
  for (const row of Object.values(FLAGS)) daemon.addOption(toCommanderOption(row));
  const help = new Command("help").argument("[command]").description("print the flags and examples of a command")
    .action((asked?: string) => {
      const isKnown = program.commands.some((command) => command.name() === asked);
      program.parse(asked === undefined ? ["--help"] : isKnown ? [asked, "--help"] : [asked], { from: "user" });
    });
  const version = new Command("version").description("print the version").action(() =>
    void writeOutput(`${VERSION}\n`)
  );
  for (const command of [addExamples(daemon, EXAMPLES), ...commands({ toComplaint: complain, getEnv })]) {
    program.addCommand(command.configureOutput(OUTPUT));
  }
  for (const command of [version, help]) {
    const outputError = (text: string, write: (line: string) => void) => write(complain(text, "podfit"));
    program.addCommand(
      command.allowExcessArguments(false).exitOverride(throwExit).configureOutput({ ...OUTPUT, outputError }),
    );
  }
  return program;
}

/**
 * Returns what is parsed: `help` where nothing was typed. Throws a StartError where the environment is that of a daemon,
 * so that a container made for podfit without `run` says what is missing.
 */
export function toArguments(args: readonly string[], getEnv: GetEnv): readonly string[] {
  if (args.length > 0) return args;
  if (getEnv("PRA_ENABLED") === undefined) return ["help"];
  throw new StartError('Cannot start: PRA_ENABLED is set, and no command is given. The daemon is "podfit run"');
}

/** At most 20 lines, the commands first. */
function formatOverview(program: Command, help: Help): string {
  const commands = help.visibleCommands(program);
  const width = Math.max(...commands.map((command) => command.name().length));
  return [
    `${program.name()} keeps every pod the right size. Usage: ${program.name()} COMMAND`,
    "",
    ...commands.map((command) => `  ${command.name().padEnd(width)}  ${command.description()}`),
    "",
    `Flags and examples of a command: ${program.name()} help COMMAND`,
    `Exit codes: ${EXIT.ok} done, ${EXIT.found} a check found something, ${EXIT.failed} not done, and stderr says why`,
    "",
  ].join("\n");
}

/** Adds to the complaint about a flag before any command that it is the daemon's. */
function toRunAdvice(text: string, name: string): string {
  const flag = /unknown option '(-[^'=]*)/.exec(text)?.[1];
  if (flag === undefined || !Object.values(FLAGS).some((row) => row.flag.split(", ").includes(flag))) return text;
  return `'${flag}' is a flag of the daemon, which is a command now: write "${name} run ${flag} ..."`;
}

/**
 * Help and complaints of commander are printed like all output, without colours. On a terminal commander would ask Node
 * for colours, which reads variables that podfit has no permission for: Deno then asks the user, or podfit ends.
 */
const OUTPUT = {
  writeOut: (text: string) => void writeOutput(text),
  writeErr: writeDiagnostic,
  getOutHasColors: () => false,
  getErrHasColors: () => false,
  getOutHelpWidth: getHelpColumns,
  getErrHelpWidth: getHelpColumns,
};

const EXAMPLES = [
  [
    "by the current context of the kubeconfig, on two namespaces",
    "PRA_ENABLED=true podfit run --namespace shop,cart",
  ],
  ["what it would do, resizing nothing", "PRA_ENABLED=true podfit run --dry-run --log-format text"],
] as const;

function toRunOptions(given: GivenFlags, getEnv: GetEnv): RunOptions {
  const {
    kubeconfig,
    namespace,
    excludeNamespace: excludedNamespaces,
    minPollInterval,
    maxCpu,
    maxMemory,
    maxAutoscalersPerNamespace,
    maxScaledObjectsPerNamespace,
    maxObjectBytesPerNamespace,
    maxUnavailable,
    leaderElect,
    leaderElectResourceName: lease,
    leaderElectResourceNamespace,
    kubeApiQps,
    kubeApiBurst,
    tlsCertFile,
    tlsPrivateKeyFile,
    ...own
  } = parseFlags(given, getEnv);
  const { pod } = own;
  const { leaderElectResourceName } = FLAGS;
  const isSidecarLease = pod !== null &&
    listWritten(leaderElectResourceName, given.leaderElectResourceName, getEnv).length === 0;
  const options: RunOptions = {
    ...own,
    kubeconfigPaths: kubeconfig,
    namespaces: toNamespaces(namespace, pod),
    limits: {
      minPollIntervalMs: minPollInterval,
      maxCpuMillicores: maxCpu,
      maxMemoryBytes: maxMemory,
      excludedNamespaces,
      // 0 = no maximum.
      objects: {
        maxAutoscalers: maxAutoscalersPerNamespace || null,
        maxScaledObjects: maxScaledObjectsPerNamespace || null,
        maxBytes: maxObjectBytesPerNamespace || null,
      },
      ...(maxUnavailable !== null && { maxUnavailable }),
    },
    leaderElection: {
      isOn: leaderElect,
      name: isSidecarLease ? `${lease}-sidecar` : lease,
      namespace: leaderElectResourceNamespace,
    },
    pace: { perSecond: kubeApiQps, burst: kubeApiBurst },
    tls: toTlsFiles(tlsCertFile, tlsPrivateKeyFile),
    environment: getRunEnvironment(getEnv),
  };
  checkKubelets(options);
  checkNodeLocal(options);
  checkSidecar(options);
  checkReplicas(options);
  checkRecords(options);
  return options;
}

function toTlsFiles(cert: FlagValue | null, key: FlagValue | null): RunOptions["tls"] {
  if (cert === null && key === null) return null;
  if (cert !== null && key !== null) return { certPath: cert.text, keyPath: key.text };
  const [given, missing] = cert !== null ? [cert, FLAGS.tlsPrivateKeyFile] : [key, FLAGS.tlsCertFile];
  throw new StartError(`Cannot use ${given?.name} without ${missing.flag}: a certificate and its key go together`);
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
    podIps: (read("PODFIT_POD_IPS") ?? "").split(",").map((text) => text.trim()).filter((text) => text !== ""),
  };
}

function checkKubelets(options: RunOptions): void {
  const { statsSource, kubeletCa, kubeletInsecureTls, kubeletTokenFile, kubeletOwnCredential } = options;
  if (kubeletOwnCredential && (kubeletInsecureTls || kubeletTokenFile !== null)) {
    const [other, why] = kubeletInsecureTls
      ? ["--kubelet-insecure-tls", "any server at a node's address would get podfit's own token, which may resize pods"]
      : ["--kubelet-token-file", "kubelets get one token, podfit's own or that of the file"];
    throw new StartError(
      `Cannot use --kubelet-own-credential with ${other}: ${why}; leave one of them out (or its variable)`,
    );
  }
  if (kubeletCa !== null && kubeletInsecureTls) {
    throw new StartError(
      "Cannot use --kubelet-ca with --kubelet-insecure-tls: the one checks kubelet certificates, the other accepts " +
        "any; leave one of them out (or its variable)",
    );
  }
  if (kubeletTokenFile !== null && statsSource !== "kubelet" && statsSource !== "auto") {
    throw new StartError(
      `Cannot use --kubelet-token-file with --stats-source ${statsSource}: no kubelet is asked, so none gets the token; ` +
        "leave it out (or its variable), or use --stats-source kubelet or auto",
    );
  }
}

/** The cgroup source reads files of one machine, so it has to know which node that is. */
function checkNodeLocal({ statsSource, node, cgroupRoot }: RunOptions): void {
  if (statsSource === "cgroup" && node === null) {
    throw new StartError(
      "Cannot use --stats-source cgroup without --node: name the node whose cgroups these are (in a pod: PODFIT_NODE " +
        "from the field spec.nodeName)",
    );
  }
  if (statsSource === "cgroup" && cgroupRoot === null) {
    throw new StartError(
      "Cannot use --stats-source cgroup without --cgroup-root: mount the node's /sys/fs/cgroup read-only at another " +
        "path, and name that",
    );
  }
  if (statsSource !== "cgroup" && cgroupRoot !== null) {
    throw new StartError(
      `Cannot use --cgroup-root with --stats-source ${statsSource}: add --stats-source cgroup, or leave it out`,
    );
  }
}

/** The given namespaces, or that of the pod. Throws a StartError for another namespace than the pod's. */
function toNamespaces(given: readonly string[] | null, pod: RunOptions["pod"]): readonly string[] | null {
  if (pod === null) return given;
  const other = given?.find((namespace) => namespace !== pod.namespace);
  if (other !== undefined) {
    throw new StartError(
      `Cannot use --namespace ${other} with --pod ${pod.namespace}/${pod.name}: this podfit handles that pod only; ` +
        "leave one of them out (or its variable)",
    );
  }
  return [pod.namespace];
}

/** Sources that need rights to nodes, which a Role cannot grant. */
const NODE_SOURCES: readonly string[] = ["kubelet", "proxy", "auto"];

/** Replicas belong to whole workloads with pods on many nodes. Throws a StartError where podfit sees only a part. */
function checkReplicas(
  { scaledObjects, node, pod }: RunOptions,
): void {
  if (scaledObjects === "off" || (node === null && pod === null)) return;
  const part = pod === null ? `--node ${node}` : `--pod ${pod.namespace}/${pod.name}`;
  throw new StartError(
    `Cannot use --scaled-objects with ${part}: replicas need all pods of a workload; leave it out here (or ` +
      "PODFIT_SCALED_OBJECTS), and give it to a podfit without --node and --pod",
  );
}

/** Records have names, labels and usage of every pod. Throws a StartError where every client could read them. */
function checkRecords({ debugListen, podUid, metricsAuth }: RunOptions): void {
  if (debugListen === null || podUid !== null || metricsAuth || isLocal(debugListen.hostname)) return;
  const { hostname, port } = debugListen;
  throw new StartError(
    `Cannot use --debug-listen ${hostname}:${port} without --pod-uid: every pod could read the records; set ` +
      "PODFIT_POD_UID from the field metadata.uid, or use --metrics-auth, or listen on 127.0.0.1",
  );
}

function isLocal(hostname: string): boolean {
  return hostname === "localhost" || hostname === "::1" || hostname.startsWith("127.");
}

/** A user who can change a pod's account must not get rights to nodes through it. Throws a StartError. */
function checkSidecar(
  { statsSource, pod }: RunOptions,
): void {
  if (pod === null || !NODE_SOURCES.includes(statsSource)) return;
  throw new StartError(
    `Cannot use --stats-source ${statsSource} with --pod: it needs rights to nodes, which a pod should not have; add ` +
      "--stats-source metrics-api, or --stats-source cgroup with --node and --cgroup-root",
  );
}
