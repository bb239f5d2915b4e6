/** The objects of files, read as those of the cluster are, so that both can be held against each other. */
import { isRecord } from "../../units/untrusted.ts";
import type { Subject } from "./finding.ts";
import { KINDS, type Named, NOTHING, type Objects, type Plural, PLURALS, toName } from "./known.ts";
import type { Manifest } from "./manifest.ts";

/** Reads those of a kind that something is held against; one without a namespace is of this one. Never throws. */
export function readObjects(values: readonly unknown[], namespace: string): Objects {
  const read: Record<Plural, unknown[]> = createEmpty();
  for (const value of values.filter(isRecord)) {
    const plural = PLURALS.find((one) => KINDS[one].kind === value.kind);
    if (plural === undefined || !isOfGroup(value, KINDS[plural].root)) continue;
    const { kind, isNamespaced } = KINDS[plural];
    const object = isNamespaced ? withNamespace(value, toSubject(value, { kind, namespace })) : value;
    try {
      read[plural].push(KINDS[plural].read(object));
    } catch {
      // Of a shape that the API server refuses: whoever applies it hears of that.
    }
  }
  return read as unknown as Objects;
}

/** All of them; of several of one name the last one, as it is what stays when all are applied. */
export function mergeObjects(all: readonly Objects[]): Objects {
  const merged: Record<Plural, unknown[]> = createEmpty();
  for (const plural of PLURALS) {
    const byName = new Map<string, unknown>();
    for (const one of all.flatMap((objects): readonly Named[] => objects[plural])) byName.set(toName(one), one);
    merged[plural].push(...byName.values());
  }
  return merged as unknown as Objects;
}

/** How findings name an object. */
export function toSubject(
  { metadata }: Manifest,
  { kind, namespace: fallback }: { readonly kind: string; readonly namespace: string },
): Subject {
  const { name, namespace } = isRecord(metadata) ? metadata : {};
  return {
    kind,
    namespace: typeof namespace === "string" && namespace !== "" ? namespace : fallback,
    name: typeof name === "string" ? name : "",
  };
}

function createEmpty(): Record<Plural, unknown[]> {
  return Object.fromEntries(Object.keys(NOTHING).map((plural) => [plural, []])) as unknown as Record<Plural, unknown[]>;
}

/** Versions of one group are one kind: `autoscaling/v1` names a target as `autoscaling/v2` does. */
function isOfGroup({ apiVersion }: Manifest, root: string): boolean {
  const path = typeof apiVersion !== "string"
    ? ""
    : apiVersion.includes("/")
    ? `/apis/${apiVersion}`
    : `/api/${apiVersion}`;
  return path.replace(/\/[^/]+$/, "") === root.replace(/\/[^/]+$/, "");
}

function withNamespace(object: Manifest, { namespace }: Subject): Manifest {
  return isRecord(object.metadata) ? { ...object, metadata: { ...object.metadata, namespace } } : object;
}
