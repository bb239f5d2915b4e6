/**
 * The argument of `podfit completion`. A script is made from the whole commander program.
 */
import { Argument, Command } from "commander";
import { addExamples, refuseDaemonFlags, type Subcommand } from "../command/command.ts";
import { type Shell, SHELLS } from "./spec.ts";

// The options of `podfit completion`.

const NOTES = `
Prints a script; it is made of the very commands and flags of this podfit, so make it anew after an update.

As kubectl's plug-in: call the program kubectl-podfit and put it into PATH, and \`kubectl podfit\` is podfit. kubectl completes its
plug-ins by a program kubectl_complete-podfit in PATH, which \`completion kubectl\` prints.
`;

const EXAMPLES = [
  ["bash, for this session; in ~/.bashrc for all", "source <(podfit completion bash)"],
  ["zsh, into a folder of fpath", "podfit completion zsh > ~/.zfunc/_podfit"],
  ["fish", "podfit completion fish > ~/.config/fish/completions/podfit.fish"],
  ["kubectl podfit", "podfit completion kubectl > kubectl_complete-podfit && chmod +x kubectl_complete-podfit"],
] as const;

/** The command for commander's program, which is all that it goes by. */
export function createCompletionCommand({ toComplaint }: Subcommand): Command {
  const command = new Command("completion")
    .description("print the script that completes podfit's commands and flags in a shell")
    .addArgument(new Argument("<shell>", "whose script").choices(SHELLS))
    .helpOption("-h, --help", "print this help and exit")
    .addHelpText("after", NOTES)
    .configureOutput({ outputError: (text, write) => write(toComplaint(text, "podfit completion")) })
    .allowExcessArguments(false)
    .exitOverride()
    .action(async (shell: Shell, _options: unknown, own: Command) => {
      refuseDaemonFlags(own);
      const { completion } = await import("./completion.ts");
      completion(shell, own.parent ?? own);
    });
  return addExamples(command, EXAMPLES);
}
