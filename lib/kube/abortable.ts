/**
 * Waits for something that takes no signal, no longer than a signal allows. What was waited for goes on: others may share
 * it, as requests do the one run of a credential plugin.
 */

/** Rejects with `signal.reason` as soon as it aborts. */
export async function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
