/** What shells complete with podfit's scripts, each asked as a user's key would ask it. */
import { createCommands } from "../../lib/cli/commands.ts";
import { createProgram } from "../../lib/cli/run/options.ts";
import { formatCompletion } from "../../lib/cli/completion/completion.ts";
import type { Shell } from "../../lib/cli/completion/spec.ts";

/** The program with every command, for its help and its words: nothing of it is run. */
export function readProgram(name?: string) {
  const commands = createCommands(() => Promise.resolve());
  return createProgram(() => undefined, { run: () => Promise.resolve(), commands }, name);
}

/** Asks bash what fits after each of the lines, in a folder of its own with `web.yaml` and `shop/`. */
export async function completeInBash(
  lines: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Readonly<Record<string, readonly string[]>>> {
  const asks = lines.map((line) => {
    // As readline splits words: `=` and `:` are words of their own.
    const words = line.split(" ").flatMap((word) => word === "" ? [""] : word.split(/([=:])/).filter((part) => part));
    return `COMP_WORDS=(${words.map((word) => `'${word}'`).join(" ")}) COMP_CWORD=${
      words.length - 1
    }; COMPREPLY=(); _podfit; ` +
      `printf '%s\\n' "\${COMPREPLY[@]}" "--end"`;
  });
  const text = await runShell("bash", ["--norc", "--noprofile", "-c", `${toScript("bash")}\n${asks.join("\n")}`], env);
  return toAnswers(lines, text);
}

/** Asks fish. */
export async function completeInFish(
  lines: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Readonly<Record<string, readonly string[]>>> {
  const asks = lines.map((line) => `complete -C '${line}'; echo --end`);
  const text = await runShell("fish", ["--no-config", "-c", `${toScript("fish")}\n${asks.join("\n")}`], env);
  // A tab and the description follow a word.
  const answers = Object.entries(toAnswers(lines, text));
  return Object.fromEntries(answers.map(([line, words]) => [line, words.map((word) => word.split("\t")[0] ?? "")]));
}

/** Asks zsh in a terminal of its own, whose list it prints after a Tab. */
export async function completeInZsh(
  lines: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Readonly<Record<string, readonly string[]>>> {
  const script = await Deno.makeTempFile();
  try {
    await Deno.writeTextFile(script, toScript("zsh"));
    const text = await runShell("zsh", ["-f", "-c", ZSH, "zsh", script, ...lines], env);
    return toAnswers(lines, text);
  } finally {
    await Deno.remove(script);
  }
}

/**
 * zsh completes in its line editor only, so one runs in a pseudo-terminal. There each match goes through compadd, which writes it down.
 * https://zsh.sourceforge.io/Doc/Release/Zsh-Modules.html#The-zsh_002fzpty-Module
 */
const ZSH = `zmodload zsh/zpty
script=$1; shift
zpty shell zsh -f -i
zpty -w shell "PS1=; unsetopt zle_bracketed_paste; autoload -Uz compinit && compinit -u -D; source $script"
zpty -w shell 'compadd() {
  case "$*" in *-O*|*-A*|*-D*) builtin compadd "$@"; return;; esac
  local -a _found; builtin compadd -O _found "$@"
  (( \${#_found} )) && printf "<match>%s</match>" "\${_found[@]}"
  builtin compadd "$@"
}'
zpty -w shell 'finish() { zle kill-whole-line; print -n "<end>"; }; zle -N finish; bindkey "^X" finish; echo "<rea""dy>"'
zpty -r shell out '*<ready>*'
for line in "$@"; do
  zpty -n -w shell "$line"$'\\t'$'\\x18'
  zpty -r shell out '*<end>*'
  print -r -- "$out" | grep -o '<match>[^<]*' | sed 's/<match>//' | sort -u
  print -r -- --end
done
zpty -d shell`;

const END = "--end";

function toScript(shell: Shell): string {
  return formatCompletion(shell, readProgram());
}

/** The answers stand one after another, each with its end. */
function toAnswers(lines: readonly string[], text: string): Readonly<Record<string, readonly string[]>> {
  const answers = text.split(`${END}\n`).map((answer) => answer.split("\n").filter((word) => word !== ""));
  return Object.fromEntries(lines.map((line, index) => [line, answers[index]?.toSorted() ?? []]));
}

/** Bounded: a shell that waits for something would hold up the tests. */
export async function runShell(
  shell: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${folder}/web.yaml`, "");
    await Deno.mkdir(`${folder}/shop`);
    const signal = AbortSignal.timeout(SHELL_MS);
    const { stdout, stderr } = await new Deno.Command(shell, {
      args: [...args],
      cwd: folder,
      env: { HOME: folder, TERM: "xterm", ...env },
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
      signal,
    }).output();
    const complaint = new TextDecoder().decode(stderr);
    if (complaint !== "") throw new Error(`${shell}: ${complaint}`);
    return new TextDecoder().decode(stdout);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const SHELL_MS = 60_000;
