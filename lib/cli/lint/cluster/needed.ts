/** Which lists does it take to check these autoscalers and ScaledObjects? No more are asked for. */
import { listAutoscalers, listScaledObjects, toWorkloadKind } from "../checks/look.ts";
import type { Known, Plural } from "../known.ts";

const WORKLOADS = { deployment: "deployments", statefulset: "statefulsets", daemonset: "daemonsets" } as const;
const AUTHENTICATIONS = {
  TriggerAuthentication: "triggerauthentications",
  ClusterTriggerAuthentication: "clustertriggerauthentications",
} as const;

/** Gives each kind once. */
export function listNeeded(known: Known): readonly Plural[] {
  const autoscalers = listAutoscalers(known);
  const objects = listScaledObjects(known);
  const targets = [
    ...autoscalers.map(({ target }) => target?.kind ?? null),
    ...objects.map(({ target }) => toWorkloadKind(target.kind)),
  ];
  const refs = objects.flatMap(({ triggers }) =>
    triggers.flatMap((one) => one.kind === "external" ? one.authentication ?? [] : [])
  );
  const isBounded = autoscalers.some(({ sides }) =>
    sides.some(({ bounds: { min, max } }) => min !== null || max !== null)
  );
  const needed: readonly (readonly [Plural, boolean])[] = [
    ...targets.flatMap((kind) => kind === null ? [] : [[WORKLOADS[kind], true] as const]),
    ...refs.map(({ kind }) => [AUTHENTICATIONS[kind], true] as const),
    ["pods", autoscalers.length > 0],
    ["horizontalpodautoscalers", autoscalers.length + objects.length > 0],
    ["verticalpodautoscalers", autoscalers.length > 0],
    ["limitranges", isBounded],
    ["nodes", isBounded],
  ];
  return [...new Set(needed.filter(([, isNeeded]) => isNeeded).map(([plural]) => plural))];
}
