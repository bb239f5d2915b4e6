/**
 * The flags of `podfit demo`, and the names of its scenes.
 */
import { Command } from "commander";
import { addExamples, createChoice, refuseDaemonFlags, type Subcommand } from "../command/command.ts";
import { parseBetween, parseChoice } from "../command/parse_values.ts";
import { COLOR_WHENS, type ColorWhen } from "../terminal/text.ts";

// The options of `podfit demo`.

/** The demo's options, checked. */
export interface DemoOptions {
  /** What is told. */
  readonly scene: SceneName;
  /** So much faster time passes in the cluster. */
  readonly speed: number;
  /** Real ones, until the run ends by itself. */
  readonly seconds: number;
  /** It does not end by itself. */
  readonly keeps: boolean;
  readonly color: ColorWhen;
}

/** What the command does with them. */
interface DemoCommand extends Subcommand {
  readonly demo: (options: DemoOptions) => Promise<void>;
}

const NOTES = `
Needs no cluster and touches none: API server, kubelet and usage are podfit's own models, the daemon is the real one and
talks to them over HTTPS on 127.0.0.1. What it applies is in deploy/demo. Beside it runs the same cluster without podfit.

Scenes: "sizes" resizes three workloads; "both" grows a workload's pods in place, then adds pods, and goes back. Beside
"both" runs the same cluster with the same ScaledObject and no resizes: the number of pods is what an HPA makes it.

Ends with exit code 0, by Ctrl-C too. Without a terminal it prints plain lines.
`;

const EXAMPLES = [
  ["three workloads that are resized, for a minute", "podfit demo"],
  ["larger pods first, then more of them, in slow motion", "podfit demo --scene both --speed 5"],
  ["until Ctrl-C, with the address of its API server", "podfit demo --keep"],
] as const;

type Given = Readonly<{ scene: string; speed: string; seconds: string; keep?: boolean; color: string }>;

/** The command for commander's program. */
export function createDemoCommand({ demo, toComplaint }: DemoCommand): Command {
  const command = new Command("demo")
    .description("watch podfit at work on an embedded cluster, for a minute")
    .addOption(createChoice("--scene <name>", "what it shows", SCENES).default("sizes"))
    .addOption(
      createChoice("--color <when>", "colour; auto: on a terminal, unless NO_COLOR is set", COLOR_WHENS).default(
        "auto",
      ),
    )
    .option("--speed <n>", "how much faster time passes in the cluster, 1 to 60", "20")
    .option("--seconds <n>", "how long it runs, 1 to 3600", "60")
    .option("--keep", "run until Ctrl-C")
    .helpOption("-h, --help", "print this help and exit")
    .addHelpText("after", NOTES)
    .configureOutput({ outputError: (text, write) => write(toComplaint(text, "podfit demo")) })
    .allowExcessArguments(false)
    .exitOverride()
    .action(async ({ scene, speed, seconds, keep = false, color }: Given, command: Command) => {
      refuseDaemonFlags(command);
      await demo({
        scene: parseChoice({ name: "--scene", text: scene }, SCENES),
        speed: parseBetween({ name: "--speed", text: speed }, [1, 60]),
        seconds: parseBetween({ name: "--seconds", text: seconds }, [1, 3600]),
        keeps: keep,
        color: parseChoice({ name: "--color", text: color }, COLOR_WHENS),
      });
    });
  return addExamples(command, EXAMPLES);
}

/** What the demo can tell: sizes alone, or sizes and the number of pods together. */
export const SCENES = ["sizes", "both"] as const;

export type SceneName = typeof SCENES[number];
