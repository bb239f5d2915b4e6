/** Objects that hold parameters, secrets and config maps, read by name and one time each (R16). What goes wrong is a value that names the object. */

/** What reading one object gave; `entries` of a Secret in base64, as the API has them. */
export type ObjectRead =
  | { readonly kind: "found"; readonly entries: Readonly<Record<string, string>> }
  | { readonly kind: "missing" }
  /** `cause` says why, and what to do. */
  | { readonly kind: "failed"; readonly cause: string };

/** Gets one object; never lists, and never rejects but with the signal's reason. */
export type ReadObject = (
  object: { readonly namespace: string; readonly name: string },
  signal: AbortSignal,
) => Promise<ObjectRead>;

/** One text, or why there is none. */
export type Found =
  | { readonly kind: "found"; readonly text: string }
  /** Nobody gives it. */
  | { readonly kind: "absent" }
  /** Somebody should give it and is not there: heals by itself. */
  | { readonly kind: "missing"; readonly cause: string }
  | { readonly kind: "failed"; readonly cause: string };

export const ABSENT: Found = { kind: "absent" };

export interface EntryRef {
  readonly kind: "secret" | "config map";
  readonly name: string;
  readonly key: string;
}

export type FindEntry = (ref: EntryRef) => Promise<Found>;

export interface EntriesOptions {
  readonly namespace: string;
  readonly readSecret: ReadObject;
  readonly readConfigMap: ReadObject;
  readonly signal: AbortSignal;
}

/** Makes a look-up of entries in one namespace, and in no other. A missing object is `missing`, a missing key of one `absent`. */
export function createFindEntry({ namespace, readSecret, readConfigMap, signal }: EntriesOptions): FindEntry {
  const reads = new Map<string, Promise<ObjectRead>>();

  function readOnce({ kind, name }: EntryRef): Promise<ObjectRead> {
    const id = `${kind} ${name}`;
    const known = reads.get(id);
    if (known !== undefined) return known;
    const reading = (kind === "secret" ? readSecret : readConfigMap)({ namespace, name }, signal);
    reads.set(id, reading);
    return reading;
  }

  return async (ref) => {
    const read = await readOnce(ref);
    const shown = `${ref.kind} "${namespace}/${ref.name}"`;
    if (read.kind === "missing") return { kind: "missing", cause: `there is no ${shown}` };
    if (read.kind === "failed") return { kind: "failed", cause: `${shown} cannot be read: ${read.cause}` };
    const entry = Object.hasOwn(read.entries, ref.key) ? read.entries[ref.key] : undefined;
    if (entry === undefined) return ABSENT;
    if (ref.kind === "config map") return { kind: "found", text: entry };
    const text = decode(entry);
    return text === null ? { kind: "failed", cause: `${shown} has a key that is no base64` } : { kind: "found", text };
  };
}

function decode(base64: string): string | null {
  try {
    return new TextDecoder().decode(Uint8Array.fromBase64(base64));
  } catch {
    return null;
  }
}
