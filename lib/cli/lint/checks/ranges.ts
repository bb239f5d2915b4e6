/** Do bounds fit into what the namespace allows, and onto any node? */
import type { Autoscaler, SideRule } from "../../../autoscaler/autoscaler.ts";
import { LEAST_MILLICORES } from "../../../autoscaler/profiles.ts";
import type { LimitRule } from "../../../core/pod/namespace_limits.ts";
import type { NodeFacts } from "../../../daemon/inventory/facts.ts";
import { formatAmount } from "../../../units/quantity.ts";
import type { Resource } from "../../../units/resources.ts";
import type { Relation } from "../finding.ts";
import type { Known } from "../known.ts";
import { listAutoscalers, type Look, type Said, toAutoscalerSubject } from "./look.ts";

/** At most one finding for each bound. */
export function checkRanges({ known }: Look): readonly Relation[] {
  return listAutoscalers(known).flatMap((autoscaler) =>
    autoscaler.sides.flatMap((side) => checkSide(side, { autoscaler, known }))
      .map((said): Relation => ({ ...said, of: toAutoscalerSubject(autoscaler), level: "warning" }))
  );
}

interface Surroundings {
  readonly autoscaler: Autoscaler;
  readonly known: Known;
}

function checkSide(side: SideRule, { autoscaler, known }: Surroundings): readonly Said[] {
  const { namespace } = autoscaler;
  const rules = known.limitranges.filter((range) => range.namespace === namespace)
    .flatMap(({ ranges }) => ranges).filter(({ type }) => type === "Container");
  return (["min", "max"] as const).flatMap((bound) => {
    const amount = side.bounds[bound];
    if (amount === null || isFilledIn(side, { autoscaler, bound })) return [];
    const range = describeRange(rules, { resource: side.resource, bound, amount });
    const node = range === null ? describeNodes(known.nodes, { resource: side.resource, bound, amount }) : null;
    const path = `spec.bounds.${side.key}.${bound}`;
    if (range !== null) return [{ rule: "bounds-limit-range", path, message: range }];
    return node === null ? [] : [{ rule: "bounds-node", path, message: node }];
  });
}

/** A profile has a least size of its own, which nobody has written. */
function isFilledIn(
  { key, bounds: { min } }: SideRule,
  { autoscaler: { profile }, bound }: { readonly autoscaler: Autoscaler; readonly bound: "min" | "max" },
): boolean {
  return bound === "min" && profile !== null && min === LEAST_MILLICORES[key];
}

interface Bound {
  readonly resource: Resource;
  readonly bound: "min" | "max";
  readonly amount: number;
}

function describeRange(rules: readonly LimitRule[], { resource, bound, amount }: Bound): string | null {
  const shown = formatAmount(amount, resource);
  for (const { name, min: { [resource]: least }, max: { [resource]: most } } of rules) {
    if (most !== null && amount > most) {
      return `${bound} ${shown} is above the ${
        formatAmount(most, resource)
      } that limit range "${name}" allows a container: no resize goes ` +
        `there: lower it, or raise the limit range`;
    }
    if (least !== null && amount < least) {
      return `${bound} ${shown} is below the ${
        formatAmount(least, resource)
      } that limit range "${name}" asks of a container: no resize goes ` +
        `there: raise it, or lower the limit range`;
    }
  }
  return null;
}

/** What pods may ask for of the largest node. */
function describeNodes(nodes: readonly NodeFacts[], { resource, bound, amount }: Bound): string | null {
  const sizes = nodes.map(({ allocatable }) => resource === "cpu" ? allocatable.cpuMillicores : allocatable.memoryBytes)
    .filter((size) => size !== null);
  const largest = Math.max(...sizes);
  if (sizes.length === 0 || amount <= largest) return null;
  const what = bound === "min"
    ? "no pod of this size fits anywhere"
    : "no pod gets there, and a load that asks for it stays short";
  return `${bound} ${formatAmount(amount, resource)} is above what any node has for pods (${
    formatAmount(largest, resource)
  }): ${what}: lower it, or ` +
    "add replicas beyond that";
}
