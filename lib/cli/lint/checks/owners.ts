/** Are there two autoscalers of one container? Only one of them resizes it (C12). */
import { type Autoscaler, EVERY_CONTAINER } from "../../../autoscaler/autoscaler.ts";
import { listContainers } from "../../../core/pod/resizable.ts";
import { formatSelector } from "../../../units/selector.ts";
import type { Relation } from "../finding.ts";
import { findPods, listAutoscalers, type Look, toAutoscalerSubject } from "./look.ts";

/** One finding for each pair, at the one that comes second. */
export function checkOwners({ known, isSubject }: Look): readonly Relation[] {
  const all = listAutoscalers(known).toSorted(byRank);
  const pods = new Map(all.map((one) => [one, findPods(one, known)]));
  return all.flatMap((second, index) => {
    const first = all.slice(0, index).find((one) => isContended(one, second, pods));
    if (first === undefined) return [];
    const of = toAutoscalerSubject(isSubject(toAutoscalerSubject(second)) ? second : first);
    const other = of.name === second.name ? first : second;
    return [{ of, level: "warning", rule: "two-owners", path: "spec.containerName", message: describe(second, other) }];
  });
}

/** The order in which podfit asks them: nobody else knows who may act earliest. */
function byRank(a: Autoscaler, b: Autoscaler): number {
  return b.priority - a.priority || (a.name < b.name ? -1 : 1);
}

type Pods = ReadonlyMap<Autoscaler, ReturnType<typeof findPods>>;

/** One for a name beside one for all others is as it is meant (L50). */
function isContended(a: Autoscaler, b: Autoscaler, pods: Pods): boolean {
  if (a.namespace !== b.namespace || a.isWildcard !== b.isWildcard || a.mode !== b.mode) return false;
  if (!a.isWildcard && a.containerName !== b.containerName) return false;
  if (isSameWorkload(a, b)) return !a.isWildcard || haveCommon(a, b, pods) !== false;
  return haveCommon(a, b, pods) === true;
}

function isSameWorkload(a: Autoscaler, b: Autoscaler): boolean {
  if (a.target !== null) return a.target.kind === b.target?.kind && a.target.name === b.target.name;
  return a.selector !== null && b.selector !== null && formatSelector(a.selector) === formatSelector(b.selector);
}

/** Whether a container is both's; `null` where neither has a pod that is known. */
function haveCommon(a: Autoscaler, b: Autoscaler, pods: Pods): boolean | null {
  const [own, others] = [pods.get(a) ?? [], new Set(pods.get(b) ?? [])];
  if (own.length === 0 || others.size === 0) return null;
  return own.filter((pod) => others.has(pod)).some((pod) => {
    const names = listContainers(a, pod);
    return listContainers(b, pod).some((name) => names.includes(name));
  });
}

function describe({ containerName, priority }: Autoscaler, other: Autoscaler): string {
  const which = containerName === EVERY_CONTAINER ? "the same containers" : `container "${containerName}"`;
  const what = priority === other.priority
    ? "only one of the two resizes it at a time, and which one changes with their cooldowns"
    : `only the one of the higher priority (${Math.max(priority, other.priority)}) ever resizes it`;
  return `autoscaler "${other.name}" is for ${which} of the same pods: ${what}: put both policies into one autoscaler`;
}
