/** May pods grow in place so far beyond their birth that few replicas follow (R82)? */
import type { Autoscaler } from "../../../autoscaler/autoscaler.ts";
import { listContainers } from "../../../core/pod/resizable.ts";
import type { ContainerFacts, PodFacts } from "../../../core/pod/pod_facts.ts";
import { listResourceTriggers } from "../../../scaled_object/list_triggers.ts";
import type { ScaledObject } from "../../../scaled_object/scaled_object.ts";
import type { ResourceTrigger } from "../../../scaled_object/trigger.ts";
import { formatAmount } from "../../../units/quantity.ts";
import type { Resource } from "../../../units/resources.ts";
import type { Relation } from "../finding.ts";
import { findCoupled } from "./coupling.ts";
import { findWorkload, listScaledObjects, type Look, toScaledSubject, toWorkloadKind } from "./look.ts";

/** As of which the daemon tells of it, too. */
const WIDE = 4;

/** One piece of advice for each trigger, by the template that pods are born of. Whoever has set a baseline knows. */
export function checkSpan({ known }: Look): readonly Relation[] {
  return listScaledObjects(known).flatMap((object) => {
    const { namespace, target: { kind: written, name } } = object;
    const kind = toWorkloadKind(written);
    const workload = kind === null ? "unknown" : findWorkload(known, { kind, namespace, name });
    if (typeof workload === "string") return [];
    return listResourceTriggers(object).flatMap((trigger) => {
      const { target, baseline } = trigger;
      const autoscaler = target.kind === "Utilization" && baseline === null
        ? findCoupled(known, { object, trigger })
        : null;
      if (autoscaler === null) return [];
      const span = readSpan(workload.pod, autoscaler, trigger);
      return isWide(span) ? [toRelation(object, trigger, { ...span, autoscaler })] : [];
    });
  });
}

/** Sums of a file's amounts may be of any size. */
function isWide({ born, full }: Span): boolean {
  return born > 0 && full > WIDE * born && Number.isSafeInteger(full);
}

interface Span {
  readonly born: number;
  readonly full: number;
}

function readSpan(pod: PodFacts, autoscaler: Autoscaler, { type, container }: ResourceTrigger): Span {
  const managed = listContainers(autoscaler, pod);
  const counted = pod.containers.filter((one) => one.kind !== "init" && (container === null || one.name === container));
  const born = counted.map(({ spec }) => spec[`${type}.requests`] ?? 0);
  const full = counted.map((one, index) => {
    const least = born[index] ?? 0;
    return managed.includes(one.name) ? Math.max(least, readFull(one, autoscaler, type) ?? least) : least;
  });
  return { born: sum(born), full: sum(full) };
}

/** The least of the request's ceiling and of the limit's; `null` where there is neither. */
function readFull({ spec }: ContainerFacts, { sides }: Autoscaler, resource: Resource): number | null {
  const find = (key: typeof sides[number]["key"]) => sides.find((side) => side.key === key);
  const limits = find(`${resource}.limits`);
  const limit = limits === undefined ? spec[`${resource}.limits`] : limits.bounds.max;
  const ceilings = [find(`${resource}.requests`)?.bounds.max ?? null, limit].filter((amount) => amount !== null);
  return ceilings.length === 0 ? null : Math.min(...ceilings);
}

function sum(amounts: readonly number[]): number {
  return amounts.reduce((total, amount) => total + amount, 0);
}

function toRelation(
  object: ScaledObject,
  { index, type }: ResourceTrigger,
  { born, full, autoscaler }: Span & { readonly autoscaler: Autoscaler },
): Relation {
  const { maxReplicas } = object;
  const [from, to] = [born, full].map((amount) => formatAmount(amount, type));
  return {
    of: toScaledSubject(object),
    level: "advice",
    rule: "few-replicas",
    path: `spec.triggers[${index}]`,
    message:
      `autoscaler "${autoscaler.name}" lets the ${type} request of a pod grow from ${from} to ${to} before pods are added: a load for ` +
      `${maxReplicas} pods as born is one for ${
        Math.ceil(maxReplicas * born / full)
      } full-grown: where that is too few, raise ` +
      "minReplicaCount, lower bounds, or set baseline: born in the trigger's metadata",
  };
}
