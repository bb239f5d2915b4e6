/**
 * The commands next to the daemon: each with its flags, and with the module that does its work.
 *
 * Flags are parsed by small modules. The work is imported when the command runs, because the daemon needs no YAML
 * parser, no embedded cluster and no texts for people. The image has no embedded cluster, so it has no demo either.
 */
import type { Command } from "commander";
import { createAdoptCommand, createReleaseCommand } from "./adoption/options.ts";
import type { CommandContext } from "./command/command.ts";
import { StartError } from "./command/process.ts";
import { createCompletionCommand } from "./completion/options.ts";
import { createDemoCommand } from "./demo/options.ts";
import { createExplainCommand } from "./explain/options.ts";
import { createLintCommand } from "./lint/options.ts";
import { createRecordCommand } from "./record/options.ts";
import { createReplayCommand } from "./replay/options.ts";
import { createSampleCommand } from "./sample/options.ts";
import { createSimulateCommand } from "./simulate/options.ts";
import { createSuggestCommand } from "./suggest/options.ts";
import { createTopCommand } from "./top/options.ts";

/** Does the work of a command, which resolves to an exit code. */
type Perform = (work: () => Promise<number>) => Promise<void>;

/** Returns the function that makes the commands, in the order in which help lists them. */
export function createCommands(perform: Perform): (context: CommandContext) => readonly Command[] {
  const on = <Options>(work: (options: Options) => Promise<number>) => (options: Options) =>
    perform(() => work(options));
  return (context) => [
    createAdoptCommand(
      context,
      on(async (options) => await (await import("./adoption/change_hands.ts")).adopt(options)),
    ),
    createCompletionCommand(
      context,
      on(async (options) => (await import("./completion/completion.ts")).completion(options)),
    ),
    createDemoCommand(context, on(async (options) => await (await loadDemo()).demo(options))),
    createExplainCommand(context, on(async (options) => await (await import("./explain/explain.ts")).explain(options))),
    createLintCommand(context, on(async (options) => await (await import("./lint/lint.ts")).lint(options))),
    createRecordCommand(context, on(async (options) => await (await import("./record/record.ts")).record(options))),
    createReleaseCommand(
      context,
      on(async (options) => await (await import("./adoption/change_hands.ts")).release(options)),
    ),
    createReplayCommand(context, on(async (options) => await (await import("./replay/replay.ts")).replay(options))),
    createSampleCommand(context, on(async (options) => await (await import("./sample/sample.ts")).sample(options))),
    createSimulateCommand(
      context,
      on(async (options) => await (await import("./simulate/simulate.ts")).simulate(options)),
    ),
    createSuggestCommand(context, on(async (options) => await (await import("./suggest/suggest.ts")).suggest(options))),
    createTopCommand(context, on(async (options) => await (await import("./top/top.ts")).top(options))),
  ];
}

type Demo = typeof import("./demo/demo.ts");

/**
 * Resolves to the module of the demo. Rejects with a StartError in a build that was made without it, and with the
 * module's own error where it is there and does not load.
 */
export async function loadDemo(load: () => Promise<Demo> = () => import("./demo/demo.ts")): Promise<Demo> {
  try {
    return await load();
  } catch (cause) {
    if (!(cause instanceof Error && "code" in cause && cause.code === "ERR_MODULE_NOT_FOUND")) throw cause;
    throw new StartError('This build of podfit has no demo: run it from the source tree, "deno task demo"', { cause });
  }
}
