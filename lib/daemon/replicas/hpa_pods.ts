/**
 * The pods of HPAs' targets, as far as the targets' selectors are known: an HPA of another target may have pods in common with an object (R78).
 */
import type { WorkloadKind } from "../../autoscaler/autoscaler.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { Selector } from "../../units/selector.ts";
import type { Objects } from "./objects.ts";
import type { HeldPodSet, PodSets } from "./pod_sets.ts";
import { type HpaFacts, toTargetKey } from "./read_hpa.ts";
import { Table } from "./table.ts";

/** Where HPAs and selectors come from. */
export interface HpaPodsOptions {
  readonly clock: Pick<Clock, "monotonic">;
  readonly objects: Pick<Objects, "listHpas">;
  readonly sets: Pick<PodSets, "hold">;
  readonly findSelector: (workload: {
    readonly kind: WorkloadKind;
    readonly namespace: string;
    readonly name: string;
  }) => Selector | null;
}

interface Row {
  readonly uid: string;
  readonly target: string;
  readonly held: HeldPodSet;
}

/** HPAs and workloads come and go seldom. */
const REFRESH_MS = 15_000;

const KINDS: ReadonlyMap<string, WorkloadKind> = new Map([
  ["apps/Deployment", "deployment"],
  ["apps/StatefulSet", "statefulset"],
]);

/** Holds the sets of one namespace's HPAs once somebody asks for them. Disposal lets go of all. */
export class HpaPods implements Disposable {
  readonly #options: HpaPodsOptions;
  /** By namespace and uid. */
  readonly #rows = new Table<Row>();
  readonly #refreshedMs = new Map<string, number>();

  constructor(options: HpaPodsOptions) {
    this.#options = options;
  }

  /** Brings the sets of the namespace's HPAs up to date, at most every 15 s. */
  refresh(namespace: string): void {
    const { clock, objects } = this.#options;
    const nowMs = clock.monotonic();
    if (nowMs - (this.#refreshedMs.get(namespace) ?? -Infinity) < REFRESH_MS) return;
    this.#refreshedMs.set(namespace, nowMs);
    const hpas = new Map([...objects.listHpas(namespace)].map((hpa) => [hpa.uid, hpa]));
    for (const { uid, target, held } of this.#rows.within(namespace)) {
      const hpa = hpas.get(uid);
      if (hpa !== undefined && toTargetKey(hpa.target) === target) continue;
      this.#rows.delete(namespace, uid);
      held[Symbol.dispose]();
    }
    for (const hpa of hpas.values()) if (this.#rows.find(namespace, hpa.uid) === null) this.#add(hpa);
  }

  [Symbol.dispose](): void {
    for (const { held } of this.#rows.within(null)) held[Symbol.dispose]();
  }

  #add({ uid, namespace, target }: HpaFacts): void {
    const kind = KINDS.get(`${target.group}/${target.kind}`);
    const selector = kind === undefined ? null : this.#options.findSelector({ kind, namespace, name: target.name });
    if (selector === null) return;
    const held = this.#options.sets.hold(namespace, selector, uid);
    this.#rows.set(namespace, uid, { uid, target: toTargetKey(target), held });
  }
}
