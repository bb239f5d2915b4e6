/** Is there what autoscalers and ScaledObjects are about: their workloads, pods and containers? */
import { type Autoscaler, EVERY_CONTAINER } from "../../../autoscaler/autoscaler.ts";
import { listContainers } from "../../../core/pod/resizable.ts";
import type { PodFacts } from "../../../core/pod/pod_facts.ts";
import { listResourceTriggers } from "../../../scaled_object/list_triggers.ts";
import type { ScaledObject } from "../../../scaled_object/scaled_object.ts";
import { quote } from "../../../units/untrusted.ts";
import type { Relation } from "../finding.ts";
import type { Known } from "../known.ts";
import {
  describeTarget,
  findPods,
  findWorkload,
  listAutoscalers,
  listScaledObjects,
  type Look,
  toAutoscalerSubject,
  toScaledSubject,
  toWorkloadKind,
} from "./look.ts";

/** At most one finding for each object, the first that counts, and one for each trigger. */
export function checkTargets({ known }: Look): readonly Relation[] {
  return [
    ...listAutoscalers(known).flatMap((one) => checkTarget(one, known)),
    ...listScaledObjects(known).flatMap((one) => checkScaled(one, known)),
  ];
}

function checkTarget(autoscaler: Autoscaler, known: Known): readonly Relation[] {
  const of = toAutoscalerSubject(autoscaler);
  const { namespace, target } = autoscaler;
  if (target !== null && findWorkload(known, { ...target, namespace }) === "missing") {
    return [{
      of,
      level: "error",
      rule: "target-missing",
      path: "spec.target",
      message: describeAbsentTarget(target, namespace),
    }];
  }
  const pods = findPods(autoscaler, known);
  if (target === null && known.listed.has("pods") && pods.length === 0) {
    const message = `no pod in namespace "${namespace}" has these labels, and nothing is resized: compare them with ` +
      "`kubectl get pods --show-labels`";
    return [{ of, level: "warning", rule: "selector-empty", path: "spec.selector", message }];
  }
  if (pods.length === 0 || pods.some((pod) => listContainers(autoscaler, pod).length > 0)) return [];
  const { containerName } = autoscaler;
  const isEvery = containerName === EVERY_CONTAINER;
  const message = isEvery
    ? `excludeContainers leaves no container of the pods of ${
      describeTarget(autoscaler)
    }, and nothing is resized: leave one in`
    : describeContainer(containerName, { pods, whose: describeTarget(autoscaler) });
  const path = isEvery ? "spec.excludeContainers" : "spec.containerName";
  return [{ of, level: "error", rule: "container-missing", path, message }];
}

/** Only of the kinds whose containers are known. */
function checkScaled(object: ScaledObject, known: Known): readonly Relation[] {
  const { namespace, target: { apiVersion, kind: written, name } } = object;
  const kind = toWorkloadKind(written);
  if (kind === null || !apiVersion.startsWith("apps/")) return [];
  const of = toScaledSubject(object);
  const workload = findWorkload(known, { kind, namespace, name });
  if (workload === "missing") {
    const message = describeAbsentTarget({ kind, name }, namespace);
    return [{ of, level: "error", rule: "target-missing", path: "spec.scaleTargetRef.name", message }];
  }
  if (typeof workload === "string") return [];
  const { pod } = workload;
  return listResourceTriggers(object).flatMap(({ index, container }) => {
    if (container === null || pod.containers.some((one) => one.name === container && one.kind !== "init")) return [];
    const path = `spec.triggers[${index}].metadata.containerName`;
    const message = describeContainer(container, { pods: [pod], whose: `${kind} "${name}"` });
    return [{ of, level: "error", rule: "container-missing", path, message }];
  });
}

function describeAbsentTarget(
  { kind, name }: { readonly kind: string; readonly name: string },
  namespace: string,
): string {
  return `there is no ${kind} "${name}" in namespace "${namespace}", and nothing happens until there is: correct the name, or ` +
    "create it";
}

const MOST_SHOWN = 10;

function describeContainer(
  name: string,
  { pods, whose }: { readonly pods: readonly PodFacts[]; readonly whose: string },
): string {
  const names = [
    ...new Set(
      pods.flatMap(({ containers }) => containers.filter(({ kind }) => kind !== "init").map((one) => one.name)),
    ),
  ];
  const shown = names.slice(0, MOST_SHOWN).map(quote).join(", ");
  return `no pod of ${whose} has a container ${
    quote(name)
  }, and nothing is resized or measured of it: there is ${shown}`;
}
