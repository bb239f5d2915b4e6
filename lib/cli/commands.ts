/**
 * The commands next to the daemon: each with its flags, and with the module that does its work.
 *
 * Flags are parsed by small modules. The work is imported when the command runs, because the daemon needs no YAML
 * parser, no embedded cluster and no texts for people. An image without the embedded cluster leaves out the module of
 * the demo.
 */
import type { Command } from "commander";
import type { GetEnv, Subcommand } from "./command/command.ts";
import { createCompletionCommand } from "./completion/options.ts";
import { createDemoCommand } from "./demo/options.ts";
import { createExplainCommand } from "./explain/options.ts";
import { createLintCommand } from "./lint/options.ts";
import { createRecordCommand } from "./record/options.ts";
import { createReplayCommand } from "./replay/options.ts";
import { createSimulateCommand } from "./simulate/options.ts";
import { createSuggestCommand } from "./suggest/options.ts";
import { createTopCommand } from "./top/options.ts";

// The commands beside the daemon. What their arguments may be is known at once; what they do is loaded on request, as
// the daemon needs no YAML parser, no embedded cluster and no words for people.

/** What they need of the process that they run in. */
interface CommandsOptions {
  readonly getEnv: GetEnv;
  /** Does a command's work, which comes to an exit code. */
  readonly perform: (work: () => Promise<number>) => Promise<void>;
}

/** In the order in which help lists them. */
export function createCommands({ getEnv, perform }: CommandsOptions): (of: Subcommand) => readonly Command[] {
  return (of) => [
    createCompletionCommand(of),
    createDemoCommand({
      ...of,
      demo: (options) => perform(async () => await (await import("./demo/demo.ts")).demo(options)),
    }),
    createExplainCommand({
      ...of,
      getEnv,
      explain: (options) => perform(async () => await (await import("./explain/explain.ts")).explain(options)),
    }),
    createLintCommand({
      ...of,
      lint: (options) => perform(async () => await (await import("./lint/lint.ts")).lint(options, getEnv)),
    }),
    createRecordCommand({
      ...of,
      getEnv,
      record: (options) => perform(async () => await (await import("./record/record.ts")).record(options)),
    }),
    createReplayCommand({
      ...of,
      replay: (options) => perform(async () => await (await import("./replay/replay.ts")).replay(options)),
    }),
    createSimulateCommand({
      ...of,
      simulate: (options) => perform(async () => await (await import("./simulate/simulate.ts")).simulate(options)),
    }),
    createSuggestCommand({
      ...of,
      suggest: (options) => perform(async () => await (await import("./suggest/suggest.ts")).suggest(options)),
    }),
    createTopCommand({
      ...of,
      getEnv,
      top: (options) => perform(async () => await (await import("./top/top.ts")).top(options)),
    }),
  ];
}
