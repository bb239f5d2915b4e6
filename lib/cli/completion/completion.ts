/**
 * Prints completion scripts for bash, zsh, fish and kubectl, and the names of objects that these scripts ask for.
 *
 * Commands, flags and values are taken from the commander program, so no list is kept by hand.
 */
import type { Command, Option } from "commander";
import { listContexts } from "../../kube/config/load.ts";
import { fetchPage } from "../../kube/list.ts";
import type { ApiServer } from "../../kube/transport.ts";
import { type Clock, systemClock } from "../../runtime/clock.ts";
import { abortable } from "../../runtime/tasks.ts";
import { isText, NAME_RULE } from "../../units/fields.ts";
import { type GetEnv, SubjectArgument } from "../command/command.ts";
import { findSubjectKind, SUBJECT_PLACES, type SubjectKind } from "../command/parse_values.ts";
import { EXIT } from "../command/process.ts";
import { connectTo, getServerEnvironment } from "../connection/api_server.ts";
import { writeLines, writeOutput } from "../terminal/output.ts";
import type { CompletionOptions } from "./options.ts";
import {
  type CommandSpec,
  findNamed,
  type FlagSpec,
  listCommands,
  NAMES_COMMAND,
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

/** Prints the names that fit `words`, of which the last one is unfinished. A cluster that cannot be asked has none. Never rejects. */
export async function printNames(
  words: readonly string[],
  { program, getEnv }: { readonly program: Command; readonly getEnv: GetEnv },
): Promise<void> {
  const environment = getServerEnvironment(getEnv);
  const places: Places = {
    connect: ({ kubeconfigPaths, context }, signal) => connectTo({ kubeconfigPaths, context, environment }, signal),
    listContexts(kubeconfigPaths) {
      const { kubeconfig, home } = environment;
      return listContexts({
        kubeconfigPaths,
        kubeconfigVariable: kubeconfig,
        defaultPath: home === null ? null : `${home}/.kube/config`,
      });
    },
  };
  writeLines(await completeNames(words, { program, ...places, clock: systemClock }));
}

/** Where names come from. */
interface Places {
  readonly connect: Connect;
  readonly listContexts: (kubeconfigPaths: readonly string[]) => Promise<readonly string[]>;
}

type Connect = (
  choice: { readonly kubeconfigPaths: readonly string[]; readonly context: string | null },
  signal: AbortSignal,
) => Promise<Pick<ApiServer, "origin" | "transport" | "namespace"> & AsyncDisposable>;

/** A user waits for the key, so a slow cluster is given up. */
const NAMES_MS = 1_500;

/** Resolves to the words that fit in the place of the last one. Never rejects. */
export async function completeNames(
  words: readonly string[],
  { program, connect, listContexts, clock }: Places & { readonly program: Command; readonly clock: Clock },
): Promise<readonly string[]> {
  const line = parseLine(words, program);
  if (line === null) return [];
  using timeout = clock.timeout(NAMES_MS);
  const { signal } = timeout;
  const found = new Set(line.kindWords);
  const work = async () => {
    if (line.isContext) {
      for (const name of await listContexts(line.kubeconfigPaths)) if (CONTEXT_RULE.test(name)) found.add(name);
      return;
    }
    await using server = await connect(line, signal);
    const namespace = line.namespace ?? server.namespace;
    await Promise.all(line.kinds.map(async (kind) => {
      const [prefix, plural] = kind === "namespace" ? ["/api/v1", "namespaces"] : SUBJECT_PLACES[kind];
      const path = kind === "namespace" ? `${prefix}/${plural}` : `${prefix}/namespaces/${namespace}/${plural}`;
      const { origin, transport } = server;
      const names = await fetchPage(transport, null, { origin, path, clock, signal, project: toName }).catch(() =>
        null
      );
      for (const name of names?.objects ?? []) found.add(`${line.prefix}${name}`);
    }));
  };
  // What was found before the time was over is better than nothing.
  await abortable(work(), signal).catch(() => {});
  return [...found].filter((word) => word.startsWith(line.current)).toSorted();
}

/** A context may have any name. Those with other characters mean something to a shell, and are not offered. */
const CONTEXT_RULE = /^[A-Za-z0-9_][A-Za-z0-9_.:/@+-]*$/;

/** Throws for a name that an API server would not accept: a shell must not get it. */
function toName({ metadata: { name } }: { readonly metadata: { readonly name: string } }): string {
  if (isText(name, NAME_RULE)) return name;
  throw new TypeError("Cannot complete a name that is not one of Kubernetes");
}

/** What an unfinished line asks for, and where. */
interface Line {
  /** Contexts of the kubeconfig are asked for, and nothing of a cluster. */
  readonly isContext: boolean;
  readonly kinds: readonly (SubjectKind | "namespace")[];
  /** `deploy/`, where the kind is in the same word. */
  readonly prefix: string;
  /** `deployment/` and so on, where a kind may still be typed. */
  readonly kindWords: readonly string[];
  readonly current: string;
  readonly namespace: string | null;
  readonly kubeconfigPaths: readonly string[];
  readonly context: string | null;
}

/** Returns `null` where no name fits. */
function parseLine([name, ...typed]: readonly string[], program: Command): Line | null {
  const command = program.commands.find((one) => one.name() === name);
  const current = typed.at(-1);
  if (command === undefined || current === undefined) return null;
  const { values, positionals, open } = parseWords(typed.slice(0, -1), command);
  const place = {
    namespace: values.get("--namespace")?.at(-1) ?? null,
    kubeconfigPaths: values.get("--kubeconfig") ?? [],
    context: values.get("--context")?.at(-1) ?? null,
  };
  const nothing = { isContext: false, prefix: "", kindWords: [], current };
  const [flag, value] = open === null ? splitFlag(current, command) : [open, current];
  if (flag !== null) {
    const named = findNamed(flag);
    if (value === null || named === null) return null;
    const kinds = named === "namespace" ? [named] : [];
    return { ...nothing, ...place, isContext: named === "context", kinds, current: value };
  }
  const [argument] = command.registeredArguments;
  if (!(argument instanceof SubjectArgument) || current.startsWith("-") || values.has("--url")) return null;
  return { ...nothing, ...place, ...findSubjects(current, positionals, argument) };
}

/** Which objects the word may name, by the words before it. */
function findSubjects(
  current: string,
  positionals: readonly string[],
  { kinds }: SubjectArgument,
): Pick<Line, "kinds" | "prefix" | "kindWords"> {
  const [before] = positionals;
  const [kindWord = "", ...rest] = current.split("/");
  if (rest.length > 0) {
    const kind = findSubjectKind(kindWord, kinds);
    return { kinds: kind === null ? [] : [kind], prefix: `${kindWord}/`, kindWords: [] };
  }
  const named = before === undefined ? null : findSubjectKind(before, kinds);
  if (named !== null) return { kinds: [named], prefix: "", kindWords: [] };
  return { kinds, prefix: "", kindWords: kinds.map((kind) => `${kind}/`) };
}

interface ParsedWords {
  /** By the long name of the flag. */
  readonly values: ReadonlyMap<string, readonly string[]>;
  readonly positionals: readonly string[];
  /** The flag whose value comes next; `null` = none. */
  readonly open: Option | null;
}

function parseWords(words: readonly string[], command: Command): ParsedWords {
  const values = new Map<string, readonly string[]>();
  const positionals: string[] = [];
  let open: Option | null = null;
  const take = ({ long }: Option, value: string) =>
    void values.set(long ?? "", [...values.get(long ?? "") ?? [], value]);
  for (const word of words) {
    if (open !== null) {
      take(open, word);
      open = null;
      continue;
    }
    const [flag, value] = splitFlag(word, command);
    if (flag === null) {
      if (!word.startsWith("-")) positionals.push(word);
    } else if (value !== null) take(flag, value);
    else if (flag.required) open = flag;
  }
  return { values, positionals, open };
}

/** `--namespace=shop` and `-n`; `null` for a word that is not a flag of the command. */
function splitFlag(word: string, { options }: Command): readonly [flag: Option | null, value: string | null] {
  const [, name = word, value = null] = /^(--[^=]+)=(.*)$/s.exec(word) ?? [];
  return [options.find(({ short, long }) => name === short || name === long) ?? null, value];
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
_podfit_program=(kubectl podfit)
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

const BASH_BODY = `# A reply replaces what follows the last colon of the word.
_podfit_reply() {
  COMPREPLY+=("\${1#"$colons"}")
}
# Keeps the lines that begin with the word.
_podfit_fit() {
  local line
  while IFS= read -r line; do
    case $line in
      :*) ;;
      "$2"*) _podfit_reply "$3$line" ;;
    esac
  done <<< "$1"
}
_podfit_paths() {
  local line
  # kubectl completes file names itself.
  _podfit_directive=0
  compopt -o filenames 2> /dev/null
  while IFS= read -r line; do
    [[ -n $line ]] && _podfit_reply "$3$line"
  done <<< "$(compgen "$1" -- "$2")"
}
# Asks podfit for names. A word that ends with a slash goes on.
_podfit_names() {
  local before=() i program=("\${_podfit_program[@]:-\${COMP_WORDS[0]/#\~/$HOME}}")
  for ((i = 1; i < last; i++)); do
    [[ \${words[i]} == = ]] || before+=("\${words[i]}")
  done
  _podfit_fit "$("\${program[@]}" ${NAMES_COMMAND} "\${before[@]}" "$2$1" 2> /dev/null < /dev/null)" "$1" "$2"
  if [[ \${#COMPREPLY[@]} -eq 1 && \${COMPREPLY[0]} == */ ]]; then
    _podfit_directive=6
    compopt -o nospace 2> /dev/null
  fi
}
_podfit_offer() {
  case $1 in
    *:names*) _podfit_names "$2" "$3" ;;
    *:file*) _podfit_paths -f "$2" "$3" ;;
    *:directory*) _podfit_paths -d "$2" "$3" ;;
    *) _podfit_fit "$1" "$2" "$3" ;;
  esac
}
_podfit() {
  local command=podfit flag='' values='' current prefix='' word i words=() last=-1 colons=''
  COMPREPLY=()
  # bash makes five words of arn:aws:eks, and replaces only the last one.
  for ((i = 0; i <= COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    if ((i > 0)) && [[ $word == : || \${COMP_WORDS[i - 1]} == : ]]; then
      words[last]+=$word
      ((i < COMP_CWORD)) || colons=\${words[last]%:*}:
    else
      words[++last]=$word
    fi
  done
  for ((i = 1; i < last; i++)); do
    word=\${words[i]}
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
  current=\${words[last]}
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

const ZSH_BODY = `# Asks the cluster for names. A word that ends with a slash goes on.
_podfit_names() {
  local program=\${(Q)words[1]}
  local -a fitting=(\${(f)"$(\${~program} ${NAMES_COMMAND} "\${(@Q)words[2,CURRENT]}" 2> /dev/null < /dev/null)"})
  compadd -S '' -- \${(M)fitting:#*/}
  compadd -- \${fitting:#*/}
}
_podfit_offer() {
  case $1 in
    *:names*) _podfit_names ;;
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
    "function __podfit_names",
    "    set -l words (commandline -opc)",
    "    set -l current (commandline -ct)",
    "    type -q $words[1]; or return",
    `    $words[1] ${NAMES_COMMAND} $words[2..-1] "$current" 2> /dev/null < /dev/null`,
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
  if (values.kind === "names") return ["-a '(__podfit_names)'"];
  if (values.kind === "directory") return ["-a '(__fish_complete_directories)'"];
  return values.kind === "file" ? ["-F"] : [];
}

/**
 * `_podfit_values COMMAND FLAG` prints the values of the flag, one a line: words, or `:file`, `:files`, `:directory`, `:names`, `:any`;
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
