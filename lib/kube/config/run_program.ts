/**
 * Runs a program to its end and gives what it printed. The signal ends the wait in any case, even when a child of the
 * program still holds the output open.
 */

/**
 * `missing`: not found, or not executable. `forbidden`: this process may not run programs. `aborted`: killed when the
 * signal aborted.
 */
export type ProgramResult =
  | { readonly kind: "exited"; readonly code: number; readonly stdout: string; readonly stderr: string }
  | { readonly kind: "missing" }
  | { readonly kind: "forbidden" }
  | { readonly kind: "aborted" };

export interface ProgramOptions {
  readonly args: readonly string[];
  /** Added to the environment of this process. */
  readonly env: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** What comes after this much is read and dropped. */
const MAX_OUTPUT_BYTES = 1024 * 1024;

/**
 * Resolves with the result, also when the program fails or the signal aborts; rejects when it can't be started at all.
 */
export async function runProgram(command: string, options: ProgramOptions): Promise<ProgramResult> {
  const { signal } = options;
  if (signal.aborted) return { kind: "aborted" };
  const child = spawn(command, options);
  if ("kind" in child) return child;
  const kill = () => killIfRunning(child);
  signal.addEventListener("abort", kill);
  try {
    const [status, stdout, stderr] = await Promise.all([
      child.status,
      readText(child.stdout, signal),
      readText(child.stderr, signal),
    ]);
    return signal.aborted ? { kind: "aborted" } : { kind: "exited", code: status.code, stdout, stderr };
  } finally {
    signal.removeEventListener("abort", kill);
  }
}

type Unstarted = Extract<ProgramResult, { kind: "missing" | "forbidden" }>;

function spawn(command: string, { args, env }: ProgramOptions): Deno.ChildProcess | Unstarted {
  try {
    return new Deno.Command(command, { args: [...args], env, stdin: "null", stdout: "piped", stderr: "piped" }).spawn();
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) return { kind: "forbidden" };
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.PermissionDenied) {
      return { kind: "missing" };
    }
    throw error;
  }
}

function killIfRunning(child: Deno.ChildProcess): void {
  try {
    child.kill("SIGKILL");
  } catch {
    // It has just ended by itself.
  }
}

async function readText(stream: ReadableStream<Uint8Array>, signal: AbortSignal): Promise<string> {
  const reader = stream.getReader();
  const stop = () => void reader.cancel();
  signal.addEventListener("abort", stop);
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      if (bytes < MAX_OUTPUT_BYTES) text += decoder.decode(part.value, { stream: true });
      bytes += part.value.length;
    }
    return text;
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
