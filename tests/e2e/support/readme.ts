/** The README's commands, as somebody types them in one shell, one after the other. */
import { readPath } from "./kubectl.ts";

const ROOT = new URL("../../../", import.meta.url).pathname;
const TIMEOUT_MS = 6 * 60_000;

/** The sh blocks of a section with this title, which may be of any depth; those of the sections below it are its own, too. */
export async function readBlocks(title: string): Promise<readonly string[]> {
  const readme = await Deno.readTextFile(`${ROOT}README.md`);
  const found = new RegExp(`^(#+) ${title}$`, "m").exec(readme);
  if (found === null) throw new Error(`Cannot find "${title}" in README.md`);
  const rest = readme.slice(found.index + found[0].length);
  const end = rest.search(new RegExp(`^#{1,${found[1]?.length ?? 1}} `, "m"));
  return [...rest.slice(0, end < 0 ? undefined : end).matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = ""]) => block);
}

/** How a shell ended, and all that it said. */
export interface ShellEnding {
  readonly code: number;
  readonly output: string;
}

/** Stops at the first command that fails, in the project's folder. Whatever happens, `atEnd` is done and no job outlives the shell. */
export async function runInShell(commands: string, { atEnd }: { readonly atEnd: string }): Promise<ShellEnding> {
  // Job control, as in a terminal: `kill %1` means the first job.
  const script = `set -em\ntrap 'kill $(jobs -p) 2>/dev/null || true; ${atEnd}' EXIT\n${commands}`;
  const child = new Deno.Command("bash", {
    args: ["-c", script],
    cwd: ROOT,
    env: { PATH: readPath() },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).spawn();
  const { code, stdout, stderr } = await child.output();
  const decoder = new TextDecoder();
  return { code, output: `${decoder.decode(stdout)}\n--- stderr ---\n${decoder.decode(stderr)}` };
}
