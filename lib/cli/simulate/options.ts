/** The flags of `podfit simulate`. */
import { createFlag, defineCommand, type Typed } from "../command/command.ts";
import { LOAD_FLAGS, type LoadGiven, type LoadOptions, MAX_DAYS, toLoadOptions } from "../command/load_flags.ts";
import { parseBetween, parseOptional, parseTimeSpan, parseWhole } from "../command/parse_values.ts";
import { StartError } from "../command/process.ts";
import { createFormatFlag, parseFormat } from "../command/shared_flags.ts";

/** The command's options, checked. */
export interface SimulateOptions extends LoadOptions {
  readonly filenames: readonly string[];
  /** Files whose autoscalers replace those in `filenames`, one policy each to compare with. */
  readonly policies: readonly string[];
  /** How far back Prometheus is asked. */
  readonly forMs: number;
  readonly hasNoise: boolean;
  /** `null` = as long as the load is. */
  readonly hours: number | null;
  readonly seed: string;
  readonly output: typeof FORMATS[number];
  /** The file of the report; `null` = none. */
  readonly html: string | null;
  /** FIELD=VALUE,... each; an empty list = the built-in grid; `null` = no sweep. */
  readonly sweep: readonly string[] | null;
  /** The number of workers of a sweep; `null` = one for each CPU. */
  readonly workers: number | null;
}

const NOTES = `
Runs the daemon's decisions under virtual time, on a model of the node. Its kubelet samples every 10 to 19 s, CPU stops at
its limit, and a container above its memory limit is killed. Needs no cluster. -f takes Deployments, StatefulSets,
DaemonSets and Pods with the PodResourceAutoscalers (and ScaledObjects) for them, in any number of files.

A load is CSV with a header. Columns: seconds; for CPU millicores, percent or cpu (a quantity); for memory bytes or memory
(a quantity); and cache. Between two rows the load is a straight line. CONTAINER=FILE is the load of one container. A
resource that no load has stays at its size, and no figure shows it. The column "never resized" is the same load without
autoscalers.

--sweep tries a grid of policies and ranks them: profiles and the main numbers, or given fields, such as
--sweep cpu.requests.scaleUp.targetUtilization=60,70 --sweep scaleDown.cooldown=1m,10m. The best policy comes first, and
"best in" names the figures in which a policy is the best.
`;

type Given =
  & LoadGiven
  & Readonly<{
    filename: readonly string[];
    policy?: readonly string[];
    for: string;
    hours?: string;
    seed: string;
    output: string;
    html?: string;
    sweep?: true | readonly string[];
    workers?: string;
  }>;

const FORMATS = ["table", "json", "yaml"] as const;

export const createSimulateCommand = defineCommand({
  name: "simulate",
  description: "run manifests on a load curve, and measure how pods are sized",
  flags: [
    createFlag(
      "-f, --filename <path...>",
      "file, directory (its *.yaml, *.yml and *.json), or - for stdin; repeatable",
      {
        isRequired: true,
      },
    ),
    ...LOAD_FLAGS,
    createFlag("--for <duration>", "how far back to ask Prometheus: 2h, 7d", { fallback: "1d" }),
    createFlag("--policy <file>", "autoscalers to compare with those of -f; repeatable", { isRepeatable: true }),
    createFlag("--hours <n>", "how long (default: as long as the load)"),
    createFlag("--seed <text>", "the same seed gives the same run", { fallback: "1" }),
    createFormatFlag(FORMATS),
    createFlag("--html <file>", "write a report with plots, one file that needs no other"),
    createFlag("--sweep [field=values]", "try a grid of policies; repeatable", { isRepeatable: true }),
    createFlag("--workers <n>", "how many policies of a sweep are tried at a time (default: one for each CPU)"),
  ],
  notes: NOTES,
  examples: [
    ["one policy on one load", "podfit simulate -f web.yaml --load monday.csv"],
    [
      "two policies on the same load, with plots",
      "podfit simulate -f web.yaml --load monday.csv --policy thrifty.yaml --html report.html",
    ],
    [
      "a load for each container, as data",
      "podfit simulate -f web.yaml --load app=app.csv --load proxy=proxy.csv --hours 48 -o json",
    ],
    [
      "three profiles, ranked",
      "podfit simulate -f web.yaml --load monday.csv --sweep profile=latency,balanced,thrifty",
    ],
  ],
  parse: ({ given }: Typed<Given>) => toSimulateOptions(given),
});

function toSimulateOptions(given: Given): SimulateOptions {
  const written = (name: string, text: string | undefined) => text === undefined ? null : { name, text };
  const { sweep } = given;
  const { hasLoad, ...load } = toLoadOptions(given);
  if (!hasLoad) {
    throw new StartError("Cannot simulate without a load: name one with --load FILE, --from-record FILE or --from");
  }
  if (sweep !== undefined && given.policy !== undefined) {
    throw new StartError("Cannot use --policy with --sweep: a sweep compares its own policies");
  }
  return {
    filenames: given.filename,
    policies: given.policy ?? [],
    ...load,
    forMs: parseTimeSpan(given.for),
    hasNoise: given.noise === true,
    hours: parseOptional(written("--hours", given.hours), (one) => parseBetween(one, [0.01, 24 * MAX_DAYS])),
    seed: given.seed,
    output: parseFormat(given.output, FORMATS),
    html: given.html ?? null,
    sweep: sweep === undefined ? null : sweep === true ? [] : sweep,
    workers: parseOptional(written("--workers", given.workers), (one) => parseWhole(one, [1, 256])),
  };
}
