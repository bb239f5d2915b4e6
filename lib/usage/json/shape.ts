/** What is to be read of JSON, as `project.ts` takes it. */

/**
 * What is wanted of a value. `value`: a number, text, true, false or null. What has another kind than its shape is given
 * as what it is, but empty: a list in the place of a number is `[]`.
 */
export type Shape = "value" | RecordShape | ListShape;

/** An object, of which some fields are read. Made by `recordShape`. */
export interface RecordShape {
  readonly kind: "record";
  readonly fields: readonly Field[];
  readonly wanted: Wanted | null;
}

/** A list whose entries are alike. */
export interface ListShape {
  readonly kind: "list";
  readonly entry: Shape;
  /** Those beyond it are counted and left out. */
  readonly maxEntries: number;
}

/** Decides of an entry of a list by one of its fields, as soon as that is read: one not wanted is left out. */
export interface Wanted {
  readonly field: string;
  readonly isWanted: (value: unknown) => boolean;
}

/** A field that is read. */
export interface Field {
  readonly name: string;
  /** As they stand between the quotes. */
  readonly bytes: Uint8Array;
  readonly shape: Shape;
}

/** Makes the shape of an object out of its fields' shapes. Names are of ASCII, without quotes and backslashes. */
export function recordShape(fields: Readonly<Record<string, Shape>>, wanted: Wanted | null = null): RecordShape {
  const list = Object.entries(fields).map(([name, shape]) => ({ name, shape, bytes: new TextEncoder().encode(name) }));
  return { kind: "record", fields: list, wanted };
}
