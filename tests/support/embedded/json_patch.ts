/**
 * What does a JSON patch (RFC 6902) make of an object?
 * As the library of the API server: a missing field may be replaced, copied as null and tested for null, and a negative
 * index counts from the end.
 * https://github.com/evanphx/json-patch/tree/v4.13.0
 */
import { isObject, type Json } from "../../../lib/embedded/json.ts";
import { isDeepEqual } from "../../../lib/units/equality.ts";
import { badRequest, Refusal } from "../../../lib/embedded/server/refusal.ts";

/**
 * Returns the target after all operations, in order. The target is not changed. Throws a Refusal where one is
 * impossible.
 */
export function jsonPatch(target: Json, operations: Json): Json {
  if (!Array.isArray(operations)) {
    const type = isObject(operations) ? "object" : typeof operations;
    throw badRequest(
      `error decoding patch: json: cannot unmarshal ${type} into Go value of type []handlers.jsonPatchOp`,
    );
  }
  return operations.reduce<Json>(applyOperation, structuredClone(target));
}

/** Changes a draft in place, unless the operation is about the whole, and returns it. */
function applyOperation(draft: Json, operation: Json): Json {
  if (!isObject(operation)) throw cannotApply();
  const { op, path, from = null, value = null } = operation;
  const keys = toKeys(path ?? null);
  switch (op) {
    case "test":
      if (isDeepEqual(getAt(draft, keys) ?? null, value)) return draft;
      throw cannotApply();
    case "add":
    case "replace":
      return setAt(draft, keys, { value: structuredClone(value), isNew: op === "add" });
    case "remove":
      return removeAt(draft, keys);
    case "copy":
      return setAt(draft, keys, { value: structuredClone(getAt(draft, toKeys(from)) ?? null), isNew: true });
    case "move": {
      const source = toKeys(from);
      const moved = getAt(draft, source);
      if (moved === undefined) throw cannotApply();
      return setAt(removeAt(draft, source), keys, { value: moved, isNew: true });
    }
    default:
      throw cannotApply();
  }
}

/** `/a~1b/0` -> `a/b`, `0`; none for the whole. */
function toKeys(path: Json): readonly string[] {
  if (typeof path !== "string" || (path !== "" && !path.startsWith("/"))) throw cannotApply();
  return path.split("/").slice(1).map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** `undefined` for a missing field; throws where there is nothing that could have one. */
function getAt(target: Json, keys: readonly string[]): Json | undefined {
  let here: Json | undefined = target;
  for (const key of keys) {
    if (Array.isArray(here)) here = here[toIndex(key, here.length)];
    else if (isObject(here)) here = Object.hasOwn(here, key) ? here[key] : undefined;
    else throw cannotApply();
  }
  return here;
}

function setAt(
  draft: Json,
  keys: readonly string[],
  { value, isNew }: { readonly value: Json; readonly isNew: boolean },
): Json {
  const last = keys.at(-1);
  if (last === undefined) return value;
  const parent = getAt(draft, keys.slice(0, -1));
  if (Array.isArray(parent)) {
    const length = isNew ? parent.length + 1 : parent.length;
    parent.splice(last === "-" && isNew ? parent.length : toIndex(last, length), isNew ? 0 : 1, value);
  } else if (isObject(parent)) {
    // An assignment would take `__proto__` for more than a key.
    Object.defineProperty(parent, last, { value, enumerable: true, configurable: true, writable: true });
  } else throw cannotApply();
  return draft;
}

function removeAt(draft: Json, keys: readonly string[]): Json {
  const last = keys.at(-1) ?? "";
  const parent = getAt(draft, keys.slice(0, -1));
  if (Array.isArray(parent)) parent.splice(toIndex(last, parent.length), 1);
  else if (isObject(parent) && Object.hasOwn(parent, last)) delete parent[last];
  else throw cannotApply();
  return draft;
}

/** Below the length; a negative one counts from the end. */
function toIndex(key: string, length: number): number {
  const index = /^[+-]?\d+$/.test(key) ? Number(key) : NaN;
  const found = index < 0 ? index + length : index;
  if (found >= 0 && found < length) return found;
  throw cannotApply();
}

function cannotApply(): Refusal {
  const message = "the server rejected our request due to an error in our request";
  return new Refusal(422, { message, reason: "Invalid", details: {} });
}
