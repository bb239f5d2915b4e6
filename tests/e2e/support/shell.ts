/** Commands of a page, as somebody types them in one shell, one after the other. */
import { fillOutput, parseTranscript, type Step, toScript } from "../../../tools/docs/commands.ts";
import { TRANSCRIPTS } from "../../../tools/docs/transcripts.ts";
import { readPath } from "./kubectl.ts";

const ROOT = new URL("../../../", import.meta.url).pathname;
const TIMEOUT_MS = 6 * 60_000;

/**
 * kind, for the cluster of tests/cluster: that is up already, and an image goes to each of its nodes. As a function, so that
 * the commands of the pages run as they are.
 */
export const KIND = `kind() {
  [ "$1" != load ] || for socket in $(dirname "$KUBECONFIG")/containerd*/containerd.sock; do
    ctr -a $socket -n k8s.io images import "$3" >/dev/null 2>&1
  done
}`;

/** A registry that the cluster lacks is the name under which the image is loaded. */
export function withoutRegistry(command: string): string {
  return command.replaceAll("registry.example/podfit", "localhost/podfit");
}

/** How a shell ended, and all that it said. */
export interface ShellEnding {
  readonly code: number;
  readonly output: string;
}

/** Runs commands and stops at the first that fails, in the project's folder. Whatever happens, `atEnd` is done and no job outlives the shell. */
export async function runInShell(commands: string, { atEnd }: { readonly atEnd: string }): Promise<ShellEnding> {
  // Job control, as in a terminal: `kill %1` means the first job.
  const script = `set -em\ntrap 'kill $(jobs -p) 2>/dev/null || true; ${atEnd}' EXIT\n${commands}`;
  const child = new Deno.Command("bash", {
    args: ["-c", script],
    cwd: ROOT,
    env: { PATH: readPath(), NO_COLOR: "1" },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).spawn();
  const { code, stdout, stderr } = await child.output();
  const decoder = new TextDecoder();
  return { code, output: `${decoder.decode(stdout)}\n--- stderr ---\n${decoder.decode(stderr)}` };
}

/** The commands of a page, and what a run of them needs in addition. */
export interface PageRun {
  readonly page: keyof typeof TRANSCRIPTS;
  readonly steps: readonly Step[];
  /** Shell functions that stand for programs which the machine lacks. */
  readonly functions: readonly string[];
  readonly change?: (command: string) => string;
  readonly atEnd: readonly string[];
}

/**
 * Runs the steps and resolves to them with their output. Rejects where a command fails, or prints something else than the page
 * shows. With PODFIT_TRANSCRIPT=true the output is kept; `deno task pages outputs` then copies it into the page.
 */
export async function runPage({ page, steps, functions, change, atEnd }: PageRun): Promise<readonly Step[]> {
  const { code, output } = await runInShell([...functions, toScript(steps, change)].join("\n"), {
    atEnd: atEnd.map((command) => `${command} >/dev/null || true`).join("; "),
  });
  const [transcript = ""] = output.split("\n--- stderr ---\n");
  if (code !== 0) throw new Error(`A command of ${page} ended with ${code}:\n${output}`);
  if (Deno.env.get("PODFIT_TRANSCRIPT") === "true") {
    await Deno.writeTextFile(`${ROOT}${TRANSCRIPTS[page]}`, `${transcript.trim()}\n`);
  } else fillOutput(await Deno.readTextFile(`${ROOT}${page}`), parseTranscript(transcript));
  return parseTranscript(transcript);
}

/** Returns what the first command that begins so printed. Throws where there is none. */
export function getOutput(steps: readonly Step[], start: string): string {
  const step = steps.find(({ command }) => command.startsWith(start));
  if (step === undefined) throw new Error(`Cannot find a command that begins with "${start}"`);
  return step.shown.join("\n");
}
