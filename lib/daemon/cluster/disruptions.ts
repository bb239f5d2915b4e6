/**
 * What would a restart take from a workload? Which of its pods are unavailable, which ones podfit is about to restart,
 * and what PodDisruptionBudgets allow. Only pods with a container that a resize restarts are counted.
 */
import {
  canResizeRestart,
  type Disruption,
  type DisruptionBudget,
  isHealthy,
  isUnavailable,
  listRestartingFields,
} from "../../model/disruption.ts";
import { findContainer, type PodFacts } from "../../model/pod.ts";
import type { Answer, ResizeRequest } from "../../model/resize_request.ts";
import type { Clock } from "../../runtime/clock.ts";
import { formatSelector, parseSelector, type Selector } from "../../units/selector.ts";
import { isRecord } from "../../units/untrusted.ts";
import type { PodSet, PodSetHandle, SelectorIndex } from "./selector_index.ts";
import { replaceAllObjects, Table } from "./tables.ts";

interface DisruptionsOptions {
  readonly clock: Pick<Clock, "monotonic">;
  readonly podSets: Pick<SelectorIndex, "acquire" | "setsOf">;
  /** False where podfit may not see all pods of a workload. */
  readonly seesAll: boolean;
  /** False while the namespace's PodDisruptionBudgets are not known. */
  readonly areBudgetsKnown: (namespace: string) => boolean;
}

/** The pods of one workload. */
interface Workload {
  /** By uid; without pods that have finished, and without those that a new pod already replaces. */
  readonly pods: Map<string, PodFacts>;
  /** UIDs of those that the watch shows as unavailable. */
  readonly unavailable: Set<string>;
}

/** A restart that podfit has caused, or is about to cause. */
interface Restart {
  readonly pod: PodFacts;
  readonly container: string;
  /** The instance that it ends. */
  readonly instance: string | null;
  /** The generation in the answer; `null` = no answer yet, or none came. */
  readonly generation: number | null;
  /** When the answer came, monotonic ms; `null` before. */
  readonly answeredMs: number | null;
}

/** A PodDisruptionBudget (policy/v1). */
export interface BudgetFacts {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  /** `null` = it selects no pods. */
  readonly selector: Selector | null;
  /** How many more pods may become unavailable by its status; 0 while the status is older than the spec. */
  readonly allowed: number;
  /** How many healthy pods it demands. */
  readonly desiredHealthy: number;
}

interface BudgetRow {
  readonly facts: BudgetFacts;
  /** `null` = it selects no pods, or the namespace has too many budgets. */
  readonly guarded: GuardedSet | null;
}

/** The pods of a selector, and how many of them count as healthy for its budgets. */
interface GuardedSet {
  readonly handle: PodSetHandle;
  readonly budgets: Map<string, BudgetFacts>;
  healthy: number;
}

/** With more budgets in one namespace no resize restarts a container there. */
const MAX_BUDGETS = 500;

/** A container that was not restarted for so long after its resize needed no restart, ms. */
const RESTART_MS = 60_000;

/** The account of all restarts. Clauses: L70, L71. */
export class Disruptions {
  readonly #options: DisruptionsOptions;
  readonly #workloads = new Map<string, Workload>();
  /** By namespace and the pod's uid. */
  readonly #restarts = new Table<Restart>();
  /** By namespace, then by uid. */
  readonly #budgets = new Map<string, Map<string, BudgetRow>>();
  readonly #guarded = new Map<PodSet, GuardedSet>();

  constructor(options: DisruptionsOptions) {
    this.#options = options;
  }

  /** Returns what a restart would take from the pod's workload; undefined if no resize restarts one of its containers. */
  find(pod: PodFacts): Disruption | undefined {
    if (!canResizeRestart(pod)) return undefined;
    const { seesAll, areBudgetsKnown } = this.#options;
    const budgets = areBudgetsKnown(pod.namespace) ? this.#listBudgets(pod) : null;
    if (!seesAll) return { pods: null, unavailable: 0, example: null, budgets };
    const key = toWorkloadKey(pod);
    const workload = key === null ? undefined : this.#workloads.get(key);
    if (workload === undefined) return { pods: 1, unavailable: 0, example: null, budgets };
    let unavailable = workload.unavailable.size - (workload.unavailable.has(pod.uid) ? 1 : 0);
    let example: string | null = null;
    for (const { pod: { uid, name } } of this.#listRestarts(pod.namespace)) {
      if (uid === pod.uid || !workload.pods.has(uid)) continue;
      example ??= name;
      if (!workload.unavailable.has(uid)) unavailable++;
    }
    for (const uid of workload.unavailable) {
      if (example !== null) break;
      if (uid !== pod.uid) example = workload.pods.get(uid)?.name ?? null;
    }
    const pods = workload.pods.size + (workload.pods.has(pod.uid) ? 0 : 1);
    return { pods, unavailable, example, budgets };
  }

  /** A pod was added (`before` is `null`), changed or removed (`after` is `null`). */
  movePod(before: PodFacts | null, after: PodFacts | null): void {
    if (before !== null && (after === null || before.workload !== after.workload)) this.#removePod(before);
    if (after !== null && canResizeRestart(after)) this.#putPod(after);
    const { uid, namespace } = after ?? before ?? { uid: "", namespace: "" };
    const restart = this.#restarts.find(namespace, uid);
    if (restart === null) return;
    if (after === null || after.finished || after.deleting) this.#restarts.delete(namespace, uid);
    else this.#restarts.set(namespace, uid, { ...restart, pod: after });
  }

  /** A pod was added to a set, has changed or has left it. */
  moveInSet(set: PodSet, before: PodFacts | null, after: PodFacts | null): void {
    const guarded = this.#guarded.get(set);
    if (guarded === undefined) return;
    if (before !== null && isHealthy(before)) guarded.healthy--;
    if (after !== null && isHealthy(after)) guarded.healthy++;
  }

  /** podfit sends a request. A request that restarts nothing changes nothing here. */
  reserve(pod: PodFacts, request: ResizeRequest): void {
    if (!isRestarting(pod, request)) return;
    const instance = findContainer(pod, request.container)?.instance ?? null;
    const restart = { pod, container: request.container, instance, generation: null, answeredMs: null };
    this.#restarts.set(pod.namespace, pod.uid, restart);
  }

  /** The request has been answered. An unconfirmed one may have arrived. */
  settle(pod: PodFacts, request: ResizeRequest, answer: Answer): void {
    const restart = isRestarting(pod, request) ? this.#restarts.find(pod.namespace, pod.uid) : null;
    if (restart === null) return;
    const { uid, namespace } = pod;
    if (answer.kind !== "accepted" && answer.kind !== "unconfirmed") return this.#restarts.delete(namespace, uid);
    const generation = answer.kind === "accepted" ? answer.generation : null;
    this.#restarts.set(namespace, uid, { ...restart, generation, answeredMs: this.#options.clock.monotonic() });
  }

  setBudget(facts: BudgetFacts): void {
    const { namespace, uid, selector } = facts;
    const rows = this.#budgets.get(namespace) ?? new Map<string, BudgetRow>();
    this.#budgets.set(namespace, rows);
    const before = rows.get(uid);
    if (before !== undefined && isSameSelector(before.facts.selector, selector)) {
      before.guarded?.budgets.set(uid, facts);
      rows.set(uid, { facts, guarded: before.guarded });
      return;
    }
    if (before !== undefined) this.#release(uid, before);
    const isCrowded = before === undefined && rows.size >= MAX_BUDGETS;
    rows.set(uid, { facts, guarded: isCrowded ? null : this.#guard(facts) });
  }

  removeBudget({ namespace, uid }: Pick<BudgetFacts, "namespace" | "uid">): void {
    const rows = this.#budgets.get(namespace);
    const row = rows?.get(uid);
    if (rows === undefined || row === undefined) return;
    rows.delete(uid);
    this.#release(uid, row);
    if (rows.size === 0) this.#budgets.delete(namespace);
    if (rows.size !== MAX_BUDGETS) return;
    for (const [key, { facts, guarded }] of rows) rows.set(key, { facts, guarded: guarded ?? this.#guard(facts) });
  }

  /** `all`: every budget of the namespace, `null` = of all namespaces. */
  replaceBudgets(namespace: string | null, all: readonly BudgetFacts[]): Iterable<unknown> {
    const known = [...this.#budgets].flatMap(([place, rows]) =>
      namespace === null || place === namespace ? [...rows.values()].map(({ facts }) => facts) : []
    );
    return replaceAllObjects({ known, all }, {
      toKey: ({ uid }) => uid,
      set: (one) => this.setBudget(one),
      remove: (one) => this.removeBudget(one),
    });
  }

  #putPod(pod: PodFacts): void {
    const key = toWorkloadKey(pod);
    if (key === null) return;
    if (!isMember(pod)) return this.#removePod(pod);
    const workload = this.#workloads.get(key) ?? { pods: new Map(), unavailable: new Set() };
    this.#workloads.set(key, workload);
    workload.pods.set(pod.uid, pod);
    if (isUnavailable(pod)) workload.unavailable.add(pod.uid);
    else workload.unavailable.delete(pod.uid);
  }

  #removePod(pod: PodFacts): void {
    const key = toWorkloadKey(pod);
    const workload = key === null ? undefined : this.#workloads.get(key);
    if (key === null || workload === undefined) return;
    workload.pods.delete(pod.uid);
    workload.unavailable.delete(pod.uid);
    if (workload.pods.size === 0) this.#workloads.delete(key);
  }

  /** Returns the restarts of the namespace that are not over, and forgets the others. */
  #listRestarts(namespace: string): readonly Restart[] {
    const nowMs = this.#options.clock.monotonic();
    return this.#restarts.listWithin(namespace).filter((restart) => {
      const isUnderWay = !isOver(restart, nowMs);
      if (!isUnderWay) this.#restarts.delete(namespace, restart.pod.uid);
      return isUnderWay;
    });
  }

  /** The status of a budget may not show the newest restarts yet, so podfit also counts the healthy pods itself. */
  #listBudgets({ uid, namespace }: PodFacts): readonly DisruptionBudget[] {
    if ((this.#budgets.get(namespace)?.size ?? 0) > MAX_BUDGETS) return TOO_MANY_BUDGETS;
    const found: DisruptionBudget[] = [];
    let restarts: readonly Restart[] | null = null;
    for (const set of this.#options.podSets.setsOf(uid)) {
      const guarded = this.#guarded.get(set);
      if (guarded === undefined) continue;
      restarts ??= this.#listRestarts(namespace);
      const restarting = restarts.filter(({ pod }) => pod.uid !== uid && set.pods.has(pod.uid) && isHealthy(pod));
      for (const { name, allowed, desiredHealthy } of guarded.budgets.values()) {
        const spare = guarded.healthy - restarting.length - desiredHealthy;
        found.push({ name, allowed: Math.max(0, Math.min(allowed, spare)) });
      }
    }
    return found;
  }

  #guard(facts: BudgetFacts): GuardedSet | null {
    const { namespace, uid, selector } = facts;
    if (selector === null) return null;
    const handle = this.#options.podSets.acquire(namespace, selector, null);
    const known = this.#guarded.get(handle.set);
    if (known !== undefined) {
      handle[Symbol.dispose]();
      known.budgets.set(uid, facts);
      return known;
    }
    const healthy = [...handle.set.pods.values()].filter(isHealthy).length;
    const guarded: GuardedSet = { handle, healthy, budgets: new Map([[uid, facts]]) };
    this.#guarded.set(handle.set, guarded);
    return guarded;
  }

  #release(uid: string, { guarded }: BudgetRow): void {
    if (guarded === null || !guarded.budgets.delete(uid) || guarded.budgets.size > 0) return;
    this.#guarded.delete(guarded.handle.set);
    guarded.handle[Symbol.dispose]();
  }
}

const TOO_MANY_BUDGETS: readonly DisruptionBudget[] = [
  { name: `one of more than ${MAX_BUDGETS} in the namespace`, allowed: 0 },
];

function toWorkloadKey({ namespace, workload }: PodFacts): string | null {
  return workload === undefined ? null : `${namespace}/${workload}`;
}

/** A ReplicaSet replaces a pod as soon as its deletion begins; other controllers wait for its end. */
function isMember({ finished, deleting, workload = "" }: PodFacts): boolean {
  return !finished && !(deleting && /^(Deployment|ReplicaSet)[/]/.test(workload));
}

/** A revert takes a size back that was never in force, so it restarts nothing. */
function isRestarting(pod: PodFacts, { container: name, changes, action }: ResizeRequest): boolean {
  const container = action === "revert" ? null : findContainer(pod, name);
  return container !== null && listRestartingFields(container, changes).length > 0;
}

/** Returns whether the pod runs with its new size and is Ready again. */
function isOver({ pod, container, instance, generation, answeredMs }: Restart, nowMs: number): boolean {
  if (answeredMs === null || (pod.generation ?? 0) < (generation ?? 0) || isUnavailable(pod)) return false;
  return findContainer(pod, container)?.instance !== instance || nowMs - answeredMs >= RESTART_MS;
}

function isSameSelector(a: Selector | null, b: Selector | null): boolean {
  return a === null || b === null ? a === b : formatSelector(a) === formatSelector(b);
}

/**
 * Returns the facts of a PodDisruptionBudget. A selector that cannot be parsed counts as one of all pods, and a missing
 * status allows nothing. Never throws. https://kubernetes.io/docs/tasks/run-application/configure-pdb/
 */
export function parseDisruptionBudget(object: unknown): BudgetFacts {
  const { metadata, spec, status } = openRecord(object);
  const { uid, namespace, name, generation } = openRecord(metadata);
  const { disruptionsAllowed, desiredHealthy, observedGeneration } = openRecord(status);
  const { selector } = openRecord(spec);
  const parsed = selector === undefined || selector === null ? null : parseSelector(selector, "spec.selector");
  const isCurrent = toCount(observedGeneration) >= toCount(generation);
  return {
    uid: String(uid ?? ""),
    namespace: String(namespace ?? ""),
    name: String(name ?? ""),
    selector: parsed === null ? null : parsed.ok ? parsed.selector : EVERY_POD,
    allowed: isCurrent ? toCount(disruptionsAllowed) : 0,
    desiredHealthy: toCount(desiredHealthy),
  };
}

const EVERY_POD: Selector = { requirements: [], source: {} };

function openRecord(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}

function toCount(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) ? value : 0;
}
