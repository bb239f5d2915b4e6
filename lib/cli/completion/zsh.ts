/**
 * The script for zsh, which shows descriptions beside the words.
 * https://zsh.sourceforge.io/Doc/Release/Completion-System.html
 */
import { formatArguments, formatList, formatValues } from "./cases.ts";
import type { CommandSpec } from "./spec.ts";

/** For `source <(podfit completion zsh)` after compinit, or a file `_podfit` in fpath. */
export function formatZsh(spec: CommandSpec): string {
  return [
    "#compdef podfit kubectl-podfit",
    "# zsh completion of podfit: source <(podfit completion zsh)",
    formatList(
      "_podfit_commands",
      spec,
      ({ commands }) => commands.map(({ name, description }) => describe(name, description)),
    ),
    formatList(
      "_podfit_flags",
      spec,
      ({ flags }) => flags.flatMap(({ names, description }) => names.map((name) => describe(name, description))),
    ),
    formatArguments(spec),
    formatValues(spec),
    BODY,
  ].join("\n");
}

/** A colon ends the word. */
function describe(word: string, description: string): string {
  return `${word.replaceAll(":", "\\:")}:${description}`;
}

const BODY = `_podfit_offer() {
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
