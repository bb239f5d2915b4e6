/**
 * Which pods match a selector now? The sets are kept up to date pod by pod for all selectors in use. `HpaPodSets` holds
 * the sets for the targets of HPAs, to find targets that share pods.
 */
import type { WorkloadKind } from "../../model/autoscaler.ts";
import type { PodFacts } from "../../model/pod.ts";
import type { Clock } from "../../runtime/clock.ts";
import { formatSelector, matches, type Selector } from "../../units/selector.ts";
import type { HpaFacts } from "./parse_objects.ts";
import type { ScaledObjectCache } from "./scaled_objects.ts";
import { Table } from "./tables.ts";

/** The pods of one selector in one namespace, including pods that are being deleted or have finished. */
export interface PodSet {
  readonly namespace: string;
  readonly selector: Selector;
  /** By uid. */
  readonly pods: ReadonlyMap<string, PodFacts>;
  /** UIDs of the ScaledObjects and HPAs whose target has these pods. */
  readonly holders: ReadonlySet<string>;
}

/** A set that is kept up to date until the handle is disposed. */
export interface PodSetHandle extends Disposable {
  readonly set: PodSet;
}

/** A pod was added to the set or has changed; `null` = it was not in the set before, or is not now. Must not throw. */
export type OnMovedInSet = (set: PodSet, before: PodFacts | null, after: PodFacts | null) => void;

interface SelectorIndexOptions {
  /** Returns all pods of the namespace. It is called once for each new selector. */
  readonly listPods: (namespace: string) => Iterable<PodFacts>;
  readonly onMoved?: OnMovedInSet;
}

interface IndexedPodSet extends PodSet {
  readonly text: string;
  readonly pods: Map<string, PodFacts>;
  readonly holders: Set<string>;
  users: number;
}

/** The sets of one namespace. */
interface NamespaceSets {
  readonly sets: Map<string, IndexedPodSet>;
  /** By `key=value` of a label that every pod of the set has. A pod with other labels cannot be in the set. */
  readonly byLabel: Map<string, Set<IndexedPodSet>>;
  /** The sets whose selector requires no such label. */
  readonly others: Set<IndexedPodSet>;
}

/** A longer list of values is not indexed: each value needs an entry. */
const MAX_LABEL_VALUES = 20;

const NO_SETS: readonly IndexedPodSet[] = [];

/** All sets in use. Selectors with the same text share one set. */
export class SelectorIndex {
  readonly #options: SelectorIndexOptions;
  readonly #namespaces = new Map<string, NamespaceSets>();
  /** By pod uid, the sets that contain the pod. */
  readonly #setsOf = new Map<string, IndexedPodSet[]>();

  constructor(options: SelectorIndexOptions) {
    this.#options = options;
  }

  /** Returns the sets that contain the pod. */
  setsOf(uid: string): readonly PodSet[] {
    return this.#setsOf.get(uid) ?? NO_SETS;
  }

  /** A pod was added, changed or removed; `null` = it did not exist before, or does not now. */
  move(before: PodFacts | null, after: PodFacts | null): void {
    const uid = (after ?? before)?.uid;
    const namespace = (after ?? before)?.namespace;
    if (uid === undefined || namespace === undefined) return;
    const sets = this.#namespaces.get(namespace);
    const setsBefore = this.#setsOf.get(uid) ?? [];
    const isSame = before !== null && after !== null && before.labels === after.labels;
    const setsAfter = isSame ? setsBefore : after === null || sets === undefined ? [] : findSets(sets, after.labels);
    if (setsAfter.length > 0) this.#setsOf.set(uid, setsAfter);
    else this.#setsOf.delete(uid);
    if (!isSame) {
      const kept = new Set(setsAfter);
      for (const set of setsBefore) if (!kept.has(set)) this.#remove(set, uid);
    }
    for (const set of setsAfter) if (after !== null) this.#put(set, after);
  }

  /**
   * Returns a handle that keeps the set up to date until it is disposed. `holder`: the uid of the object whose target
   * has these pods, `null` = none.
   */
  acquire(namespace: string, selector: Selector, holder: string | null): PodSetHandle {
    const text = formatSelector(selector);
    const set = this.#namespaces.get(namespace)?.sets.get(text) ?? this.#add(namespace, { selector, text });
    set.users++;
    if (holder !== null) set.holders.add(holder);
    let isHeld = true;
    return {
      set,
      [Symbol.dispose]: () => {
        if (!isHeld) return;
        isHeld = false;
        set.users--;
        if (holder !== null) set.holders.delete(holder);
        if (set.users === 0) this.#drop(set);
      },
    };
  }

  #add(namespace: string, { selector, text }: { readonly selector: Selector; readonly text: string }): IndexedPodSet {
    const inNamespace = this.#namespaces.get(namespace) ?? { sets: new Map(), byLabel: new Map(), others: new Set() };
    this.#namespaces.set(namespace, inNamespace);
    const set: IndexedPodSet = { namespace, selector, text, pods: new Map(), holders: new Set(), users: 0 };
    inNamespace.sets.set(text, set);
    const labels = listLabels(selector);
    if (labels.length === 0) inNamespace.others.add(set);
    for (const label of labels) inNamespace.byLabel.set(label, (inNamespace.byLabel.get(label) ?? new Set()).add(set));
    for (const pod of this.#options.listPods(namespace)) {
      if (!matches(selector, pod.labels)) continue;
      const sets = this.#setsOf.get(pod.uid);
      if (sets === undefined) this.#setsOf.set(pod.uid, [set]);
      else sets.push(set);
      this.#put(set, pod);
    }
    return set;
  }

  #drop(set: IndexedPodSet): void {
    for (const uid of [...set.pods.keys()]) {
      const sets = this.#setsOf.get(uid) ?? [];
      if (sets.includes(set)) sets.splice(sets.indexOf(set), 1);
      if (sets.length === 0) this.#setsOf.delete(uid);
      this.#remove(set, uid);
    }
    const inNamespace = this.#namespaces.get(set.namespace);
    if (inNamespace === undefined) return;
    inNamespace.sets.delete(set.text);
    inNamespace.others.delete(set);
    for (const label of listLabels(set.selector)) {
      const sets = inNamespace.byLabel.get(label);
      sets?.delete(set);
      if (sets?.size === 0) inNamespace.byLabel.delete(label);
    }
    if (inNamespace.sets.size === 0) this.#namespaces.delete(set.namespace);
  }

  #put(set: IndexedPodSet, pod: PodFacts): void {
    const before = set.pods.get(pod.uid) ?? null;
    if (before === pod) return;
    set.pods.set(pod.uid, pod);
    this.#options.onMoved?.(set, before, pod);
  }

  #remove(set: IndexedPodSet, uid: string): void {
    const before = set.pods.get(uid) ?? null;
    set.pods.delete(uid);
    this.#options.onMoved?.(set, before, null);
  }
}

/**
 * Acquires sets of an index for a part that ends before the index does. Disposal releases those that are still held.
 */
export class PodSetScope implements Pick<SelectorIndex, "setsOf" | "acquire">, Disposable {
  readonly #index: SelectorIndex;
  readonly #held = new Set<PodSetHandle>();

  constructor(index: SelectorIndex) {
    this.#index = index;
  }

  setsOf(uid: string): readonly PodSet[] {
    return this.#index.setsOf(uid);
  }

  acquire(namespace: string, selector: Selector, holder: string | null): PodSetHandle {
    const { set, [Symbol.dispose]: release } = this.#index.acquire(namespace, selector, holder);
    const handle: PodSetHandle = {
      set,
      [Symbol.dispose]: () => {
        this.#held.delete(handle);
        release();
      },
    };
    this.#held.add(handle);
    return handle;
  }

  [Symbol.dispose](): void {
    for (const handle of this.#held) handle[Symbol.dispose]();
  }
}

function findSets(inNamespace: NamespaceSets, labels: PodFacts["labels"]): IndexedPodSet[] {
  const found: IndexedPodSet[] = [];
  for (const set of inNamespace.others) if (matches(set.selector, labels)) found.push(set);
  for (const [key, value] of Object.entries(labels)) {
    for (const set of inNamespace.byLabel.get(`${key}=${value}`) ?? NO_SETS) {
      if (matches(set.selector, labels)) found.push(set);
    }
  }
  // Without the room that push() leaves for 16 more: there is one such list for each pod.
  return found.slice();
}

/** Returns labels of which every pod of the selector has exactly one; empty if the selector requires no such label. */
function listLabels({ requirements }: Selector): readonly string[] {
  const named = requirements.filter(({ operator, values }) => operator === "In" && values.length <= MAX_LABEL_VALUES);
  const first = named.toSorted((a, b) => a.values.length - b.values.length)[0];
  return first === undefined ? [] : first.values.map((value) => `${first.key}=${value}`);
}

interface HpaPodSetsOptions {
  readonly clock: Pick<Clock, "monotonic">;
  readonly objects: Pick<ScaledObjectCache, "hasObjects" | "listHpas">;
  readonly sets: Pick<SelectorIndex, "acquire">;
  readonly findSelector: (workload: {
    readonly kind: WorkloadKind;
    readonly namespace: string;
    readonly name: string;
  }) => Selector | null;
}

interface HpaRow {
  readonly uid: string;
  readonly held: PodSetHandle;
}

/** HPAs and workloads are rarely added or removed. */
const REFRESH_MS = 15_000;

const HPA_TARGET_KINDS: ReadonlyMap<string, WorkloadKind> = new Map([
  ["apps/Deployment", "deployment"],
  ["apps/StatefulSet", "statefulset"],
]);

/**
 * Holds the pod sets of HPA targets, from the first `refresh` of a namespace until one that finds no ScaledObject in it.
 * An HPA with another target can share pods with a ScaledObject. Clauses: R78.
 */
export class HpaPodSets {
  readonly #options: HpaPodSetsOptions;
  /** By namespace and uid. */
  readonly #rows = new Table<HpaRow>();
  readonly #refreshedMs = new Map<string, number>();

  constructor(options: HpaPodSetsOptions) {
    this.#options = options;
  }

  /** Updates the sets of the namespace's HPAs, at most every 15 s. Without a ScaledObject it has none, at once. */
  refresh(namespace: string): void {
    const { clock, objects } = this.#options;
    const nowMs = clock.monotonic();
    const isNeeded = objects.hasObjects(namespace);
    if (isNeeded && nowMs - (this.#refreshedMs.get(namespace) ?? -Infinity) < REFRESH_MS) return;
    const hpas = isNeeded ? [...objects.listHpas(namespace)] : [];
    const selectors = new Map(hpas.map((hpa) => [hpa.uid, this.#findSelector(hpa)]));
    // A namespace without HPAs costs nothing to refresh, and takes no memory.
    if (selectors.size > 0) this.#refreshedMs.set(namespace, nowMs);
    else this.#refreshedMs.delete(namespace);
    for (const { uid, held } of this.#rows.listWithin(namespace)) {
      const selector = selectors.get(uid) ?? null;
      if (selector !== null && formatSelector(selector) === formatSelector(held.set.selector)) continue;
      this.#rows.delete(namespace, uid);
      held[Symbol.dispose]();
    }
    for (const [uid, selector] of selectors) {
      if (selector === null || this.#rows.find(namespace, uid) !== null) continue;
      this.#rows.set(namespace, uid, { uid, held: this.#options.sets.acquire(namespace, selector, uid) });
    }
  }

  /** Returns the selector that the target has now: it may have been created again. */
  #findSelector({ namespace, target }: HpaFacts): Selector | null {
    const kind = HPA_TARGET_KINDS.get(`${target.group}/${target.kind}`);
    return kind === undefined ? null : this.#options.findSelector({ kind, namespace, name: target.name });
  }
}
