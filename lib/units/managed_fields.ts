/**
 * Who resized which container of a pod, and when?
 *
 * The API server records it in metadata.managedFields.
 */
import { requestOrLimitOf, RESOURCE_FIELDS, type ResourceField, resourceOf } from "./resources.ts";
import { parseTime } from "./time.ts";
import { isRecord } from "./untrusted.ts";

/** What one field manager did through the subresource pods/resize. */
export interface ResizeEntry {
  readonly manager: string;
  /** Epoch ms of its last resize that changed a value: whole seconds, by the API server's clock. */
  readonly at: number;
  /** The resource fields that this manager was the last to set; empty for pod-level ones. */
  readonly owned: readonly OwnedFields[];
}

export interface OwnedFields {
  /** The name of a container or init container. */
  readonly container: string;
  readonly sides: readonly ResourceField[];
}

/**
 * Returns the resource fields of a container that an entry owns; empty if it owns none.
 * https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management
 */
export function listOwnedFields(owned: readonly OwnedFields[], container: string): readonly ResourceField[] {
  return owned.find((one) => one.container === container)?.sides ?? [];
}

/**
 * Returns the resize entries in the order of the list. Accepts any value, leaves out malformed entries and those beyond
 * MAX_ENTRIES, never throws.
 * The server removes a manager's entry when others have changed all of its fields, so a missing entry does not prove
 * that it never resized.
 */
export function parseResizeEntries(managedFields: unknown): readonly ResizeEntry[] {
  if (!Array.isArray(managedFields)) return NONE;
  const entries: ResizeEntry[] = [];
  let ownedCount = 0;
  for (const entry of managedFields) {
    if (entries.length === MAX_ENTRIES) break;
    if (!isRecord(entry) || entry.subresource !== "resize" || typeof entry.manager !== "string") continue;
    const at = parseTime(entry.time);
    if (at === null) continue;
    const owned = parseOwnedFields(entry.fieldsV1).slice(0, MAX_OWNED - ownedCount);
    ownedCount += owned.length;
    entries.push({ manager: entry.manager, at, owned });
  }
  // Without the room that push() leaves for 16 more: each resized pod has such lists.
  return entries.length === 0 ? NONE : entries.slice();
}

/**
 * A user who may write a pod can invent entries, which would be kept with it. A real pod has at most 11 of one operation, with
 * the containers that it has.
 * https://github.com/kubernetes/apimachinery/blob/master/pkg/util/managedfields/internal/capmanagers.go
 */
const MAX_ENTRIES = 128;

/** The containers of all entries of a pod. */
const MAX_OWNED = 501;

/** Shared: most pods were never resized. */
const NONE: readonly ResizeEntry[] = Object.freeze([]);

/** A container's name is a DNS label, so it never has an escape. */
const CONTAINER_KEY = /^k:\{"name":"([a-z0-9-]{1,63})"\}$/;

function parseOwnedFields(fields: unknown): readonly OwnedFields[] {
  const owned: OwnedFields[] = [];
  const spec = findField(fields, "f:spec");
  for (const list of ["f:containers", "f:initContainers"]) {
    const containers = findField(spec, list);
    for (const [key, container] of Object.entries(containers ?? {})) {
      const name = CONTAINER_KEY.exec(key)?.[1];
      if (name === undefined) continue;
      const resources = findField(container, "f:resources");
      const sides = RESOURCE_FIELDS.filter((side) =>
        findField(findField(resources, `f:${requestOrLimitOf(side)}`), `f:${resourceOf(side)}`)
      );
      if (sides.length > 0) owned.push({ container: name, sides: sides.slice() });
    }
  }
  return owned.slice();
}

function findField(fields: unknown, key: string): Readonly<Record<string, unknown>> | null {
  const field = isRecord(fields) && Object.hasOwn(fields, key) ? fields[key] : null;
  return isRecord(field) ? field : null;
}
