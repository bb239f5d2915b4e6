/**
 * Prints completion scripts for bash, zsh, fish and kubectl.
 *
 * Commands, flags and values are taken from the commander program, so no list is kept by hand.
 */
import type { Command } from "commander";
import { EXIT } from "../command/process.ts";
import { writeOutput } from "../terminal/output.ts";
import type { CompletionOptions } from "./options.ts";
import {
  type CommandSpec,
  type FlagSpec,
  listCommands,
  PROGRAM,
  type Shell,
  toCommandSpec,
  type Values,
} from "./spec.ts";

const FORMATS: Readonly<Record<Shell, (spec: CommandSpec) => string>> = {
  bash: formatBash,
  zsh: formatZsh,
  fish: formatFish,
  kubectl: formatKubectl,
};

/** Prints the script for the program. */
export function completion({ shell, program }: CompletionOptions): number {
  writeOutput(formatCompletion(shell, program));
  return EXIT.ok;
}

/** Returns the script. */
export function formatCompletion(shell: Shell, program: Command): string {
  return FORMATS[shell](toCommandSpec(program));
}

/**
 * For `source <(podfit completion bash)`, bash 3.2 and later.
 * https://www.gnu.org/software/bash/manual/html_node/Programmable-Completion.html
 */
function formatBash(spec: CommandSpec): string {
  return `# bash completion of podfit: source <(podfit completion bash)\n${formatBashFunctions(spec)}\n` +
    "complete -F _podfit podfit kubectl-podfit\n";
}

/**
 * For a file `kubectl_complete-podfit` in PATH: it gets the words after `kubectl podfit` and prints what fits, then `:4` = no file names.
 * https://kubernetes.io/docs/tasks/extend-kubectl/kubectl-plugins/
 */
function formatKubectl(spec: CommandSpec): string {
  return `#!/usr/bin/env bash
# Completion of "kubectl podfit": podfit completion kubectl > kubectl_complete-podfit, executable and in PATH.
${formatBashFunctions(spec)}
COMP_WORDS=(podfit "$@")
COMP_CWORD=$#
_podfit
if ((\${#COMPREPLY[@]} > 0)); then printf '%s\\n' "\${COMPREPLY[@]}"; fi
printf ':%s\\n' "\${_podfit_directive:-4}"
`;
}

function formatBashFunctions(spec: CommandSpec): string {
  return [
    formatList("_podfit_commands", spec, ({ commands }) => commands.map(({ name }) => name)),
    formatList("_podfit_flags", spec, ({ flags }) => flags.flatMap(({ names }) => names)),
    formatArguments(spec),
    formatValues(spec),
    BASH_BODY,
  ].join("\n");
}

const BASH_BODY = `# Keeps the lines that begin with the word.
_podfit_fit() {
  local line
  while IFS= read -r line; do
    case $line in
      :*) ;;
      "$2"*) COMPREPLY+=("$3$line") ;;
    esac
  done <<< "$1"
}
_podfit_paths() {
  local line
  # kubectl completes file names itself.
  _podfit_directive=0
  compopt -o filenames 2> /dev/null
  while IFS= read -r line; do
    [[ -n $line ]] && COMPREPLY+=("$3$line")
  done <<< "$(compgen "$1" -- "$2")"
}
_podfit_offer() {
  case $1 in
    *:file*) _podfit_paths -f "$2" "$3" ;;
    *:directory*) _podfit_paths -d "$2" "$3" ;;
    *) _podfit_fit "$1" "$2" "$3" ;;
  esac
}
_podfit() {
  local command=podfit flag='' values='' current prefix='' word i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    # bash makes three words of --output=json.
    [[ $word == = ]] && continue
    if [[ -n $flag && ! ($values == :files && $word == -*) ]]; then
      [[ $values == :files ]] || flag=''
      continue
    fi
    flag=''
    if [[ $word == -* ]]; then
      values=$(_podfit_values "$command" "$word")
      [[ -n $values ]] && flag=$word
    elif _podfit_commands "$command" | grep -qxF -- "$word"; then
      command="$command $word"
    fi
  done
  current=\${COMP_WORDS[COMP_CWORD]}
  [[ $current == = ]] && current=''
  if [[ $current == -*=* ]]; then
    flag=\${current%%=*}
    prefix="$flag="
    current=\${current#*=}
  fi
  if [[ -n $flag && ! ($values == :files && $current == -*) ]]; then
    values=$(_podfit_values "$command" "$flag")
    _podfit_offer "$values" "$current" "$prefix"
    [[ $values == :optional* ]] || return 0
  fi
  if [[ $current != -* ]]; then
    _podfit_fit "$(_podfit_commands "$command")" "$current" ''
    _podfit_offer "$(_podfit_arguments "$command")" "$current" ''
  fi
  if [[ $current == -* || -z $current && \${#COMPREPLY[@]} -eq 0 ]]; then
    _podfit_fit "$(_podfit_flags "$command")" "$current" ''
  fi
}`;

/**
 * For `source <(podfit completion zsh)` after compinit, or a file `_podfit` in fpath.
 * https://zsh.sourceforge.io/Doc/Release/Completion-System.html
 */
function formatZsh(spec: CommandSpec): string {
  return [
    "#compdef podfit kubectl-podfit",
    "# zsh completion of podfit: source <(podfit completion zsh)",
    formatList(
      "_podfit_commands",
      spec,
      ({ commands }) => commands.map(({ name, description }) => describeWord(name, description)),
    ),
    formatList(
      "_podfit_flags",
      spec,
      ({ flags }) => flags.flatMap(({ names, description }) => names.map((name) => describeWord(name, description))),
    ),
    formatArguments(spec),
    formatValues(spec),
    ZSH_BODY,
  ].join("\n");
}

/** A colon ends the word. */
function describeWord(word: string, description: string): string {
  return `${word.replaceAll(":", "\\:")}:${description}`;
}

const ZSH_BODY = `_podfit_offer() {
  case $1 in
    *:file*) _files ;;
    *:directory*) _files -/ ;;
    *:any*) ;;
    *) local -a fitting=(\${(f)1}); compadd -- \${fitting:#:*} ;;
  esac
}
_podfit() {
  local command=podfit flag='' values='' word i
  local -a list
  for ((i = 2; i < CURRENT; i++)); do
    word=\${words[i]}
    if [[ -n $flag && ! ($values == :files && $word == -*) ]]; then
      [[ $values == :files ]] || flag=''
      continue
    fi
    flag=''
    if [[ $word == -* ]]; then
      values=$(_podfit_values "$command" "$word")
      [[ -n $values ]] && flag=$word
    else
      list=(\${(f)"$(_podfit_commands "$command")"})
      [[ -n $word && -n \${(M)list:#$word:*} ]] && command="$command $word"
    fi
  done
  if [[ \${words[CURRENT]} == -*=* ]]; then
    flag=\${words[CURRENT]%%=*}
    compset -P '*='
    _podfit_offer "$(_podfit_values "$command" "$flag")"
    return
  fi
  if [[ -n $flag && ! ($values == :files && \${words[CURRENT]} == -*) ]]; then
    _podfit_offer "$values"
    [[ $values == :optional* ]] || return
  fi
  local -a commands flags
  commands=(\${(f)"$(_podfit_commands "$command")"})
  flags=(\${(f)"$(_podfit_flags "$command")"})
  local arguments="$(_podfit_arguments "$command")"
  if [[ \${words[CURRENT]} != -* ]]; then
    (( \${#commands} )) && _describe -t commands command commands
    [[ -n $arguments ]] && _podfit_offer "$arguments"
  fi
  if [[ \${words[CURRENT]} == -* || ( \${#commands} -eq 0 && -z $arguments ) ]]; then
    _describe -t flags flag flags
  fi
}
if [[ \${funcstack[1]} == _podfit ]]; then _podfit "$@"; else compdef _podfit podfit kubectl-podfit; fi
`;

/** For `podfit completion fish | source`. https://fishshell.com/docs/current/completions.html */
function formatFish(spec: CommandSpec): string {
  const paths = listCommands(spec).map(({ path }) => path).filter((path) => path !== PROGRAM);
  const lines = [PROGRAM, "kubectl-podfit"].flatMap((program) => [
    `complete -c ${program} -f`,
    ...listCommands(spec).flatMap((command) =>
      formatFishCommand(command, `complete -c ${program} -n "__podfit_at '${command.path}'"`)
    ),
  ]);
  return ["# fish completion of podfit: podfit completion fish | source", ...formatFishAt(paths), ...lines, ""].join(
    "\n",
  );
}

/** `__podfit_at COMMAND`: are the typed words those of this command? */
function formatFishAt(paths: readonly string[]): readonly string[] {
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

function formatFishCommand({ commands, flags, values }: CommandSpec, start: string): readonly string[] {
  return [
    ...commands.map(({ name, description }) => `${start} -a ${quoteFish(name)} -d ${quoteFish(description)}`),
    ...formatFishValues(values).map((rest) => `${start} ${rest}`),
    ...flags.map((flag) => `${start} ${formatFishFlag(flag)}`),
  ];
}

function formatFishFlag({ names, description, values, isOptional }: FlagSpec): string {
  const words = names.map((name) => name.startsWith("--") ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`);
  // -x: it needs a value, and the value is not a file name.
  const needs = values === null || isOptional ? [] : [values.kind === "file" ? "-r" : "-x"];
  const offered = values === null ? [] : formatFishValues(values);
  return [...words, ...needs, ...offered, "-d", quoteFish(description)].join(" ");
}

function formatFishValues(values: Values): readonly string[] {
  if (values.kind === "words") return [`-a ${quoteFish(values.words.join(" "))}`];
  if (values.kind === "directory") return ["-a '(__fish_complete_directories)'"];
  return values.kind === "file" ? ["-F"] : [];
}

/**
 * `_podfit_values COMMAND FLAG` prints the values of the flag, one a line: words, or `:file`, `:files`, `:directory`, `:any`;
 * nothing for a flag without a value. The values of a flag whose value is optional begin with `:optional`.
 */
function formatValues(spec: CommandSpec): string {
  const cases = listCommands(spec).flatMap(({ path, flags }) =>
    flags.flatMap((flag) => flag.values === null ? [] : [toCase(path, flag, flag.values)])
  );
  return formatFunction("_podfit_values", '"$1 $2"', cases);
}

/** `_podfit_arguments COMMAND` prints the values of its argument, in the same way. */
function formatArguments(spec: CommandSpec): string {
  const cases = listCommands(spec).filter(({ values }) => values.kind !== "none")
    .map(({ path, values }) => `${quoteSh(path)}) printf '%s\\n' ${toWords(values).map(quoteSh).join(" ")} ;;`);
  return formatFunction("_podfit_arguments", '"$1"', cases);
}

/** `_podfit_NAME COMMAND` prints the lines that a list has for each command. */
function formatList(
  name: string,
  spec: CommandSpec,
  toLines: (command: CommandSpec) => readonly string[],
): string {
  const cases = listCommands(spec).flatMap((command) => {
    const lines = toLines(command);
    return lines.length === 0 ? [] : [`${quoteSh(command.path)}) printf '%s\\n' ${lines.map(quoteSh).join(" ")} ;;`];
  });
  return formatFunction(name, '"$1"', cases);
}

function toCase(path: string, { names, isOptional, isVariadic }: FlagSpec, values: Values): string {
  const patterns = names.map((name) => quoteSh(`${path} ${name}`)).join(" | ");
  const words = isVariadic && values.kind === "file" ? [":files"] : toWords(values);
  return `${patterns}) printf '%s\\n' ${[...(isOptional ? [":optional"] : []), ...words].map(quoteSh).join(" ")} ;;`;
}

function toWords(values: Values): readonly string[] {
  return values.kind === "words" ? values.words : [`:${values.kind}`];
}

function formatFunction(name: string, subject: string, cases: readonly string[]): string {
  return [`${name}() {`, `  case ${subject} in`, ...cases.map((one) => `    ${one}`), "  esac", "}"].join("\n");
}

/** Returns the text in single quotes, for sh, bash and zsh. */
function quoteSh(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Returns the text in single quotes, for fish. */
function quoteFish(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
