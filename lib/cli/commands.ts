/**
 * The commands beside the daemon. What their arguments may be is known at once; what they do is loaded on request, as the daemon needs no YAML
 * parser, no embedded cluster and no words for people.
 */
import type { Command } from "commander";
import { createCompletionCommand } from "./completion/options.ts";
import { createDemoCommand } from "./demo/options.ts";
import { createLintCommand } from "./lint/options.ts";
import { createRecordCommand } from "./record/options.ts";
import { createReplayCommand } from "./replay/options.ts";
import type { GetEnv } from "./run/options.ts";
import type { Subcommand } from "./subcommand.ts";

/** The process that they run in. */
export interface CommandsOptions {
  readonly getEnv: GetEnv;
  readonly setExitCode: (code: number) => void;
}

/** In the order in which help lists them. */
export function createCommands({ getEnv, setExitCode }: CommandsOptions): (of: Subcommand) => readonly Command[] {
  const end = async (code: Promise<number>) => setExitCode(await code);
  return (of) => [
    createCompletionCommand(of),
    createDemoCommand({ ...of, demo: async (options) => end((await import("./demo/demo.ts")).demo(options)) }),
    createLintCommand({ ...of, lint: async (options) => end((await import("./lint/lint.ts")).lint(options, getEnv)) }),
    createRecordCommand({
      ...of,
      record: async (options) => end((await import("./record/record.ts")).record(options)),
    }),
    createReplayCommand({
      ...of,
      replay: async (options) => end((await import("./replay/replay.ts")).replay(options)),
    }),
  ];
}
