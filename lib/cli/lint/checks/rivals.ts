/** Does anybody else set what podfit sets: an HPA, a VPA, or another ScaledObject of the same target? */
import type { Autoscaler } from "../../../autoscaler/autoscaler.ts";
import { listContainers } from "../../../core/pod/resizable.ts";
import { findConflict } from "../../../daemon/replicas/conflicts.ts";
import { readGroup, type TargetRef, toTargetKey } from "../../../daemon/replicas/read_hpa.ts";
import type { ScaledObject } from "../../../scaled_object/scaled_object.ts";
import { resourceOf } from "../../../units/resources.ts";
import type { Relation } from "../finding.ts";
import type { Known } from "../known.ts";
import { listScaled, type OtherScaler } from "../other_scalers.ts";
import {
  findPods,
  findWorkload,
  listAutoscalers,
  listScaledObjects,
  type Look,
  toAutoscalerSubject,
  toScaledSubject,
  toWorkloadKind,
} from "./look.ts";

/** One finding for each autoscaler and rival, and one for each ScaledObject. */
export function checkRivals({ known }: Look): readonly Relation[] {
  return [
    ...listAutoscalers(known).filter(({ mode }) => mode === "apply").flatMap((one) => checkAutoscaler(one, known)),
    ...listScaledObjects(known).flatMap((one) => checkScaledObject(one, known)),
  ];
}

function checkAutoscaler(autoscaler: Autoscaler, known: Known): readonly Relation[] {
  const of = toAutoscalerSubject(autoscaler);
  const hpas = listRivals(autoscaler, known.horizontalpodautoscalers, known).flatMap(({ rival, key }): Relation[] => {
    // Utilization is of requests: of limits alone nobody else goes by.
    if (!key.endsWith(".requests")) return [];
    const message =
      `HPA "${rival.name}" scales the same pods by utilization of their ${
        resourceOf(key)
      } requests, which this one moves: each ` +
      "resize changes the number of pods: use a ScaledObject, which podfit couples with sizes, an AverageValue, or another resource";
    return [{ of, level: "warning", rule: "hpa-same-resource", path: `spec.policy.${key}`, message }];
  });
  const vpas = listRivals(autoscaler, known.verticalpodautoscalers, known).map(({ rival, key }): Relation => {
    const message =
      `VPA "${rival.name}" sizes ${
        resourceOf(key)
      } of the same container: both resize it, and each undoes what the other does: ` +
      "set its updateMode to Off, or delete one of them";
    return { of, level: "warning", rule: "vpa-same-resource", path: `spec.policy.${key}`, message };
  });
  return [...hpas, ...vpas];
}

interface Rival {
  readonly rival: OtherScaler;
  /** The first side that both are about. */
  readonly key: Autoscaler["sides"][number]["key"];
}

function listRivals(autoscaler: Autoscaler, all: readonly OtherScaler[], known: Known): readonly Rival[] {
  const pods = findPods(autoscaler, known);
  return all.flatMap((rival): readonly Rival[] => {
    if (rival.namespace !== autoscaler.namespace || !isOfPods(rival, { autoscaler, pods, known })) return [];
    const containers = new Set(pods.flatMap((pod) => listContainers(autoscaler, pod)));
    const names = containers.size > 0 ? [...containers] : [autoscaler.containerName];
    const scaled = new Set(names.flatMap((name) => listScaled(rival, name)));
    const side = autoscaler.sides.find((one) =>
      scaled.has(one.resource) && (rival.hpa === null || one.side === "requests")
    );
    return side === undefined ? [] : [{ rival, key: side.key }];
  });
}

function isOfPods(
  { target, namespace }: OtherScaler,
  { autoscaler, pods, known }: {
    readonly autoscaler: Autoscaler;
    readonly pods: ReturnType<typeof findPods>;
    readonly known: Known;
  },
): boolean {
  const kind = toWorkloadKind(target.kind);
  if (target.group !== "apps" || kind === null) return false;
  if (autoscaler.target !== null) return autoscaler.target.kind === kind && autoscaler.target.name === target.name;
  const workload = findWorkload(known, { kind, namespace, name: target.name });
  if (typeof workload === "string") return false;
  const own = findPods({ ...autoscaler, target: { kind, name: target.name }, selector: null }, known);
  return own.some((pod) => pods.includes(pod));
}

/** In the words of the daemon, which sets no replicas then (R75, R78). An HPA that KEDA has made for it is KEDA's way to work. */
function checkScaledObject(object: ScaledObject, known: Known): readonly Relation[] {
  const key = toTargetKey(toRef(object));
  const hpas = known.horizontalpodautoscalers.flatMap(({ hpa }) => hpa ?? [])
    .filter((hpa) => hpa.namespace === object.namespace && toTargetKey(hpa.target) === key)
    .filter(({ owners }) => object.uid === "" || !owners.includes(object.uid));
  const scaledObjects = known.scaledobjects.filter((other) => {
    const own = other.scaledObject;
    return own !== null && own !== object && !other.isDeleting && own.namespace === object.namespace &&
      toTargetKey(toRef(own)) === key;
  });
  const none = { hpas: [], scaledObjects: [] };
  const { obstacle } = findConflict({ object, hpas, scaledObjects, overlapping: () => none, transferredUid: null });
  if (obstacle?.kind !== "check") return [];
  const message = `podfit sets no replicas: ${obstacle.message}`;
  return [{
    of: toScaledSubject(object),
    level: "warning",
    rule: "replicas-owned",
    path: "spec.scaleTargetRef",
    message,
  }];
}

function toRef({ target: { apiVersion, kind, name } }: ScaledObject): TargetRef {
  return { group: readGroup(apiVersion), kind, name };
}
