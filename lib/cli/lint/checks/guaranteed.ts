/** Is a Guaranteed pod managed on one side only? Each such resize would change its class, which Kubernetes refuses (C35). */
import type { Autoscaler } from "../../../autoscaler/autoscaler.ts";
import type { PodFacts } from "../../../core/pod/pod_facts.ts";
import { computeQosClass } from "../../../units/qos.ts";
import { partnerOf } from "../../../units/resources.ts";
import type { Relation } from "../finding.ts";
import { describeTarget, findPods, listAutoscalers, type Look, toAutoscalerSubject } from "./look.ts";

/** One finding for each autoscaler, at the first side whose other side is not managed. */
export function checkGuaranteed({ known }: Look): readonly Relation[] {
  return listAutoscalers(known).flatMap((autoscaler) => {
    const managed = autoscaler.sides.map(({ key }) => key);
    const alone = managed.find((key) => !managed.includes(partnerOf(key)));
    if (alone === undefined || !findPods(autoscaler, known).some(isGuaranteed)) return [];
    return [{
      of: toAutoscalerSubject(autoscaler),
      level: "warning",
      rule: "guaranteed-one-side",
      path: `spec.policy.${alone}`,
      message: describe(autoscaler, alone),
    }];
  });
}

function isGuaranteed({ qosClass, podResources, containers }: PodFacts): boolean {
  const sizes = containers.map(({ spec }) => spec);
  return (qosClass ?? computeQosClass({ podResources, containers: sizes })) === "Guaranteed";
}

function describe(autoscaler: Autoscaler, alone: Autoscaler["sides"][number]["key"]): string {
  return `pods of ${describeTarget(autoscaler)} are Guaranteed, and ${alone} is managed without ${
    partnerOf(alone)
  }: no resize of it is ` +
    `possible, as it would change their QoS class (QoSInvariantBlocked): manage ${
      partnerOf(alone)
    } too, or give the template a ` +
    "limit above its request";
}
