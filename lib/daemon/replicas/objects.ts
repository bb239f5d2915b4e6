/**
 * The ScaledObjects there are, the HPAs and authentications beside them, and who has to look again when one of those changes. Kept current by the
 * watches; a standby keeps it too.
 */
import type { AuthenticationFacts } from "../../scaled_object/authentication.ts";
import { listExternalTriggers } from "../../scaled_object/list_triggers.ts";
import type { ScaledObjectFacts, Target } from "../../scaled_object/scaled_object.ts";
import { type HpaFacts, readGroup, type TargetRef, toTargetKey } from "./read_hpa.ts";
import { replaceAll, Table } from "./table.ts";

/** Hears what changes. Must not throw. */
export interface ObjectsListener {
  /** The object is new or has changed, its status alone included. */
  onObject(facts: ScaledObjectFacts): void;
  onObjectGone(facts: ScaledObjectFacts): void;
  /** Somebody else who has to do with the object came, has changed or went. */
  onSurroundings(facts: ScaledObjectFacts): void;
}

/** All of them. */
export class Objects {
  /** By namespace, then by uid. */
  readonly #objects = new Table<ScaledObjectFacts>();
  readonly #hpas = new Table<HpaFacts>();
  readonly #authentications = new Table<AuthenticationFacts>();
  /** By namespace and target, the objects and HPAs of it, by uid. */
  readonly #objectsOf = new Table<ScaledObjectFacts>();
  readonly #hpasOf = new Table<HpaFacts>();
  readonly #listeners = new Set<ObjectsListener>();

  /** Calls the listener for each object there is, then for each change until the subscription is disposed of. */
  subscribe(listener: ObjectsListener): Disposable {
    this.#listeners.add(listener);
    for (const facts of this.#objects.all()) listener.onObject(facts);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  find({ namespace, uid }: Key): ScaledObjectFacts | null {
    return this.#objects.find(namespace, uid);
  }

  findHpa({ namespace, uid }: Key): HpaFacts | null {
    return this.#hpas.find(namespace, uid);
  }

  /** HPAs of the namespace. */
  listHpas(namespace: string): Iterable<HpaFacts> {
    return this.#hpas.list(namespace);
  }

  listHpasOf(namespace: string, target: TargetRef): readonly HpaFacts[] {
    return [...this.#hpasOf.list(toPlace(namespace, target))];
  }

  /** Valid ones that are not being deleted. */
  listObjectsOf(namespace: string, target: TargetRef): readonly ScaledObjectFacts[] {
    return [...this.#objectsOf.list(toPlace(namespace, target))];
  }

  findAuthentication(
    { kind, namespace, name }: Pick<AuthenticationFacts, "kind" | "namespace" | "name">,
  ): AuthenticationFacts | null {
    return this.#authentications.find(toAuthenticationPlace({ kind, namespace }), name);
  }

  setObject(facts: ScaledObjectFacts): void {
    const before = this.find(facts);
    this.#objects.set(facts.namespace, facts.uid, facts);
    this.#moveTarget(before, facts);
    for (const listener of this.#listeners) listener.onObject(facts);
  }

  removeObject({ namespace, uid }: Key): void {
    const before = this.find({ namespace, uid });
    if (before === null) return;
    this.#objects.delete(namespace, uid);
    this.#moveTarget(before, null);
    for (const listener of this.#listeners) listener.onObjectGone(before);
  }

  /** All there are in the namespace, `null` = in all. */
  replaceObjects(namespace: string | null, all: readonly ScaledObjectFacts[]): void {
    replaceAll({ known: this.#objects.within(namespace), all }, {
      set: (one) => this.setObject(one),
      remove: (one) => this.removeObject(one),
    });
  }

  setHpa(hpa: HpaFacts): void {
    const before = this.findHpa(hpa);
    this.#hpas.set(hpa.namespace, hpa.uid, hpa);
    if (before !== null) this.#hpasOf.delete(toPlace(before.namespace, before.target), before.uid);
    this.#hpasOf.set(toPlace(hpa.namespace, hpa.target), hpa.uid, hpa);
    // Its status changes every 15 s, and nobody's verdict with it.
    if (before !== null && isSameClaim(before, hpa)) return;
    if (before !== null) this.#tellObjectsOf(before.namespace, before.target);
    this.#tellObjectsOf(hpa.namespace, hpa.target);
  }

  removeHpa({ namespace, uid }: Key): void {
    const before = this.findHpa({ namespace, uid });
    if (before === null) return;
    this.#hpas.delete(namespace, uid);
    this.#hpasOf.delete(toPlace(namespace, before.target), uid);
    this.#tellObjectsOf(namespace, before.target);
  }

  /** As for objects. */
  replaceHpas(namespace: string | null, all: readonly HpaFacts[]): void {
    replaceAll({ known: this.#hpas.within(namespace), all }, {
      set: (one) => this.setHpa(one),
      remove: (one) => this.removeHpa(one),
    });
  }

  setAuthentication(facts: AuthenticationFacts): void {
    const before = this.findAuthentication(facts);
    this.#authentications.set(toAuthenticationPlace(facts), facts.name, facts);
    if (before?.uid !== facts.uid || before.resourceVersion !== facts.resourceVersion) this.#tellUsersOf(facts);
  }

  removeAuthentication(facts: Pick<AuthenticationFacts, "kind" | "namespace" | "name">): void {
    this.#authentications.delete(toAuthenticationPlace(facts), facts.name);
    this.#tellUsersOf(facts);
  }

  /** As for objects. */
  replaceAuthentications(
    { kind, namespace }: { readonly kind: AuthenticationFacts["kind"]; readonly namespace: string | null },
    all: readonly AuthenticationFacts[],
  ): void {
    const known = [...this.#authentications.all()].filter((one) =>
      one.kind === kind && (namespace === null || one.namespace === namespace)
    );
    replaceAll({ known, all }, {
      set: (one) => this.setAuthentication(one),
      remove: (one) => this.removeAuthentication(one),
    });
  }

  #moveTarget(before: ScaledObjectFacts | null, after: ScaledObjectFacts | null): void {
    const [was, is] = [readPlace(before), readPlace(after)];
    if (before !== null && was !== null) this.#objectsOf.delete(was, before.uid);
    if (after !== null && is !== null) this.#objectsOf.set(is, after.uid, after);
    // Of two that have one target the younger one goes on once the older one is gone.
    for (const place of was === is ? [] : [was, is]) {
      for (const one of place === null ? [] : this.#objectsOf.list(place)) {
        if (one.uid !== (after ?? before)?.uid) this.#tell(one);
      }
    }
  }

  #tellObjectsOf(namespace: string, target: TargetRef): void {
    for (const one of this.listObjectsOf(namespace, target)) this.#tell(one);
  }

  #tellUsersOf({ kind, namespace, name }: Pick<AuthenticationFacts, "kind" | "namespace" | "name">): void {
    for (const one of this.#objects.within(namespace)) {
      const { scaledObject } = one;
      const isUser = scaledObject !== null &&
        listExternalTriggers(scaledObject).some(({ authentication }) =>
          authentication?.kind === kind && authentication.name === name
        );
      if (isUser) this.#tell(one);
    }
  }

  #tell(facts: ScaledObjectFacts): void {
    for (const listener of this.#listeners) listener.onSurroundings(facts);
  }
}

interface Key {
  readonly namespace: string;
  readonly uid: string;
}

/** ClusterTriggerAuthentications have no namespace. */
function toAuthenticationPlace({ kind, namespace }: Pick<AuthenticationFacts, "kind" | "namespace">): string {
  return `${kind}/${namespace ?? ""}`;
}

function toPlace(namespace: string, target: TargetRef): string {
  return `${namespace}/${toTargetKey(target)}`;
}

/** `null` of an object that sets nothing: it is invalid, or being deleted. */
function readPlace(facts: ScaledObjectFacts | null): string | null {
  if (facts === null || facts.scaledObject === null || facts.isDeleting) return null;
  return toPlace(facts.namespace, toTargetRef(facts.scaledObject.target));
}

export function toTargetRef({ apiVersion, kind, name }: Target): TargetRef {
  return { group: readGroup(apiVersion), kind, name };
}

/** Whether the HPA stands in the way of the same objects, in the same words. */
function isSameClaim(a: HpaFacts, b: HpaFacts): boolean {
  return toTargetKey(a.target) === toTargetKey(b.target) && a.isUnchecked === b.isUnchecked &&
    a.owners.join() === b.owners.join();
}
