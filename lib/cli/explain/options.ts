/** The flags of `podfit explain`. */
import { createFlag, defineCommand, type GetEnv, SubjectArgument, type Typed } from "../command/command.ts";
import { parseSubject, type Subject, type SubjectKind } from "../command/parse_values.ts";
import { StartError } from "../command/process.ts";
import { createFormatFlag, parseFormat, WATCH_FLAG } from "../command/shared_flags.ts";
import { ACCESS_FLAGS, type AccessFlags, type AccessOptions, toAccess } from "../connection/access_options.ts";

const KINDS: readonly SubjectKind[] = [
  "pod",
  "deployment",
  "statefulset",
  "daemonset",
  "scaledobject",
  "podresourceautoscaler",
];

const FORMATS = ["text", "json", "yaml"] as const;

/** What is explained, from where, and how it is shown. */
export interface ExplainOptions {
  readonly subject: Subject;
  /** It was typed without a kind: a pod, or what else has this name. */
  readonly isBare: boolean;
  readonly access: AccessOptions;
  readonly withoutDaemon: boolean;
  readonly watches: boolean;
  readonly format: typeof FORMATS[number];
}

const NOTES = `
A name alone is a pod, or else the Deployment, StatefulSet, DaemonSet, ScaledObject or PodResourceAutoscaler of this name.
The first sentence is the answer. Then come usage and its age, thresholds and streaks, what is wanted and why, each cap
that changes it, each check that fails, the last resizes, and what the next one waits for. -o json has the checks that pass,
too. For a workload with a ScaledObject: triggers, windows, limits, conditions, and its pods.

Asks the podfit that owns the pod, through pods/proxy of the API server: the leader, or the agent of the pod's node. That
podfit must run with --debug-listen, and you need the right to "get" on "pods/proxy" in its namespace. Where no podfit is
found, or with --without-daemon, the command takes samples for up to 90 seconds. It only reads, and says what it cannot
know. With --watch it follows that podfit, and then the next leader.
`;

type Given = AccessFlags & Readonly<{ withoutDaemon?: boolean; watch?: boolean; output: string }>;

export const createExplainCommand = defineCommand({
  name: "explain",
  description: "say why a pod has its size, or a workload its number of pods",
  argument: new SubjectArgument("<subject...>", KINDS),
  flags: [
    createFlag("--without-daemon", "ask no podfit: take two samples"),
    WATCH_FLAG,
    createFormatFlag(FORMATS),
    ...ACCESS_FLAGS,
  ],
  notes: NOTES,
  examples: [
    ["a pod, or the workload of this name", "podfit explain web -n shop"],
    ["the pods of an autoscaler", "podfit explain pra/web -n shop"],
    ["the number of pods of a workload, and again at each evaluation", "podfit explain deploy web -n shop -w"],
    [
      "as data, of a podfit with --metrics-auth that kubectl port-forward reaches",
      "podfit explain pod/web-7d9f-x2x4k -o json --url https://127.0.0.1:8081 --token-file token",
    ],
  ],
  parse: ({ args, given, getEnv }: Typed<Given>) => toExplainOptions(args, given, getEnv),
});

function toExplainOptions(subject: readonly string[], given: Given, getEnv: GetEnv): ExplainOptions {
  const { withoutDaemon = false, watch = false, output, url } = given;
  if (withoutDaemon && url !== undefined) {
    throw new StartError("Cannot use --without-daemon with --url: one of them is enough");
  }
  if (withoutDaemon && watch) {
    throw new StartError("Cannot use --watch with --without-daemon: it takes two samples and ends");
  }
  return {
    subject: parseSubject(subject, KINDS),
    isBare: subject.length === 1 && !subject.join().includes("/"),
    access: toAccess(given, getEnv),
    withoutDaemon,
    watches: watch,
    format: parseFormat(output, FORMATS),
  };
}
