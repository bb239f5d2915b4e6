/** Limit ranges and quotas as the watches show them, and what they come to for a namespace (L32). */
import type { LimitRule, NamespaceLimits } from "../../core/pod/namespace_limits.ts";
import { NO_RESOURCES, type Resources, SIDE_KEYS } from "../../units/resources.ts";

/** A LimitRange or a ResourceQuota, as far as resizes need it. */
export interface NamespaceRule {
  readonly kind: "limitRange" | "quota";
  readonly namespace: string;
  readonly name: string;
  readonly ranges: readonly LimitRule[];
  /** What a quota has left; `null` = it does not count the side. */
  readonly left: Resources;
}

/** What every namespace allows. */
export class Namespaces {
  readonly #rules = new Map<string, Map<string, NamespaceRule>>();
  readonly #limits = new Map<string, NamespaceLimits>();

  /** `null` = none are known. The same object until something changes. */
  read(namespace: string): NamespaceLimits | null {
    return this.#limits.get(namespace) ?? null;
  }

  set(rule: NamespaceRule): void {
    const rules = this.#rules.get(rule.namespace) ?? new Map<string, NamespaceRule>();
    this.#rules.set(rule.namespace, rules.set(toRuleKey(rule), rule));
    this.#workOut(rule.namespace);
  }

  remove(rule: Pick<NamespaceRule, "kind" | "namespace" | "name">): void {
    this.#rules.get(rule.namespace)?.delete(toRuleKey(rule));
    this.#workOut(rule.namespace);
  }

  /** All there are of the kind in the namespace, `null` = in all. */
  replace(
    { kind, namespace }: { readonly kind: NamespaceRule["kind"]; readonly namespace: string | null },
    all: readonly NamespaceRule[],
  ): void {
    for (const [name, rules] of this.#rules) {
      if (namespace !== null && name !== namespace) continue;
      for (const rule of [...rules.values()]) if (rule.kind === kind) this.remove(rule);
    }
    for (const rule of all) this.set(rule);
  }

  #workOut(namespace: string): void {
    const rules = [...this.#rules.get(namespace)?.values() ?? []];
    if (rules.length === 0) {
      this.#rules.delete(namespace);
      this.#limits.delete(namespace);
      return;
    }
    const ranges = rules.flatMap((rule) => rule.ranges);
    this.#limits.set(namespace, { ranges, quota: rules.map(({ left }) => left).reduce(pickTighter, NO_RESOURCES) });
  }
}

function pickTighter(a: Resources, b: Resources): Resources {
  const tighter = { ...a };
  for (const key of SIDE_KEYS) {
    const [one, other] = [a[key], b[key]];
    tighter[key] = one === null ? other : other === null ? one : Math.min(one, other);
  }
  return tighter;
}

function toRuleKey({ kind, name }: Pick<NamespaceRule, "kind" | "name">): string {
  return `${kind}/${name}`;
}
