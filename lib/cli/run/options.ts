/**
 * The daemon's options: flags and their environment variables, parsed and checked by one way for both. With `terminal/output.ts`
 * and `runtime/log.ts` the only place that reads arguments and environment.
 */
import { Command } from "commander";
import type { Pace } from "../../daemon/act/turns.ts";
import { LOG_FORMATS, LOG_LEVELS, type LogFormat, type LogLevel } from "../../runtime/log.ts";
import { checkSource, STATS_SOURCES, type StatsSource } from "./check_source.ts";
import { type FlagName, type FlagRow, FLAGS, formatVariables } from "./flags.ts";
import { checkReplicas, checkSidecar, toNamespaces } from "./check_scope.ts";
import { formatExitCodes } from "../exit_codes.ts";
import { addExamples } from "../help.ts";
import type { OperatorLimits } from "../../autoscaler/operator_limits.ts";
import {
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
  type Written,
} from "./parse_values.ts";
import { type Subcommand, toComplaint } from "../subcommand.ts";
import { StartError } from "./start_error.ts";
import { writeDiagnostic, writeOutput } from "../terminal/output.ts";
import { toOption } from "./to_option.ts";
import { ADDRESS_TYPES, type AddressType } from "../../usage/kubelet_address.ts";
import { VERSION } from "../version.ts";

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
  readonly pace: Pace;
  readonly listen: { readonly hostname: string; readonly port: number };
  /** Where what was decided is told; `null` = nowhere. */
  readonly debugListen: { readonly hostname: string; readonly port: number } | null;
  /** With which both speak HTTPS; `null` = HTTP. */
  readonly tls: { readonly certPath: string; readonly keyPath: string } | null;
  readonly metricsAuth: boolean;
  readonly environment: Environment;
}

/** Whether one of several podfits acts, and by which Lease. */
export interface LeaderElection {
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
export interface Environment {
  readonly isEnabled: boolean;
  readonly requiresAnnotation: boolean;
  readonly agentId: string;
  readonly kubeconfig: string | null;
  readonly home: string | null;
  readonly hostname: string | null;
  readonly serviceHost: string | null;
  readonly servicePort: string | null;
}

/** The value of an environment variable, `undefined` when it is not set. */
export type GetEnv = (name: string) => string | undefined;

/** What podfit does. */
export interface ProgramParts {
  /** The daemon, which is what podfit without a command is. */
  readonly run: (options: RunOptions) => Promise<void>;
  /** None unless given. */
  readonly commands?: (of: Subcommand) => readonly Command[];
}

/** The commander program; a command gets its options once they are valid. What is wrong with them is a StartError. */
export function createProgram(getEnv: GetEnv, { run, commands = () => [] }: ProgramParts, name = "podfit"): Command {
  const complain = (text: string, command: string) => toComplaint(text, command.replace(/^podfit/, name));
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
  for (const row of Object.values(FLAGS)) program.addOption(toOption(row));
  for (const command of commands({ toComplaint: complain })) program.addCommand(command.configureOutput(OUTPUT));
  return addExamples(program, EXAMPLES).action((given: Given) => run(toOptions(given, getEnv)));
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
type Given = Readonly<Partial<Record<FlagName, true | string | readonly string[]>>>;

function toOptions(given: Given, getEnv: GetEnv): RunOptions {
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
    tls: readTls(last("tlsCertFile"), last("tlsPrivateKeyFile")),
    metricsAuth: parseBoolean(lastOr("metricsAuth", "false")),
    environment: readEnvironment(getEnv),
  };
  checkSource(options);
  checkSidecar(options);
  checkReplicas(options);
  return options;
}

function readTls(cert: Written | null, key: Written | null): RunOptions["tls"] {
  if (cert === null && key === null) return null;
  if (cert !== null && key !== null) return { certPath: cert.text, keyPath: key.text };
  const [given, missing] = cert !== null ? [cert, FLAGS.tlsPrivateKeyFile] : [key, FLAGS.tlsCertFile];
  throw new StartError(`Cannot use ${given?.name} without ${missing.flag}: a certificate and its key go together`);
}

/** The flag as often as it is there, else its variable. An empty variable is as good as none, an empty flag is not. */
function listWritten(
  { row, given }: { readonly row: FlagRow; readonly given: Given[FlagName] | undefined },
  getEnv: GetEnv,
): readonly Written[] {
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

function readEnvironment(getEnv: GetEnv): Environment {
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
