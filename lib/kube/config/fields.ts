/**
 * Typed values of a kubeconfig document. A field that is absent, null or empty is `null`, as kubectl reads it. A value
 * of another type throws an error that names the file and the field but never quotes the value, which may be a secret.
 */
import { isRecord } from "../../units/untrusted.ts";

/** A value that nobody has checked yet, and its place. */
export interface Field {
  /** The file. */
  readonly path: string;
  /** The place in the file, such as `users[0].user.token`. */
  readonly at: string;
  readonly value: unknown;
}

type Fields = Readonly<Record<string, unknown>>;

/** Gives the field `name` of an object whose fields were read. */
export function atPath(parent: Field, name: string, fields: Fields): Field {
  return { path: parent.path, at: `${parent.at}.${name}`, value: fields[name] };
}

/** Gives the fields of an object. Throws for another type. */
export function readRecord(field: Field): Fields | null {
  const value = field.value ?? null;
  if (value === null) return null;
  if (!isRecord(value)) throw wrongType(field, "an object");
  return value;
}

/** Gives the items of a list, none for an absent one. Throws for another type. */
export function readList(field: Field): readonly Field[] {
  const value = field.value ?? [];
  if (!Array.isArray(value)) throw wrongType(field, "a list");
  return value.map((item: unknown, index) => ({ path: field.path, at: `${field.at}[${index}]`, value: item }));
}

/** Gives a string that is not empty. Throws for another type. */
export function readString(field: Field): string | null {
  const value = field.value ?? "";
  if (typeof value !== "string") throw wrongType(field, "a string");
  return value === "" ? null : value;
}

/** Gives a boolean, false for an absent one. Throws for another type. */
export function readBoolean(field: Field): boolean {
  const value = field.value ?? false;
  if (typeof value !== "boolean") throw wrongType(field, "true or false");
  return value;
}

function wrongType(field: Field, expected: string): Error {
  return new Error(`Cannot parse kubeconfig "${field.path}": ${field.at || "the document"} must be ${expected}`);
}
