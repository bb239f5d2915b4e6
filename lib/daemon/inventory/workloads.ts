/** The workloads as the watches show them, and what an autoscaler's target comes to (C10). */
import type { Autoscaler, WorkloadKind } from "../../autoscaler/autoscaler.ts";
import { formatSelector, type Selector } from "../../units/selector.ts";
import type { WorkloadFacts } from "./facts.ts";

/** As the API's paths have them. */
export const PLURALS: Readonly<Record<WorkloadKind, string>> = {
  deployment: "deployments",
  statefulset: "statefulsets",
  daemonset: "daemonsets",
};

/** All that a target may name. */
export const WORKLOAD_KINDS = Object.keys(PLURALS) as readonly WorkloadKind[];

/** What one list covers; namespace `null` = all. */
export interface WorkloadScope {
  readonly kind: WorkloadKind;
  readonly namespace: string | null;
}

/** Workloads change with each step of their status, their selectors hardly ever: only those count as a change. */
export class Workloads {
  readonly #all = new Map<string, WorkloadFacts>();

  /** Whether its selector has changed. */
  set(facts: WorkloadFacts): boolean {
    const before = this.#all.get(toKey(facts))?.selector ?? null;
    this.#all.set(toKey(facts), facts);
    const { selector } = facts;
    if (before === null || selector === null) return before !== selector;
    return formatSelector(before) !== formatSelector(selector);
  }

  remove(facts: WorkloadFacts): boolean {
    return this.#all.delete(toKey(facts));
  }

  /** Gives those that are gone, new or changed. */
  replace({ kind, namespace }: WorkloadScope, all: readonly WorkloadFacts[]): readonly WorkloadFacts[] {
    const known = new Set(all.map(toKey));
    const gone = [...this.#all.values()].filter((one) =>
      one.kind === kind && (namespace === null || one.namespace === namespace) && !known.has(toKey(one))
    );
    for (const one of gone) this.remove(one);
    return [...gone, ...all.filter((one) => this.set(one))];
  }

  /** `null` when there is none of that name. */
  find(workload: Pick<WorkloadFacts, "kind" | "namespace" | "name">): WorkloadFacts | null {
    return this.#all.get(toKey(workload)) ?? null;
  }

  /** `null` when there is none of that name, or the autoscaler has no target. */
  findTarget({ target, namespace }: Autoscaler): WorkloadFacts | null {
    return target === null ? null : this.#all.get(toKey({ ...target, namespace })) ?? null;
  }

  /** What pods of the autoscaler have to meet; `null` while its target is missing or has no selector to use. */
  findSelector(autoscaler: Autoscaler): Selector | null {
    return autoscaler.target === null ? autoscaler.selector : this.findTarget(autoscaler)?.selector ?? null;
  }
}

/** Whether the autoscaler's target is this workload. */
export function isTarget({ kind, namespace, name }: WorkloadFacts, autoscaler: Autoscaler): boolean {
  return autoscaler.namespace === namespace && autoscaler.target?.kind === kind && autoscaler.target.name === name;
}

function toKey({ kind, namespace, name }: Pick<WorkloadFacts, "kind" | "namespace" | "name">): string {
  return `${kind}/${namespace}/${name}`;
}
