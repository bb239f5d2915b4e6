/**
 * What do long-lived parts keep? Every map and set that is made while they are built is noted, and can be searched
 * later, with all that it leads to, for words that ought to be in none any more.
 */

/** A map or set, and the file that made it. */
export interface Kept {
  readonly file: string;
  readonly collection: unknown;
}

/** Gives what `make` gives, and the maps and sets that were made meanwhile. */
export function watchKept<T>(make: () => T): { readonly made: T; readonly kept: readonly Kept[] } {
  const kept: Kept[] = [];
  const note = (collection: unknown) => void kept.push({ file: readCaller(new Error().stack), collection });
  const { Map: PlainMap, Set: PlainSet } = globalThis;
  globalThis.Map = class<K, V> extends PlainMap<K, V> {
    constructor(entries?: Iterable<readonly [K, V]> | null) {
      super(entries);
      note(this);
    }
  } as MapConstructor;
  globalThis.Set = class<T> extends PlainSet<T> {
    constructor(values?: Iterable<T> | null) {
      super(values);
      note(this);
    }
  } as SetConstructor;
  try {
    return { made: make(), kept };
  } finally {
    globalThis.Map = PlainMap;
    globalThis.Set = PlainSet;
  }
}

/** `file: text` for each text with the word that is in one of them, or in what they lead to. */
export function findKept(kept: readonly Kept[], word: string): readonly string[] {
  const found = new Set<string>();
  for (const { file, collection } of kept) {
    for (const text of listTexts(collection)) if (text.includes(word)) found.add(`${file}: ${text}`);
  }
  return [...found].sort();
}

/** Private fields and closures are out of sight. */
function listTexts(root: unknown): readonly string[] {
  const seen = new Set<unknown>([root]);
  for (const value of seen) for (const part of listParts(value)) seen.add(part);
  return [...seen].filter((value) => typeof value === "string");
}

function listParts(value: unknown): readonly unknown[] {
  if (value instanceof Map) return [...value].flat();
  if (value instanceof Set || Array.isArray(value)) return [...value];
  const isPlain = typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
  return isPlain ? Object.entries(value).flat() : [];
}

/** The frames are those of this file and of the class's own constructor, then whoever made it. */
function readCaller(stack = ""): string {
  const frame = stack.split("\n").find((line) => line.includes("/lib/")) ?? "";
  return /lib\/[\w/]+\.ts/.exec(frame)?.[0] ?? "elsewhere";
}
