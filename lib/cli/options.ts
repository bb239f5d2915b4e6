/**
 * The daemon's options: flags and their environment variables, parsed and checked. With `output.ts` and
 * `runtime/log.ts` the only place that reads arguments and environment.
 */
import { Command, InvalidArgumentError, Option } from "commander";
import { LOG_FORMATS, LOG_LEVELS, type LogFormat, type LogLevel } from "../runtime/log.ts";
import { VERSION } from "./version.ts";

export interface RunOptions {
  readonly kubeconfigPaths: readonly string[];
  readonly context: string | null;
  /** `null` = all. */
  readonly namespaces: readonly string[] | null;
  readonly statsSource: "kubelet" | "proxy";
  readonly kubeletCa: string | null;
  readonly kubeletInsecureTls: boolean;
  readonly dryRun: boolean;
  readonly logLevel: LogLevel;
  readonly logFormat: LogFormat;
  readonly listen: { readonly hostname: string; readonly port: number };
  readonly environment: Environment;
}

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

export type GetEnv = (name: string) => string | undefined;

/** The commander program; `run` gets the options once they are valid. */
export function createProgram(getEnv: GetEnv, run: (options: RunOptions) => Promise<void>): Command {
  const program = new Command("podfit")
    .description("Keeps every pod the right size: resizes pods in place by what their containers really use.")
    .version(VERSION, "--version", "print the version and exit")
    .addHelpText("after", HELP)
    .showHelpAfterError("(podfit --help lists the options)")
    .allowExcessArguments(false);
  for (const option of listOptions()) program.addOption(option);
  return program.action((flags: Flags) => run(toOptions(flags, getEnv)));
}

interface Flags {
  readonly kubeconfig?: readonly string[];
  readonly context?: string;
  readonly namespace?: readonly string[];
  readonly statsSource: RunOptions["statsSource"];
  readonly kubeletCa?: string;
  readonly kubeletInsecureTls: boolean | string;
  readonly dryRun: boolean | string;
  readonly logLevel: LogLevel;
  readonly logFormat: LogFormat;
  readonly listen: RunOptions["listen"];
}

function listOptions(): readonly Option[] {
  return [
    new Option("--kubeconfig <path>", "kubeconfig file (default: KUBECONFIG, the service account, ~/.kube/config)")
      .env("PODFIT_KUBECONFIG").argParser(collectPaths),
    new Option("--context <name>", "context of the kubeconfig").env("PODFIT_CONTEXT"),
    new Option("--namespace <name>", "look after this namespace only; repeatable, or a list with commas")
      .env("PODFIT_NAMESPACE").argParser(collectNamespaces),
    new Option("--stats-source <source>", "where usage is read: each node's kubelet, or the API server's node proxy")
      .env("PODFIT_STATS_SOURCE").choices(["kubelet", "proxy"]).default("kubelet"),
    new Option("--kubelet-ca <path>", "PEM file of the CA that signs kubelet certificates (default: the cluster's)")
      .env("PODFIT_KUBELET_CA"),
    new Option("--kubelet-insecure-tls", "accept any kubelet certificate; the token can then be stolen on the way")
      .env("PODFIT_KUBELET_INSECURE_TLS").default(false),
    new Option("--dry-run", "decide and report everything, resize nothing").env("PODFIT_DRY_RUN").default(false),
    new Option("--log-level <level>", "least level that is logged").env("PODFIT_LOG_LEVEL").choices(LOG_LEVELS)
      .default("info"),
    new Option("--log-format <format>", "one line per message").env("PODFIT_LOG_FORMAT").choices(LOG_FORMATS)
      .default("json"),
    new Option("--listen <address>", "where /metrics, /healthz and /readyz answer").env("PODFIT_LISTEN")
      .argParser(parseListen).default(parseListen("0.0.0.0:8080"), "0.0.0.0:8080"),
  ];
}

const HELP = `
Environment:
  PRA_ENABLED=true                  without it podfit only answers health and metrics
  PRA_REQUIRES_ANNOTATED_PODS=true  only pods annotated pra.kedify.io/reconcile=enabled
  KEDIFY_AGENT_ID=<id>              label kedify_agent_id of every kedify_ metric`;

function toOptions(flags: Flags, getEnv: GetEnv): RunOptions {
  return {
    kubeconfigPaths: flags.kubeconfig ?? [],
    context: flags.context ?? null,
    namespaces: flags.namespace ?? null,
    statsSource: flags.statsSource,
    kubeletCa: flags.kubeletCa ?? null,
    kubeletInsecureTls: toBoolean("PODFIT_KUBELET_INSECURE_TLS", flags.kubeletInsecureTls),
    dryRun: toBoolean("PODFIT_DRY_RUN", flags.dryRun),
    logLevel: flags.logLevel,
    logFormat: flags.logFormat,
    listen: flags.listen,
    environment: {
      isEnabled: toBoolean("PRA_ENABLED", getEnv("PRA_ENABLED")),
      requiresAnnotation: toBoolean("PRA_REQUIRES_ANNOTATED_PODS", getEnv("PRA_REQUIRES_ANNOTATED_PODS")),
      agentId: getEnv("KEDIFY_AGENT_ID") ?? "",
      kubeconfig: getEnv("KUBECONFIG") ?? null,
      home: getEnv("HOME") ?? null,
      hostname: getEnv("HOSTNAME") ?? null,
      serviceHost: getEnv("KUBERNETES_SERVICE_HOST") ?? null,
      servicePort: getEnv("KUBERNETES_SERVICE_PORT") ?? null,
    },
  };
}

/** As Go's strconv.ParseBool: what the product that reads these variables today accepts. */
function toBoolean(name: string, value: boolean | string | undefined): boolean {
  if (typeof value === "boolean") return value;
  const text = (value ?? "").trim().toLowerCase();
  if (["true", "t", "1"].includes(text)) return true;
  if (["false", "f", "0", ""].includes(text)) return false;
  throw new InvalidArgumentError(`Cannot read ${name} "${value}": write true or false`);
}

function collectPaths(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

function collectNamespaces(value: string, before: readonly string[] = []): readonly string[] {
  const names = value.split(",").map((name) => name.trim()).filter((name) => name !== "");
  for (const name of names) {
    if (name.length > 63 || !/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(name)) {
      throw new InvalidArgumentError(`"${name}" is no namespace name.`);
    }
  }
  return [...new Set([...before, ...names])];
}

function parseListen(value: string): RunOptions["listen"] {
  const match = /^(?:\[([^\]]+)\]|([^:]*)):(\d{1,5})$/.exec(value);
  const port = Number(match?.[3]);
  if (match === null || port > 65535) throw new InvalidArgumentError(`Write HOST:PORT, such as 127.0.0.1:8080.`);
  return { hostname: match[1] ?? (match[2] || "0.0.0.0"), port };
}
