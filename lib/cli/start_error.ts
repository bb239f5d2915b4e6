/** A reason not to start, told as one line that says what to do. */
export class StartError extends Error {
  override readonly name = "StartError";
}

/** Adds what was tried to an error of a lower layer; its own words already name the cause. */
export function toStartError(error: unknown): StartError {
  const message = error instanceof Error ? error.message : String(error);
  return new StartError(message.split("\n")[0] ?? message, { cause: error });
}
