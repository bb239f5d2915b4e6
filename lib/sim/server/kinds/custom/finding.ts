/**
 * What a schema finds wrong with an object, and where: the place decides whether an update may leave it as it was.
 */
import type { Json } from "../../../json.ts";
import type { Problem } from "../../refusal.ts";
import { showValue } from "../../show_value.ts";

/** A problem and the place of the value that has it. */
export interface Finding {
  /** Keys and indexes from the root of the object to the value that the schema is about. */
  readonly path: readonly string[];
  readonly problem: Problem;
}

/** `spec.selector.matchExpressions[0].key`: indexes are told from keys by what the object has there. */
export function formatPath(path: readonly string[], root: Json): string {
  let text = "";
  let here: Json | undefined = root;
  for (const key of path) {
    if (Array.isArray(here)) {
      text += `[${key}]`;
      here = here[Number(key)];
    } else {
      text += text === "" ? key : `.${key}`;
      here = typeof here === "object" && here !== null ? here[key] : undefined;
    }
  }
  return text;
}

/** The value that stands at a path; `undefined` where nothing does. */
export function readAt(root: Json, path: readonly string[]): Json | undefined {
  let here: Json | undefined = root;
  for (const key of path) {
    if (typeof here !== "object" || here === null || !Object.hasOwn(here, key)) return undefined;
    here = Array.isArray(here) ? here[Number(key)] : here[key];
  }
  return here;
}

/** A problem of a value in the words of the API server, which shows scalars alone. */
export function toProblem(
  { field, reason, value, detail }: {
    readonly field: string;
    readonly reason: string;
    readonly value: Json;
    readonly detail: string;
  },
): Problem {
  switch (reason) {
    case "FieldValueRequired":
      return { field, reason, message: `Required value: ${detail}` };
    case "FieldValueForbidden":
      return { field, reason, message: `Forbidden: ${detail}` };
    case "FieldValueDuplicate":
      return { field, reason, message: `Duplicate value: ${showValue(value)}` };
    default: {
      const isShown = typeof value !== "object" || value === null;
      const shown = isShown ? `${showValue(value)}: ` : "";
      return { field, reason: "FieldValueInvalid", message: `Invalid value: ${shown}${detail}` };
    }
  }
}
