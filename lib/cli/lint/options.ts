/** The options of `podfit lint`. A wrong option ends with code 2, because 1 means a problem in a manifest. */
import { Command, CommanderError } from "commander";
import { refuseDaemonFlags, type Subcommand } from "../subcommand.ts";

const NOTES = `
Reads what is written in the files alone and needs no cluster. Checks PodResourceAutoscalers, ScaledObjects,
TriggerAuthentications and ClusterTriggerAuthentications; other kinds of objects are passed over.
Findings go to stdout as FILE:LINE:COLUMN: error|warning: OBJECT: FIELD: MESSAGE, a summary to stderr.

Exit codes: 0 no error (warnings do not count), 1 an error or nothing to check, 2 a file or flag that is no good.
`;

export interface LintCommand extends Subcommand {
  /** Runs the command on the paths of -f. */
  readonly lint: (paths: readonly string[]) => Promise<void>;
}

/** Makes the command for commander. Its parse throws CommanderError with the exit code. */
export function createLintCommand({ lint, toComplaint }: LintCommand): Command {
  const paths = "file, directory (its *.yaml, *.yml and *.json), or - for stdin; repeatable";
  return new Command("lint")
    .description("check PodResourceAutoscaler and ScaledObject manifests before they are applied")
    .requiredOption("-f, --filename <path...>", paths)
    .helpOption("-h, --help", "print this help and exit")
    .addHelpText("after", NOTES)
    .configureOutput({ outputError: (text, write) => write(toComplaint(text, "podfit lint")) })
    .allowExcessArguments(false)
    .exitOverride((error) => {
      throw error.exitCode === 0 ? error : new CommanderError(2, error.code, error.message);
    })
    .action(async ({ filename }: { readonly filename: readonly string[] }, command: Command) => {
      refuseDaemonFlags(command);
      await lint(filename);
    });
}
