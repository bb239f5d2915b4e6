/**
 * Which pods does a selector list now? Kept pod by pod for all selectors that somebody holds: of a thousand selectors in one namespace a pod's
 * change asks those only that name one of its labels. Selectors of the same words are one set.
 */
import type { PodFacts } from "../../core/pod/pod_facts.ts";
import { formatSelector, matches, type Selector } from "../../units/selector.ts";

/** The pods of one selector in one namespace, deleting and finished ones too. */
export interface PodSet {
  readonly namespace: string;
  readonly selector: Selector;
  /** By uid. */
  readonly pods: ReadonlyMap<string, PodFacts>;
  /** UIDs of ScaledObjects and HPAs that have these pods as their target's. */
  readonly holders: ReadonlySet<string>;
}

/** A set that is kept current until it is disposed of. */
export interface HeldPodSet extends Disposable {
  readonly set: PodSet;
}

/** What is kept current, and who hears of it. */
export interface PodSetsOptions {
  /** All pods there are in the namespace: asked once for each selector that nobody held before. */
  readonly listPods: (namespace: string) => Iterable<PodFacts>;
  /** A pod came to the set or has changed; `null` = it left. Must not throw. */
  readonly onMoved?: (set: PodSet, before: PodFacts | null, after: PodFacts | null) => void;
}

interface OwnSet extends PodSet {
  readonly text: string;
  readonly pods: Map<string, PodFacts>;
  readonly holders: Set<string>;
  users: number;
}

/** Of one namespace. */
interface Room {
  readonly sets: Map<string, OwnSet>;
  /** By `key=value` of a label that all pods of the set have. */
  readonly byLabel: Map<string, Set<OwnSet>>;
  /** Those that name no such label. */
  readonly others: Set<OwnSet>;
}

/** A longer list of values costs an entry each. */
const MOST_VALUES = 20;
const NONE: readonly OwnSet[] = [];

/** All sets that are held. */
export class PodSets {
  readonly #options: PodSetsOptions;
  readonly #rooms = new Map<string, Room>();
  /** By the uid of a pod, the sets that it is in. */
  readonly #setsOf = new Map<string, readonly OwnSet[]>();

  constructor(options: PodSetsOptions) {
    this.#options = options;
  }

  /** The sets that the pod is in. */
  setsOf(uid: string): readonly PodSet[] {
    return this.#setsOf.get(uid) ?? NONE;
  }

  /** A pod came, has changed or went; `null` = it was not there, or is not any more. */
  move(before: PodFacts | null, after: PodFacts | null): void {
    const uid = (after ?? before)?.uid;
    const namespace = (after ?? before)?.namespace;
    if (uid === undefined || namespace === undefined) return;
    const was = this.#setsOf.get(uid) ?? NONE;
    const room = this.#rooms.get(namespace);
    const is = after === null || room === undefined ? NONE : findSets(room, after);
    if (is.length > 0) this.#setsOf.set(uid, is);
    else this.#setsOf.delete(uid);
    for (const set of was) if (!is.includes(set)) this.#remove(set, uid);
    for (const set of is) if (after !== null) this.#put(set, after);
  }

  /** Keeps the set until it is disposed of. `holder`: the uid of whose target's pods they are; `null` = they are only counted. */
  hold(namespace: string, selector: Selector, holder: string | null): HeldPodSet {
    const text = formatSelector(selector);
    const set = this.#rooms.get(namespace)?.sets.get(text) ?? this.#add(namespace, { selector, text });
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

  #add(namespace: string, { selector, text }: { readonly selector: Selector; readonly text: string }): OwnSet {
    const room = this.#rooms.get(namespace) ?? { sets: new Map(), byLabel: new Map(), others: new Set() };
    this.#rooms.set(namespace, room);
    const set: OwnSet = { namespace, selector, text, pods: new Map(), holders: new Set(), users: 0 };
    room.sets.set(text, set);
    const labels = listLabels(selector);
    if (labels.length === 0) room.others.add(set);
    for (const label of labels) room.byLabel.set(label, (room.byLabel.get(label) ?? new Set()).add(set));
    for (const pod of this.#options.listPods(namespace)) {
      if (!matches(selector, pod.labels)) continue;
      this.#setsOf.set(pod.uid, [...this.#setsOf.get(pod.uid) ?? NONE, set]);
      this.#put(set, pod);
    }
    return set;
  }

  #drop(set: OwnSet): void {
    for (const uid of [...set.pods.keys()]) {
      const rest = (this.#setsOf.get(uid) ?? NONE).filter((one) => one !== set);
      if (rest.length > 0) this.#setsOf.set(uid, rest);
      else this.#setsOf.delete(uid);
      this.#remove(set, uid);
    }
    const room = this.#rooms.get(set.namespace);
    if (room === undefined) return;
    room.sets.delete(set.text);
    room.others.delete(set);
    for (const label of listLabels(set.selector)) {
      const sets = room.byLabel.get(label);
      sets?.delete(set);
      if (sets?.size === 0) room.byLabel.delete(label);
    }
    if (room.sets.size === 0) this.#rooms.delete(set.namespace);
  }

  #put(set: OwnSet, pod: PodFacts): void {
    const before = set.pods.get(pod.uid) ?? null;
    if (before === pod) return;
    set.pods.set(pod.uid, pod);
    this.#options.onMoved?.(set, before, pod);
  }

  #remove(set: OwnSet, uid: string): void {
    const before = set.pods.get(uid) ?? null;
    set.pods.delete(uid);
    this.#options.onMoved?.(set, before, null);
  }
}

function findSets(room: Room, { labels }: PodFacts): readonly OwnSet[] {
  const found: OwnSet[] = [];
  for (const set of room.others) if (matches(set.selector, labels)) found.push(set);
  for (const [key, value] of Object.entries(labels)) {
    for (const set of room.byLabel.get(`${key}=${value}`) ?? NONE) {
      if (matches(set.selector, labels)) found.push(set);
    }
  }
  return found;
}

/** A pod of the selector has one of these labels, and one only. */
function listLabels({ requirements }: Selector): readonly string[] {
  const named = requirements.filter(({ operator, values }) => operator === "In" && values.length <= MOST_VALUES);
  const first = named.toSorted((a, b) => a.values.length - b.values.length)[0];
  return first === undefined ? [] : first.values.map((value) => `${first.key}=${value}`);
}
