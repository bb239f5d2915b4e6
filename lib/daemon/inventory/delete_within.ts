/** Maps of maps, such as objects by namespace and uid: namespaces come and go, and of one that is gone nothing stays. */

/** Deletes the key from the inner map, and with its last key the inner map. */
export function deleteWithin<Outer, Inner, T>(maps: Map<Outer, Map<Inner, T>>, outer: Outer, inner: Inner): void {
  const map = maps.get(outer);
  map?.delete(inner);
  if (map?.size === 0) maps.delete(outer);
}
