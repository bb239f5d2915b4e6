/**
 * The cache of ScaledObjects, with the HPAs and TriggerAuthentications that affect them. It tells its listeners which
 * ScaledObject has to be checked again when one of those changes.
 */
import { listExternalTriggers, type ScaledObjectFacts, type Target } from "../../model/scaled_object.ts";
import { findExclusion, type OperatorLimits } from "../../resources/pod_resource_autoscaler/parse.ts";
import type { AuthenticationFacts } from "../../resources/trigger_authentication/trigger_authentication.ts";
import { isDeepEqual } from "../../units/equality.ts";
import { formatDuration } from "../../units/time.ts";
import { type HpaFacts, type TargetRef, toGroup, toTargetKey } from "./parse_objects.ts";
import { replaceAllObjects, Table } from "./tables.ts";

/** Receives the changes. Must not throw. */
export interface ScaledObjectListener {
  /** The object is new or has changed; a change of its status counts too. */
  onObject(facts: ScaledObjectFacts): void;
  onObjectGone(facts: ScaledObjectFacts): void;
  /** An HPA, an authentication or another ScaledObject that affects the object was added, changed or removed. */
  onRelatedChange(facts: ScaledObjectFacts): void;
}

/** All ScaledObjects, HPAs and authentications in the scope. A standby keeps it up to date too. */
export class ScaledObjectCache {
  /** By namespace, then by uid. */
  readonly #objects = new Table<ScaledObjectFacts>();
  readonly #hpas = new Table<HpaFacts>();
  readonly #authentications = new Table<AuthenticationFacts>();
  /** By namespace and target, then by uid: the objects and HPAs of the target. */
  readonly #objectsOf = new Table<ScaledObjectFacts>();
  readonly #hpasOf = new Table<HpaFacts>();
  readonly #listeners = new Set<ScaledObjectListener>();

  /** Calls the listener for each known object, then for each change until the subscription is disposed. */
  subscribe(listener: ScaledObjectListener): Disposable {
    this.#listeners.add(listener);
    for (const facts of this.#objects.all()) listener.onObject(facts);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  find({ namespace, uid }: ObjectKey): ScaledObjectFacts | null {
    return this.#objects.find(namespace, uid);
  }

  hasObjects(namespace: string): boolean {
    return this.#objects.count(namespace) > 0;
  }

  /** `null` = of all namespaces. */
  listObjects(namespace: string | null): readonly ScaledObjectFacts[] {
    return this.#objects.listWithin(namespace);
  }

  /** `kind`: `null` = of both. `namespace`: `null` = of all namespaces. */
  listAuthentications(
    kind: AuthenticationFacts["kind"] | null,
    namespace: string | null,
  ): readonly AuthenticationFacts[] {
    return [...this.#authentications.all()].filter((one) =>
      (kind === null || one.kind === kind) && (namespace === null || one.namespace === namespace)
    );
  }

  findHpa({ namespace, uid }: ObjectKey): HpaFacts | null {
    return this.#hpas.find(namespace, uid);
  }

  /** Returns the HPAs of the namespace. */
  listHpas(namespace: string): Iterable<HpaFacts> {
    return this.#hpas.list(namespace);
  }

  listHpasOf(namespace: string, target: TargetRef): readonly HpaFacts[] {
    return [...this.#hpasOf.list(toTargetPlace(namespace, target))];
  }

  /** Returns the valid ScaledObjects of a target that are not being deleted. */
  listObjectsOf(namespace: string, target: TargetRef): readonly ScaledObjectFacts[] {
    return [...this.#objectsOf.list(toTargetPlace(namespace, target))];
  }

  findAuthentication(
    { kind, namespace, name }: Pick<AuthenticationFacts, "kind" | "namespace" | "name">,
  ): AuthenticationFacts | null {
    return this.#authentications.find(toAuthenticationPlace({ kind, namespace }), name);
  }

  setObject(seen: ScaledObjectFacts): void {
    const before = this.find(seen);
    const facts = before === null ? seen : withChangedGeneration(before, seen);
    this.#objects.set(facts.namespace, facts.uid, facts);
    this.#moveTarget(before, facts);
    for (const listener of this.#listeners) listener.onObject(facts);
  }

  removeObject({ namespace, uid }: ObjectKey): void {
    const before = this.find({ namespace, uid });
    if (before === null) return;
    this.#objects.delete(namespace, uid);
    this.#moveTarget(before, null);
    for (const listener of this.#listeners) listener.onObjectGone(before);
  }

  setHpa(hpa: HpaFacts): void {
    const before = this.findHpa(hpa);
    this.#hpas.set(hpa.namespace, hpa.uid, hpa);
    if (before !== null) this.#hpasOf.delete(toTargetPlace(before.namespace, before.target), before.uid);
    this.#hpasOf.set(toTargetPlace(hpa.namespace, hpa.target), hpa.uid, hpa);
    // Its status changes every 15 s. That affects no ScaledObject.
    if (before !== null && isSameHpaTarget(before, hpa)) return;
    if (before !== null) this.#notifyObjectsOf(before.namespace, before.target);
    this.#notifyObjectsOf(hpa.namespace, hpa.target);
  }

  removeHpa({ namespace, uid }: ObjectKey): void {
    const before = this.findHpa({ namespace, uid });
    if (before === null) return;
    this.#hpas.delete(namespace, uid);
    this.#hpasOf.delete(toTargetPlace(namespace, before.target), uid);
    this.#notifyObjectsOf(namespace, before.target);
  }

  /** `all`: every HPA of the namespace, `null` = of all namespaces. Each step of the result changes one HPA. */
  replaceHpas(namespace: string | null, all: readonly HpaFacts[]): Iterable<unknown> {
    return replaceAllObjects({ known: this.#hpas.listWithin(namespace), all }, {
      toKey: ({ uid }) => uid,
      set: (one) => this.setHpa(one),
      remove: (one) => this.removeHpa(one),
    });
  }

  setAuthentication(facts: AuthenticationFacts): void {
    const before = this.findAuthentication(facts);
    this.#authentications.set(toAuthenticationPlace(facts), facts.name, facts);
    // podfit itself writes the status, which changes the resourceVersion and nothing that triggers use.
    const { users, resourceVersion } = facts;
    if (before === null || !isDeepEqual({ ...before, users, resourceVersion }, facts)) this.#notifyUsersOf(facts);
  }

  removeAuthentication(facts: Pick<AuthenticationFacts, "kind" | "namespace" | "name">): void {
    this.#authentications.delete(toAuthenticationPlace(facts), facts.name);
    this.#notifyUsersOf(facts);
  }

  #moveTarget(before: ScaledObjectFacts | null, after: ScaledObjectFacts | null): void {
    const [was, is] = [findTargetPlace(before), findTargetPlace(after)];
    if (before !== null && was !== null) this.#objectsOf.delete(was, before.uid);
    if (after !== null && is !== null) this.#objectsOf.set(is, after.uid, after);
    // If two have the same target, the younger one continues when the older one is removed.
    for (const place of was === is ? [] : [was, is]) {
      for (const one of place === null ? [] : this.#objectsOf.list(place)) {
        if (one.uid !== (after ?? before)?.uid) this.#notify(one);
      }
    }
  }

  #notifyObjectsOf(namespace: string, target: TargetRef): void {
    for (const one of this.listObjectsOf(namespace, target)) this.#notify(one);
  }

  #notifyUsersOf({ kind, namespace, name }: Pick<AuthenticationFacts, "kind" | "namespace" | "name">): void {
    for (const one of this.#objects.listWithin(namespace)) {
      const { scaledObject } = one;
      const isUser = scaledObject !== null &&
        listExternalTriggers(scaledObject).some(({ authentication }) =>
          authentication?.kind === kind && authentication.name === name
        );
      if (isUser) this.#notify(one);
    }
  }

  #notify(facts: ScaledObjectFacts): void {
    for (const listener of this.#listeners) listener.onRelatedChange(facts);
  }
}

interface ObjectKey {
  readonly namespace: string;
  readonly uid: string;
}

/** Returns the place in the table; ClusterTriggerAuthentications have no namespace. */
function toAuthenticationPlace({ kind, namespace }: Pick<AuthenticationFacts, "kind" | "namespace">): string {
  return `${kind}/${namespace ?? ""}`;
}

function toTargetPlace(namespace: string, target: TargetRef): string {
  return `${namespace}/${toTargetKey(target)}`;
}

/** Returns `null` for an object that sets no replicas: it is invalid, or being deleted. */
function findTargetPlace(facts: ScaledObjectFacts | null): string | null {
  if (facts === null || facts.scaledObject === null || facts.isDeleting) return null;
  return toTargetPlace(facts.namespace, toTargetRef(facts.scaledObject.target));
}

export function toTargetRef({ apiVersion, kind, name }: Target): TargetRef {
  return { group: toGroup(apiVersion), kind, name };
}

/** Returns whether the HPA blocks the same objects as before, with the same message. */
function isSameHpaTarget(a: HpaFacts, b: HpaFacts): boolean {
  return toTargetKey(a.target) === toTargetKey(b.target) && a.isCheckDisabled === b.isCheckDisabled &&
    a.owners.join() === b.owners.join() && isDeepEqual(a.metrics, b.metrics);
}

/**
 * Returns the object with a generation that differs from the one before if the spec does. etcd restored from a backup
 * can reach the same generation with another spec; the generation is then negative, or positive again. Clauses: C16.
 */
function withChangedGeneration(before: ScaledObjectFacts, seen: ScaledObjectFacts): ScaledObjectFacts {
  if (Math.abs(before.generation) !== seen.generation) return seen;
  const toGeneration = (generation: number): ScaledObjectFacts => ({
    ...seen,
    generation,
    scaledObject: seen.scaledObject && { ...seen.scaledObject, generation },
  });
  const same = toGeneration(before.generation);
  // Annotations are not part of the spec: they do not change the generation.
  const { annotations = null } = same.scaledObject ?? {};
  const specBefore = before.scaledObject && { ...before.scaledObject, annotations };
  return isDeepEqual(specBefore, same.scaledObject) ? same : toGeneration(-before.generation);
}

/** Returns whether spec, annotations and deletion are equal. Other finalizers do not count as a change. */
export function isSameObject(a: ScaledObjectFacts, b: ScaledObjectFacts): boolean {
  return a.generation === b.generation && a.isDeleting === b.isDeleting && a.isPaused === b.isPaused &&
    isDeepEqual(a.adoption, b.adoption) &&
    isDeepEqual(a.scaledObject?.annotations ?? {}, b.scaledObject?.annotations ?? {}) &&
    a.problems.map(({ message }) => message).join("\n") === b.problems.map(({ message }) => message).join("\n");
}

/**
 * Returns the object with a polling interval of at least --min-poll-interval, and with a message if it was raised. In an
 * excluded namespace it returns an object that is invalid for that reason. Clauses: R2, L56.
 */
export function limitScaledObject(
  facts: ScaledObjectFacts,
  limits: Pick<OperatorLimits, "minPollIntervalMs" | "excludedNamespaces">,
): ScaledObjectFacts {
  const exclusion = findExclusion(facts.namespace, limits);
  if (exclusion !== null) {
    return { ...facts, scaledObject: null, restoring: null, problems: [exclusion], warnings: [], isPaused: false };
  }
  const { scaledObject } = facts;
  const { minPollIntervalMs } = limits;
  if (scaledObject === null || minPollIntervalMs === null || scaledObject.pollIntervalMs >= minPollIntervalMs) {
    return facts;
  }
  const message = `spec.pollingInterval: ${
    formatDuration(scaledObject.pollIntervalMs)
  } is raised to podfit's --min-poll-interval ${formatDuration(minPollIntervalMs)}`;
  return {
    ...facts,
    scaledObject: { ...scaledObject, pollIntervalMs: minPollIntervalMs },
    limited: [message],
  };
}
