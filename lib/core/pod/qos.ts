/** The QoS class of a pod as a resize would leave it (C35). */
import { computeQosClass, type QosClass } from "../../units/qos.ts";
import type { Resources } from "../../units/resources.ts";
import type { ContainerFacts, PodFacts } from "./pod_facts.ts";

/** The class the pod would have with that container at that size. */
export function readQosWith(pod: PodFacts, container: ContainerFacts, to: Resources): QosClass {
  const containers = pod.containers.map((one) => one === container ? to : one.spec);
  return computeQosClass({ podResources: pod.podResources, containers });
}
