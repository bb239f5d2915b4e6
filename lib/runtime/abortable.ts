/** `@std/async/abortable` for machines that cannot reach JSR: the same code from npm `deno-std`, with its type here. */
import { abortable as abortablePromise } from "deno-std/async/abortable.js";

/**
 * Gives the promise's outcome, or rejects with `signal.reason` as soon as the signal aborts. What the promise stands
 * for is not cancelled: others may share it, as requests share one run of a credential plugin.
 */
export const abortable: <T>(promise: Promise<T>, signal: AbortSignal) => Promise<T> = abortablePromise;
