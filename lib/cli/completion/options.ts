/** The argument of `podfit completion`. A script is made from the whole commander program. */
import { Argument, type Command } from "commander";
import { defineCommand } from "../command/command.ts";
import { type Shell, SHELLS } from "./spec.ts";

/** Whose script is printed, and for which program. */
export interface CompletionOptions {
  readonly shell: Shell;
  readonly program: Command;
}

const NOTES = `
Prints a script. It is made from the commands and flags of this podfit, so make it again after an update. The script asks
podfit for names of pods, workloads, ScaledObjects, PodResourceAutoscalers and namespaces. podfit takes them from the
cluster of the line, at most 500 of each kind, and gives up after 1.5 s. It offers nothing that you may not list. The
names of contexts come from the kubeconfig.

As a plug-in of kubectl: call the program kubectl-podfit and put it into PATH, and \`kubectl podfit\` is podfit. kubectl
completes its plug-ins with a program kubectl_complete-podfit in PATH, which \`completion kubectl\` prints.
`;

export const createCompletionCommand = defineCommand({
  name: "completion",
  description: "print the script by which a shell completes flags and names",
  argument: new Argument("<shell>", "shell of the script").choices(SHELLS),
  flags: [],
  notes: NOTES,
  examples: [
    ["bash, for this session; in ~/.bashrc for all", "source <(podfit completion bash)"],
    ["zsh, into a folder of fpath", "podfit completion zsh > ~/.zfunc/_podfit"],
    ["fish", "podfit completion fish > ~/.config/fish/completions/podfit.fish"],
    ["kubectl podfit", "podfit completion kubectl > kubectl_complete-podfit && chmod +x kubectl_complete-podfit"],
  ],
  parse: ({ args: [shell], program }): CompletionOptions => ({ shell: shell as Shell, program }),
});
