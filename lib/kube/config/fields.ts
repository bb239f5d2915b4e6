/**
 * Typed values out of an untrusted kubeconfig document. Absent, null and empty are all `null`, as kubectl reads them;
 * a value of another type is an error that names the file and the field, and never quotes the value: it may be a secret.
 */
import { isRecord } from "../../units/untrusted.ts";

/** A value and where it stands: `at` is a path such as `users[0].user.token`. */
export interface Field {
  /** The file. */
  readonly path: string;
  readonly at: string;
  readonly value: unknown;
}

type Fields = Readonly<Record<string, unknown>>;

export function atPath(parent: Field, name: string, fields: Fields): Field {
  return { path: parent.path, at: `${parent.at}.${name}`, value: fields[name] };
}

export function readRecord(field: Field): Fields | null {
  const value = field.value ?? null;
  if (value === null) return null;
  if (!isRecord(value)) throw wrongType(field, "an object");
  return value;
}

export function readList(field: Field): readonly Field[] {
  const value = field.value ?? [];
  if (!Array.isArray(value)) throw wrongType(field, "a list");
  return value.map((item: unknown, index) => ({ path: field.path, at: `${field.at}[${index}]`, value: item }));
}

export function readString(field: Field): string | null {
  const value = field.value ?? "";
  if (typeof value !== "string") throw wrongType(field, "a string");
  return value === "" ? null : value;
}

export function readBoolean(field: Field): boolean {
  const value = field.value ?? false;
  if (typeof value !== "boolean") throw wrongType(field, "true or false");
  return value;
}

function wrongType(field: Field, expected: string): Error {
  return new Error(`Cannot parse kubeconfig "${field.path}": ${field.at || "the document"} must be ${expected}`);
}
