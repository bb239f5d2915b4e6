/** `@std/assert` for machines that cannot reach JSR: the same code from npm `deno-std`, with its types declared here. */
import * as std from "deno-std/assert/mod.js";
import { trustNoRuntimeRoots } from "../../lib/kube/https.ts";

// podfit trusts only the CAs that it is given, for which the process may not have loaded the public roots: the first
// fetch of a test would. Every test imports this file before it runs.
trustNoRuntimeRoots();

export function assert(condition: unknown, message = ""): asserts condition {
  std.assert(condition, message);
}
export const assertEquals: <T>(actual: T, expected: T, message?: string) => void = std.assertEquals;
export const assertNotEquals: <T>(actual: T, expected: T, message?: string) => void = std.assertNotEquals;
export const assertStringIncludes: (actual: string, expected: string, message?: string) => void =
  std.assertStringIncludes;
export const assertMatch: (actual: string, expected: RegExp, message?: string) => void = std.assertMatch;
export const assertAlmostEquals: (actual: number, expected: number, tolerance?: number, message?: string) => void =
  std.assertAlmostEquals;
type ErrorClass<E extends Error> = abstract new (...args: never[]) => E;
export const assertThrows: <E extends Error = Error>(fn: () => unknown, type?: ErrorClass<E>, includes?: string) => E =
  std.assertThrows;
export const assertRejects: <E extends Error = Error>(
  fn: () => PromiseLike<unknown>,
  type?: ErrorClass<E>,
  includes?: string,
) => Promise<E> = std.assertRejects;
