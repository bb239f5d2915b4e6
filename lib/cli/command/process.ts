/**
 * How is a podfit process called, which version is it, and how does it end?
 *
 * Exit codes, the error that explains in one line why a command cannot start, and SIGTERM and SIGINT as an
 * AbortSignal. No module of this file imports commander, so workers can load it.
 */
import project from "../../../deno.json" with { type: "json" };
import { toLine } from "../terminal/output.ts";

export const VERSION: string = project.version;

/** The commit that podfit was built from. `deno task image --commit` and the Dockerfile put it into the bundle. */
export const COMMIT = "unknown";

/** How the process was started. */
interface Invocation {
  /** It is one program, made by `deno compile`. */
  readonly isStandalone: boolean;
  /** The program's file. */
  readonly getExecPath: () => string;
  /** URL of the first module. */
  readonly mainModule: string;
}

/** `kubectl podfit` where the file is called kubectl-podfit, as kubectl finds its plug-ins by name; else `podfit`. */
export function getProgramName({ isStandalone, getExecPath, mainModule }: Invocation): string {
  const file = isStandalone ? getExecPath() : mainModule;
  return /(^|[/\\])kubectl-podfit(\.\w+)?$/.test(file) ? "kubectl podfit" : "podfit";
}

/** One rule for all commands. Only `lint` and `replay` are checks. */
export const EXIT = {
  /** Done. A check found nothing. */
  ok: 0,
  /** A check was done, and found something. */
  found: 1,
  /** Not done. stderr has the reason. */
  failed: 2,
  /** A second SIGINT or SIGTERM, which does not wait. */
  interrupted: 130,
} as const;

const EXIT_TEXTS: Readonly<Record<Exclude<keyof typeof EXIT, "found">, string>> = {
  ok: "done",
  failed: "not done: stderr says what is wrong or missing, and what to do",
  interrupted: "ended by a second Ctrl-C, which waits for nothing",
};

/** Returns the exit codes as the help of a command prints them. `found`: for a check, what 1 means. */
export function formatExitCodes({ found }: { readonly found?: string } = {}): string {
  const texts = { ...EXIT_TEXTS, found };
  const rows = Object.entries(EXIT).flatMap(([name, code]) => {
    const text = texts[name as keyof typeof EXIT];
    return text === undefined ? [] : [`  ${code}`.padEnd(7) + text];
  });
  return ["Exit codes:", ...rows].join("\n");
}

/** Why a command cannot do its work, as one line. It includes what to do. The process ends with EXIT.failed. */
export class StartError extends Error {
  override readonly name: string = "StartError";
}

/** Returns an error of a lower layer as one line. Its message already names the action and the cause. */
export function toStartError(error: unknown, advice = ""): StartError {
  const message = error instanceof Error ? error.message : String(error);
  return new StartError(toOneLine(message) + advice, { cause: error });
}

/** Returns why a file that the user named cannot be read, on one line. */
export function describeFileError(error: unknown): string {
  return error instanceof Deno.errors.NotFound
    ? "no such file or directory; check the path"
    : toStartError(error).message;
}

/** Returns why a file that the user named cannot be written. `instead`: a way that needs no right to write. */
export function toWriteError(path: string, cause: unknown, instead: string): StartError {
  const why = cause instanceof Deno.errors.NotCapable
    ? `Deno does not let it write there; start it with --allow-write=${path} before main.ts, or ${instead}`
    : toStartError(cause).message;
  return new StartError(`Cannot write "${path}": ${why}`, { cause });
}

const MAX_LINE_LENGTH = 600;

/** Servers write several lines of any length. Deno appends the system call and the path, which the message has already. */
function toOneLine(message: string): string {
  const line = toLine(message.replace(/ \(os error \d+\)(: \w+ '[^']*')?/, "")).replace(/ +/g, " ").trim();
  return line.length <= MAX_LINE_LENGTH ? line : `${line.slice(0, MAX_LINE_LENGTH)}...`;
}

/** Disposal stops listening. */
interface StopSignal extends Disposable {
  /** Aborts when the process is asked to end. */
  readonly signal: AbortSignal;
}

/**
 * Starts listening. `onStop` is called before the signal aborts; a second SIGTERM or SIGINT ends the process at once.
 */
export function listenForSignals(onStop: () => void = () => {}): StopSignal {
  const ending = new AbortController();
  const onSignal = () => {
    if (ending.signal.aborted) Deno.exit(EXIT.interrupted);
    onStop();
    ending.abort();
  };
  // Windows has no SIGTERM.
  const signals = Deno.build.os === "windows" ? ["SIGINT"] as const : ["SIGTERM", "SIGINT"] as const;
  for (const name of signals) Deno.addSignalListener(name, onSignal);
  return {
    signal: ending.signal,
    [Symbol.dispose]() {
      for (const name of signals) Deno.removeSignalListener(name, onSignal);
    },
  };
}
