/** The options of `podfit record`. */
import { Command } from "commander";
import { parseMs, parseNamespace, parseOptional, parseSubdomain } from "../run/parse_values.ts";
import { StartError } from "../run/start_error.ts";
import { refuseDaemonFlags, type Subcommand } from "../subcommand.ts";
import type { RecordLine } from "../../record/line.ts";

/** What is recorded, where and for how long. */
export interface RecordOptions {
  readonly kind: RecordLine["kind"];
  readonly namespace: string;
  readonly name: string;
  /** Where podfit's debug listener is. */
  readonly url: string;
  /** A file of the bearer token that it asks for; `null` = none. */
  readonly tokenPath: string | null;
  /** `null` = until the pod is gone or a signal comes. */
  readonly forMs: number | null;
  /** What podfit still knows goes first. */
  readonly withPast: boolean;
  /** `null` = stdout. */
  readonly path: string | null;
}

export interface RecordCommand extends Subcommand {
  readonly record: (options: RecordOptions) => Promise<void>;
}

const NOTES = `
Follows what a running podfit decides of one pod or ScaledObject, and writes each evaluation as a line of JSON, for "podfit replay"
and for bug reports. That podfit needs --debug-listen; where several run, ask the leader, or the agent of the pod's node:
  kubectl -n podfit port-forward pod/PODFIT 8081

Lines hold names, labels, sizes and usage of the pod, and no credentials. Ends by Ctrl-C, after --for, and when the pod is gone.

Exit codes: 0 recorded, 1 nothing could be recorded, or it broke off.

Examples:
  podfit record web-7d9c5-x2x4p -n shop --for 10m -o trace.jsonl
  podfit record scaledobject/web -n shop --past > trace.jsonl
`;

type Given = Readonly<
  { namespace: string; url: string; tokenFile?: string; for?: string; past?: boolean; output?: string }
>;

/** The command for commander's program. */
export function createRecordCommand({ record, toComplaint }: RecordCommand): Command {
  return new Command("record")
    .description("write down what a running podfit decides of a pod or ScaledObject, and of what")
    .argument("<name>", "a pod, or scaledobject/NAME")
    .option("-n, --namespace <name>", "its namespace", "default")
    .option("--url <url>", "where podfit's debug listener answers", "http://127.0.0.1:8081")
    .option("--token-file <path>", "bearer token to send, where that podfit runs with --metrics-auth")
    .option("--for <duration>", "how long, such as 10m (default: until Ctrl-C)")
    .option("--past", "begin with what podfit still knows of about the last hour")
    .option("-o, --output <file>", "where to write (default: stdout)")
    .helpOption("-h, --help", "print this help and exit")
    .addHelpText("after", NOTES)
    .configureOutput({ outputError: (text, write) => write(toComplaint(text, "podfit record")) })
    .allowExcessArguments(false)
    .exitOverride()
    .action(async (text: string, given: Given, command: Command) => {
      refuseDaemonFlags(command);
      await record(toRecordOptions(text, given));
    });
}

function toRecordOptions(
  text: string,
  { namespace, url, tokenFile, for: duration, past, output }: Given,
): RecordOptions {
  return {
    ...parseSubject(text),
    namespace: parseNamespace({ name: "--namespace", text: namespace }),
    url: parseUrl(url),
    tokenPath: tokenFile ?? null,
    forMs: parseOptional(duration === undefined ? null : { name: "--for", text: duration }, parseMs),
    withPast: past ?? false,
    path: output ?? null,
  };
}

function parseSubject(text: string): Pick<RecordOptions, "kind" | "name"> {
  const match = /^(?:(pods?|po|scaledobjects?|so)\/)?([^/]+)$/i.exec(text);
  if (match === null) throw new StartError(`Cannot read "${text}": write the name of a pod, or scaledobject/NAME`);
  const kind = /^s/i.test(match[1] ?? "pod") ? "scaledObject" : "pod";
  return { kind, name: parseSubdomain({ name: kind, text: match[2] ?? "" }, `name of a ${kind}`) };
}

function parseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new StartError(`Cannot read --url "${text}": write an address such as http://127.0.0.1:8081`);
  }
  return url.origin + url.pathname.replace(/\/+$/, "");
}
