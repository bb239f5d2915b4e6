/**
 * What if something throws where nobody catches it? One line in the log, and the end. A promise that nobody waits for was
 * somebody's loop or answer: going on would mean to go on without it, in silence, while a restart costs seconds and loses
 * nothing that pods do not tell again.
 */
import type { Log } from "../../runtime/log.ts";

/** Where the line goes, and how the process ends. */
export interface CrashOptions {
  readonly log: Pick<Log, "error">;
  /** Resolves when the log is written, or when it has taken too long. Never rejects. */
  readonly flush: () => Promise<void>;
  /** Ends the process with an exit code. */
  readonly exit?: (code: number) => void;
}

/** Listens until disposed of. Deno's own end, which is a text of several lines, does not come to it. */
export function listenForCrashes({ log, flush, exit = Deno.exit }: CrashOptions): Disposable {
  const onRejection = (event: PromiseRejectionEvent) => {
    event.preventDefault();
    end("a rejection", event.reason);
  };
  const onError = (event: ErrorEvent) => {
    event.preventDefault();
    end("an exception", event.error ?? event.message);
  };
  addEventListener("unhandledrejection", onRejection);
  addEventListener("error", onError);
  return {
    [Symbol.dispose]() {
      removeEventListener("unhandledrejection", onRejection);
      removeEventListener("error", onError);
    },
  };

  function end(what: string, error: unknown): void {
    const stack = error instanceof Error ? error.stack : undefined;
    log.error(`Ending with exit code 1: nothing has caught ${what}`, { error, stack });
    void flush().then(() => exit(1));
  }
}
