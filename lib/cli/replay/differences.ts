/** Where do two values of JSON differ? */

/** One field that differs; `undefined` = it is not there. */
export interface Difference {
  /** `decisions.0.decision.reason` */
  readonly path: string;
  readonly was: unknown;
  readonly is: unknown;
}

/** In the order of the fields; a field that is undefined is one that is not there. */
export function findDifferences(was: unknown, is: unknown, path = ""): readonly Difference[] {
  if (was === is || (Number.isNaN(was) && Number.isNaN(is))) return [];
  if (!isObject(was) || !isObject(is) || Array.isArray(was) !== Array.isArray(is)) return [{ path, was, is }];
  const keys = new Set([...Object.keys(was), ...Object.keys(is)]);
  return [...keys].flatMap((key) =>
    findDifferences(readOwn(was, key), readOwn(is, key), path === "" ? key : `${path}.${key}`)
  );
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

function readOwn(object: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}
