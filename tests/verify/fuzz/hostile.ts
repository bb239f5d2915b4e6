/**
 * Hostile values: what is nearly right, and what nobody expects. An honest JSON value is taken apart by edits, each of
 * which puts something else at one of its places; fewer and smaller edits are what a failure shrinks to.
 */
import * as fc from "fast-check";

/** Strings, numbers and shapes that parsers stumble over. */
const ODD_VALUES: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -0,
  -1,
  1.5,
  1e308,
  -1e308,
  5e-324,
  2 ** 31,
  2 ** 53,
  2 ** 64,
  2 ** 64 * 2,
  "",
  " ",
  "0",
  "-1",
  "1e99",
  "100m",
  "12Q",
  "9".repeat(70),
  "1e308",
  "NaN",
  "Infinity",
  "__proto__",
  "constructor",
  "\u0000",
  "a\nb",
  "\u202e",
  "\ud800",
  "x".repeat(5000),
  "2026-11-20T11:00:00Z",
  "9999-12-31T23:59:59Z",
  "-000001-01-01T00:00:00Z",
  [],
  {},
  [null],
  [[[[[]]]]],
  { a: { b: { c: {} } } },
  { length: 1e9 },
  { toString: 1 },
];

/** Any of them, or any JSON at all. */
export const oddValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...ODD_VALUES) },
  { weight: 2, arbitrary: fc.string({ maxLength: 40 }) },
  { weight: 2, arbitrary: fc.double({ noNaN: true, noDefaultInfinity: true }) },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
);

/** What one edit does at its place: the place-th of the value, counted from its root. */
type Edit =
  | { readonly kind: "replace"; readonly place: number; readonly value: unknown }
  | { readonly kind: "remove" | "repeat"; readonly place: number };

const edit: fc.Arbitrary<Edit> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("replace"), place: fc.nat(400), value: oddValue }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom("remove", "repeat"), place: fc.nat(400) }) },
) as fc.Arbitrary<Edit>;

/** One of the bases with some edits. The bases are not changed. */
export function edited(
  bases: readonly unknown[],
  { most = 5 }: { readonly most?: number } = {},
): fc.Arbitrary<unknown> {
  const texts = bases.map((base) => JSON.stringify(base));
  return fc.tuple(fc.constantFrom(...texts), fc.array(edit, { maxLength: most }))
    .map(([text, edits]) => edits.map(copy).reduce(applyEdit, JSON.parse(text) as unknown));
}

/** A value that is put somewhere is changed by later edits. */
function copy(one: Edit): Edit {
  return one.kind === "replace" && typeof one.value === "object" ? structuredClone(one) : one;
}

/** The same as text, which may be cut off, doubled or have anything in it. */
export function editedText(bases: readonly unknown[]): fc.Arbitrary<string> {
  const cut = fc.record({
    at: fc.nat(20_000),
    text: fc.constantFrom("", "{", "}", "]", ",", '"', "\u0000", "1e999", "[".repeat(50)),
  });
  return fc.tuple(edited(bases), fc.option(cut, { nil: null, freq: 4 })).map(([value, spoilt]) => {
    const text = JSON.stringify(value) ?? "";
    if (spoilt === null || text === "") return text;
    const at = spoilt.at % text.length;
    return spoilt.text === "" ? text.slice(0, at) : `${text.slice(0, at)}${spoilt.text}${text.slice(at)}`;
  });
}

interface Place {
  readonly parent: Record<string, unknown> | unknown[];
  readonly key: string | number;
}

function applyEdit(root: unknown, change: Edit): unknown {
  const places = listPlaces(root, []);
  const at = places[change.place % (places.length + 1)];
  if (at === undefined) return change.kind === "replace" ? change.value : root;
  const { parent, key } = at;
  if (Array.isArray(parent)) editList(parent, Number(key), change);
  else if (change.kind === "replace") define(parent, String(key), change.value);
  else if (change.kind === "remove") delete parent[key];
  else define(parent, `${key}x`, parent[key]);
  return root;
}

function editList(list: unknown[], index: number, change: Edit): void {
  if (change.kind === "replace") list[index] = change.value;
  else if (change.kind === "remove") list.splice(index, 1);
  else list.splice(index, 0, list[index]);
}

/** As JSON.parse does it: `__proto__` is a field like any other. */
function define(record: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(record, key, { value, enumerable: true, configurable: true, writable: true });
}

const MOST_PLACES = 2000;

function listPlaces(value: unknown, found: Place[]): readonly Place[] {
  if (typeof value !== "object" || value === null || found.length > MOST_PLACES) return found;
  for (const key of Object.keys(value)) {
    const parent = value as Record<string, unknown>;
    found.push({ parent, key });
    listPlaces(parent[key], found);
  }
  return found;
}
