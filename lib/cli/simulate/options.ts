/**
 * The flags of `podfit simulate`. A wrong flag ends with code 2, because 1 means a problem in a manifest.
 */
import { Command } from "commander";
import { collectValues, exitUnusable, orFlagError, refuseDaemonFlags, type Subcommand } from "../command/command.ts";
import {
  parseBetween,
  parseChoice,
  parseOptional,
  parsePrometheusFlags,
  parseTimeSpan,
  parseWhole,
  type PrometheusQuery,
} from "../command/parse_values.ts";
import { StartError } from "../command/process.ts";

// The options of `podfit simulate`. A wrong option ends with code 2, because 1 means a problem in a manifest.

/** The command's options, checked. */
export interface SimulateOptions {
  readonly filenames: readonly string[];
  /** Files whose autoscalers take the place of those in `filenames`, a policy each to compare with. */
  readonly policies: readonly string[];
  /** FILE or CONTAINER=FILE. */
  readonly loads: readonly string[];
  readonly records: readonly string[];
  /** `null` = none is asked. */
  readonly prometheus: PrometheusQuery | null;
  /** How far back Prometheus is asked. */
  readonly forMs: number;
  /** How many cores 100 % in a load are. */
  readonly percentOfCores: number;
  readonly hasNoise: boolean;
  /** `null` = as long as the load is. */
  readonly hours: number | null;
  readonly seed: string;
  readonly output: "table" | "json";
  /** The file of the report; `null` = none. */
  readonly html: string | null;
  /** FIELD=VALUE,... each; none of them = the grid that is built in; `null` = no sweep. */
  readonly sweep: readonly string[] | null;
  /** How many workers sweep; `null` = one for each CPU. */
  readonly workers: number | null;
}

/** What the command does with them. */
interface SimulateCommand extends Subcommand {
  readonly simulate: (options: SimulateOptions) => Promise<void>;
}

const NOTES = `
Runs what the daemon runs, under virtual time, on a model of the node: a kubelet that samples every 10 to 19 s, CPU held
at its limit, a container killed that passes its memory limit. Needs no cluster. -f takes Deployments, StatefulSets,
DaemonSets and Pods with the PodResourceAutoscalers (and ScaledObjects) for them, in any number of files.

A load is CSV with a header: seconds, and of CPU millicores, percent or cpu (a quantity), of memory bytes or memory (a
quantity), and cache. Between two rows lies a straight line. CONTAINER=FILE is the load of one container.

--sweep tries a grid of policies and ranks it: profiles and the main numbers, or what is given, such as
--sweep scaleUp.targetUtilization=60,70,80 --sweep cpu.requests.scaleUpThreshold=75,90. Policies that no other beats in
slack, throttled time, OOM kills and resizes at once are marked with a star.

Exit codes: 0 simulated, 1 a problem in a manifest, 2 a file or flag that is no good.

Examples:
  podfit simulate -f web.yaml --load monday.csv
  podfit simulate -f web.yaml --load monday.csv --policy thrifty.yaml --html report.html
  podfit simulate -f web.yaml --load app=app.csv --load proxy=proxy.csv --hours 48 -o json
  podfit simulate -f web.yaml --load monday.csv --sweep profile=latency,balanced,thrifty
`;

type Given = Readonly<{
  filename: readonly string[];
  policy?: readonly string[];
  load?: readonly string[];
  fromRecord?: readonly string[];
  from?: readonly string[];
  memoryQuery?: string;
  for: string;
  percentOf: string;
  noise?: boolean;
  hours?: string;
  seed: string;
  output: string;
  html?: string;
  sweep?: true | readonly string[];
  workers?: string;
}>;

/** Makes the command for commander. Its parse throws CommanderError with the exit code. */
export function createSimulateCommand({ simulate, toComplaint }: SimulateCommand): Command {
  return new Command("simulate")
    .description("run manifests on a load curve, and see how the policy keeps their pods at their size")
    .requiredOption(
      "-f, --filename <path...>",
      "file, directory (its *.yaml, *.yml and *.json), or - for stdin; repeatable",
    )
    .option("--load <file>", "CSV of what containers want; CONTAINER=FILE for one of them; repeatable", collectValues)
    .option("--from-record <file>", "records as `podfit record` writes them, as a load; repeatable", collectValues)
    .option("--from <source...>", "prometheus URL QUERY: usage by container, or a selector of cAdvisor's series")
    .option("--memory-query <query>", "what gives Prometheus' bytes of memory by container")
    .option("--for <duration>", "how far back to ask Prometheus: 2h, 7d", "1d")
    .option("--policy <file>", "autoscalers to compare with those of -f; repeatable", collectValues)
    .option("--hours <n>", "how long (default: as long as the load)")
    .option("--percent-of <cores>", "what 100 percent in a load are", "1")
    .option("--noise", "add the seconds that five-minute means hide: 10 % of noise upon CPU")
    .option("--seed <text>", "the same seed gives the same run", "1")
    .option("-o, --output <format>", "table or json", "table")
    .option("--html <file>", "write a report with plots, one file that needs no other")
    .option("--sweep [field=values]", "try a grid of policies; repeatable", collectValues)
    .option("--workers <n>", "how many policies of a sweep are tried at a time (default: one for each CPU)")
    .helpOption("-h, --help", "print this help and exit")
    .addHelpText("after", NOTES)
    .configureOutput({ outputError: (text, write) => write(toComplaint(text, "podfit simulate")) })
    .allowExcessArguments(false)
    .exitOverride(exitUnusable)
    .action(async (given: Given, command: Command) => {
      refuseDaemonFlags(command);
      await simulate(orFlagError(command, () => toSimulateOptions(given)));
    });
}

function toSimulateOptions(given: Given): SimulateOptions {
  const written = (name: string, text: string | undefined) => text === undefined ? null : { name, text };
  const { load: loads = [], fromRecord: records = [], sweep } = given;
  const prometheus = parsePrometheusFlags(given.from, given.memoryQuery);
  if (loads.length + records.length === 0 && prometheus === null) {
    throw new StartError("Cannot simulate without a load: name one with --load FILE, --from-record FILE or --from");
  }
  if (sweep !== undefined && given.policy !== undefined) {
    throw new StartError("Cannot use --policy with --sweep: a sweep compares its own policies");
  }
  return {
    filenames: given.filename,
    policies: given.policy ?? [],
    loads,
    records,
    prometheus,
    forMs: parseTimeSpan(given.for),
    percentOfCores: parseBetween({ name: "--percent-of", text: given.percentOf }, [0.001, 10_000]),
    hasNoise: given.noise === true,
    hours: parseOptional(written("--hours", given.hours), (one) => parseBetween(one, [0.01, 24 * 400])),
    seed: given.seed,
    output: parseChoice({ name: "--output", text: given.output }, ["table", "json"] as const),
    html: given.html ?? null,
    sweep: sweep === undefined ? null : sweep === true ? [] : sweep,
    workers: parseOptional(written("--workers", given.workers), (one) => parseWhole(one, [1, 256])),
  };
}
