/** The assertions of `@std/assert`, from the npm package `deno-std`, which has no types: they are declared here. */
import * as std from "deno-std/assert/mod.js";

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
