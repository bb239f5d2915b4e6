/**
 * The script for bash, 3.2 and later, as macOS has it, and the one that kubectl runs for its plug-in.
 * https://www.gnu.org/software/bash/manual/html_node/Programmable-Completion.html
 */
import { formatArguments, formatList, formatValues } from "./cases.ts";
import type { CommandSpec } from "./spec.ts";

/** For `source <(podfit completion bash)`. */
export function formatBash(spec: CommandSpec): string {
  return `# bash completion of podfit: source <(podfit completion bash)\n${formatFunctions(spec)}\n` +
    "complete -F _podfit podfit kubectl-podfit\n";
}

/**
 * For a file `kubectl_complete-podfit` in PATH: it gets the words after `kubectl podfit` and prints what fits, then `:4` = no file names.
 * https://kubernetes.io/docs/tasks/extend-kubectl/kubectl-plugins/
 */
export function formatKubectl(spec: CommandSpec): string {
  return `#!/usr/bin/env bash
# Completion of "kubectl podfit": podfit completion kubectl > kubectl_complete-podfit, executable and in PATH.
${formatFunctions(spec)}
COMP_WORDS=(podfit "$@")
COMP_CWORD=$#
_podfit
if ((\${#COMPREPLY[@]} > 0)); then printf '%s\\n' "\${COMPREPLY[@]}"; fi
printf ':%s\\n' "\${_podfit_directive:-4}"
`;
}

function formatFunctions(spec: CommandSpec): string {
  return [
    formatList("_podfit_commands", spec, ({ commands }) => commands.map(({ name }) => name)),
    formatList("_podfit_flags", spec, ({ flags }) => flags.flatMap(({ names }) => names)),
    formatArguments(spec),
    formatValues(spec),
    BODY,
  ].join("\n");
}

const BODY = `# Keeps the lines that begin with the word.
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
