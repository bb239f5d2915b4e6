/**
 * How is plain JSON read by path? A path that is missing or has another type gives an empty value, so that no manifest
 * makes the server throw.
 */
import { isRecord } from "../units/untrusted.ts";

/** Any value of JSON. */
export type Json = null | boolean | number | string | Json[] | JsonObject;

/** Never changed once stored: who wants another one makes a draft with structuredClone. */
export interface JsonObject {
  [key: string]: Json;
}

/** Is this a JSON object, and neither a list nor null? */
export function isObject(value: unknown): value is JsonObject {
  return isRecord(value);
}

/** The value at a path of own properties; `undefined` where there is none. */
export function at(value: Json | undefined, ...path: readonly string[]): Json | undefined {
  let here = value;
  for (const key of path) {
    if (!isObject(here) || !Object.hasOwn(here, key)) return undefined;
    here = here[key];
  }
  return here;
}

/** The object at a path; an empty one where there is none. */
export function objectAt(value: Json | undefined, ...path: readonly string[]): JsonObject {
  const found = at(value, ...path);
  return isObject(found) ? found : {};
}

/** The objects of a list; anything else in it is passed over. */
export function listAt(value: Json | undefined, ...path: readonly string[]): readonly JsonObject[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? found.filter(isObject) : [];
}

/** The text at a path; empty where there is none. */
export function textAt(value: Json | undefined, ...path: readonly string[]): string {
  const found = at(value, ...path);
  return typeof found === "string" ? found : "";
}

/** The texts of the list at a path; anything else in it is passed over. */
export function textsAt(value: Json | undefined, ...path: readonly string[]): readonly string[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? found.filter((one) => typeof one === "string") : [];
}

/** The number at a path; `null` where there is none. */
export function numberAt(value: Json | undefined, ...path: readonly string[]): number | null {
  const found = at(value, ...path);
  return typeof found === "number" ? found : null;
}

/** The object under a key of a draft, put there if it is missing. */
export function openAt(draft: JsonObject, ...path: readonly string[]): JsonObject {
  let here = draft;
  for (const key of path) {
    const found = here[key];
    const next = isObject(found) ? found : {};
    here[key] = next;
    here = next;
  }
  return here;
}

/** Sets what a draft leaves out; `null` counts as left out. */
export function setDefaults(draft: JsonObject, defaults: Readonly<Record<string, Json>>): void {
  for (const [key, value] of Object.entries(defaults)) {
    if ((draft[key] ?? null) === null) draft[key] = value;
  }
}

/** `target` with these fields as `source` has them, or without. */
export function takeFrom(target: JsonObject, source: JsonObject, keys: readonly string[]): JsonObject {
  const taken = { ...target };
  for (const key of keys) {
    const value = source[key];
    if (value === undefined) delete taken[key];
    else taken[key] = value;
  }
  return taken;
}
