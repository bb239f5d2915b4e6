/**
 * An input of any size, made of a short description: a beginning, a unit that is repeated, an end. `#` in a unit is its
 * number, so that names and values may differ. Patterns of JSON come from an honest value: one for each of its places.
 */

/** `open`, `unit` as often as fits, then for what is nested `core` and `shut` as often, `close`. */
export interface Pattern {
  readonly open: string;
  readonly unit: string;
  readonly core?: string;
  readonly shut?: string;
  readonly close: string;
}

/** Returns a text of at most this many characters; longer only where open and close are. */
export function buildText({ open, unit, core = "", shut = "", close }: Pattern, length: number): string {
  const parts = [open];
  let left = length - open.length - core.length - close.length;
  let count = 0;
  if (unit !== "" && !unit.includes("#")) {
    count = Math.max(0, Math.floor(left / (unit.length + shut.length)));
    return open + unit.repeat(count) + core + shut.repeat(count) + close;
  }
  while (unit !== "") {
    const one = unit.replaceAll("#", count.toString(36));
    left -= one.length + shut.length;
    if (left < 0) break;
    parts.push(one);
    count++;
  }
  return parts.join("") + core + shut.repeat(count) + close;
}

/** Returns patterns that repeat an entry or a field, lengthen a string, or nest, at each place of a JSON value. */
export function listJsonPatterns(given: unknown): readonly Pattern[] {
  // Without the fields that are undefined.
  const seed = JSON.parse(JSON.stringify(given));
  return listPlaces(seed, []).flatMap((path) => {
    const value = path.reduce((one, key) => (one as Record<string, unknown>)[key], seed);
    const around = (inner: string, rest: Omit<Pattern, "open" | "close">, end: string): Pattern => {
      const [before = "", after = ""] = JSON.stringify(replaceAt(seed, path, MARK)).split(`"${MARK}"`);
      return { open: before + inner, ...rest, close: end + after };
    };
    const nested = [
      around("", { unit: "[", core: "0", shut: "]" }, ""),
      around("", { unit: '{"a":', core: "0", shut: "}" }, ""),
    ];
    if (typeof value === "string") {
      const one = around(`"${value}`, { unit: "x" }, '"');
      return [one, { ...one, unit: "1" }, { ...one, unit: "\\\\" }, ...nested];
    }
    if (typeof value !== "object" || value === null) return nested;
    const entries = Object.entries(value);
    const [first] = entries;
    if (first === undefined) return nested;
    const text = JSON.stringify(first[1]);
    const varied = text.replace(/"(?=[,}\]]|$)/, '#"');
    const units = Array.isArray(value) ? [`,${text}`, `,${varied}`, ",{}", ",0"] : [`,"k#":${text}`, `,"k#":${varied}`];
    const [shell, end] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
    const body = JSON.stringify(value).slice(1, -1);
    return [...units.map((unit) => around(shell + body, { unit }, end)), ...nested];
  });
}

const MARK = "~here~";
const MAX_PLACES = 150;

type Path = readonly string[];

function listPlaces(value: unknown, path: Path): readonly Path[] {
  const own = path.length === 0 ? [] : [path];
  if (typeof value !== "object" || value === null) return own;
  return [...own, ...Object.entries(value).flatMap(([key, one]) => listPlaces(one, [...path, key]))].slice(
    0,
    MAX_PLACES,
  );
}

function replaceAt(value: unknown, path: Path, by: string): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return by;
  const copy = structuredClone(value) as Record<string, unknown>;
  copy[key] = replaceAt(copy[key], rest, by);
  return copy;
}
