/** The script for fish. https://fishshell.com/docs/current/completions.html */
import { quoteFish } from "./quote.ts";
import { type CommandSpec, type FlagSpec, listCommands, PROGRAM, type Values } from "./spec.ts";

/** For `podfit completion fish | source`. */
export function formatFish(spec: CommandSpec): string {
  const paths = listCommands(spec).map(({ path }) => path).filter((path) => path !== PROGRAM);
  const lines = [PROGRAM, "kubectl-podfit"].flatMap((program) => [
    `complete -c ${program} -f`,
    ...listCommands(spec).flatMap((command) =>
      formatCommand(command, `complete -c ${program} -n "__podfit_at '${command.path}'"`)
    ),
  ]);
  return ["# fish completion of podfit: podfit completion fish | source", ...formatAt(paths), ...lines, ""].join("\n");
}

/** `__podfit_at COMMAND`: are the words that stand there those of this command? */
function formatAt(paths: readonly string[]): readonly string[] {
  return [
    "function __podfit_at",
    `    set -l command ${PROGRAM}`,
    "    for word in (commandline -opc)[2..-1]",
    `        contains -- "$command $word" ${paths.map(quoteFish).join(" ")}; and set command "$command $word"`,
    "    end",
    '    test "$command" = "$argv[1]"',
    "end",
  ];
}

function formatCommand({ commands, flags, values }: CommandSpec, start: string): readonly string[] {
  return [
    ...commands.map(({ name, description }) => `${start} -a ${quoteFish(name)} -d ${quoteFish(description)}`),
    ...formatValues(values).map((rest) => `${start} ${rest}`),
    ...flags.map((flag) => `${start} ${formatFlag(flag)}`),
  ];
}

function formatFlag({ names, description, values, isOptional }: FlagSpec): string {
  const words = names.map((name) => name.startsWith("--") ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`);
  // -x: it needs a value, which is no file's name.
  const needs = values === null || isOptional ? [] : [values.kind === "file" ? "-r" : "-x"];
  const offered = values === null ? [] : formatValues(values);
  return [...words, ...needs, ...offered, "-d", quoteFish(description)].join(" ");
}

function formatValues(values: Values): readonly string[] {
  if (values.kind === "words") return [`-a ${quoteFish(values.words.join(" "))}`];
  if (values.kind === "directory") return ["-a '(__fish_complete_directories)'"];
  return values.kind === "file" ? ["-F"] : [];
}
