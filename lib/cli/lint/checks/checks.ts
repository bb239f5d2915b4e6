/**
 * All checks that compare objects with each other.
 *
 * This file also holds the checks of one autoscaler: its target and containers, its bounds, and the QoS class of its
 * pods.
 */
import type { NodeFacts } from "../../../daemon/cluster/facts.ts";
import { findLack } from "../../../horizontal/replica_calculator.ts";
import { type Autoscaler, EVERY_CONTAINER, type FieldPolicy } from "../../../model/autoscaler.ts";
import { listContainers, listResizableNames, type PodFacts } from "../../../model/pod.ts";
import type { LimitRangeRule } from "../../../model/pod_amounts.ts";
import { listResourceTriggers, type ScaledObject } from "../../../model/scaled_object.ts";
import { MIN_PROFILE_MILLICORES } from "../../../resources/pod_resource_autoscaler/profiles.ts";
import {
  isSelected,
  KEDA_METRICS,
  KEDA_PAUSED,
  MEASURED_BY,
  SELECTED,
} from "../../../resources/scaled_object/adoption.ts";
import { formatAmount } from "../../../units/quantity.ts";
import { parseGoBoolean } from "../../../units/numbers.ts";
import { computeQosClass, counterpartOf, type Resource } from "../../../units/resources.ts";
import { quote } from "../../../units/untrusted.ts";
import type { Relation } from "../findings.ts";
import type { AnnotatedScaledObject, KnownObjects } from "../known_objects.ts";
import { checkAuthentications, type Secrets } from "./authentications.ts";
import { checkCoupling, checkGrowth, checkOwners, checkRivals } from "./conflicts.ts";
import {
  type CheckContext,
  describeTarget,
  fillSizes,
  findPods,
  findWorkload,
  listAutoscalers,
  listScaledObjects,
  PLURALS,
  toAutoscalerSubject,
  toScaledSubject,
  toWorkloadKind,
  type UnratedStatement,
  type WorkloadRef,
} from "./context.ts";

/** At most one finding for each object, the first that matters, and one for each trigger. */
function checkTargets({ known }: CheckContext): readonly Relation[] {
  return [
    ...listAutoscalers(known).flatMap((one) => checkTarget(one, known)),
    ...listScaledObjects(known).flatMap((one) => checkScaled(one, known)),
  ];
}

function checkTarget(autoscaler: Autoscaler, known: KnownObjects): readonly Relation[] {
  const of = toAutoscalerSubject(autoscaler);
  const { namespace, target } = autoscaler;
  if (target !== null && findWorkload(known, { ...target, namespace }) === "missing") {
    return [{
      of,
      level: "error",
      rule: "target-missing",
      path: "spec.target",
      message: describeAbsentTarget({ ...target, namespace }, known),
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
function checkScaled(object: ScaledObject, known: KnownObjects): readonly Relation[] {
  const { namespace, target: { apiVersion, kind: written, name } } = object;
  const kind = toWorkloadKind(written);
  if (kind === null || !apiVersion.startsWith("apps/")) return [];
  const of = toScaledSubject(object);
  const workload = findWorkload(known, { kind, namespace, name });
  if (workload === "missing") {
    const message = describeAbsentTarget({ kind, name, namespace }, known);
    return [{ of, level: "error", rule: "target-missing", path: "spec.scaleTargetRef.name", message }];
  }
  if (typeof workload === "string") return [];
  const { pod } = workload;
  return listResourceTriggers(object).flatMap((trigger): readonly Relation[] => {
    const { index, type, container } = trigger;
    const path = `spec.triggers[${index}]`;
    const whose = `${kind} "${name}"`;
    if (container !== null && !pod.containers.some((one) => one.name === container && one.kind !== "init")) {
      const message = describeContainer(container, { pods: [pod], whose });
      return [{ of, level: "error", rule: "container-missing", path: `${path}.metadata.containerName`, message }];
    }
    // The message is the daemon's.
    const lack = findLack([trigger], [fillSizes(pod, type, known)]);
    const message = `${lack}, and Utilization is a share of it: add one, or set metricType AverageValue`;
    return lack === null ? [] : [{ of, level: "warning", rule: "request-missing", path, message }];
  });
}

function describeAbsentTarget({ kind, name, namespace }: WorkloadRef, known: KnownObjects): string {
  const similar = known[PLURALS[kind]].find((one) => one.namespace === namespace && isOneSlipAway(one.name, name));
  const hint = similar === undefined ? "" : ` (did you mean ${quote(similar.name)}?)`;
  return `there is no ${kind} "${name}" in namespace "${namespace}", and nothing happens until there is: correct the name${hint}, ` +
    "or create it";
}

/** One character is missing, added or another one, or two are swapped. */
function isOneSlipAway(one: string, other: string): boolean {
  const at = [...one].findIndex((character, index) => character !== other[index]);
  const [a, b] = at < 0 ? ["", other.slice(one.length)] : [one.slice(at), other.slice(at)];
  const isSwapped = a[0] === b[1] && a[1] === b[0] && a.slice(2) === b.slice(2);
  return a.slice(1) === b.slice(1) || a.slice(1) === b || a === b.slice(1) || isSwapped;
}

const MAX_SHOWN = 10;

function describeContainer(
  name: string,
  { pods, whose }: { readonly pods: readonly PodFacts[]; readonly whose: string },
): string {
  const names = [
    ...new Set(
      pods.flatMap(listResizableNames),
    ),
  ];
  const shown = names.slice(0, MAX_SHOWN).map(quote).join(", ");
  return `no pod of ${whose} has a container ${quote(name)}, and nothing is resized or measured of it: there is ${
    shown === "" ? "none" : shown
  }`;
}

/** At most one finding for each bound. */
function checkRanges({ known }: CheckContext): readonly Relation[] {
  return listAutoscalers(known).flatMap((autoscaler) =>
    autoscaler.sides.flatMap((side) => checkField(side, { autoscaler, known }))
      .map((said): Relation => ({ ...said, of: toAutoscalerSubject(autoscaler), level: "warning" }))
  );
}

interface AutoscalerInCluster {
  readonly autoscaler: Autoscaler;
  readonly known: KnownObjects;
}

function checkField(side: FieldPolicy, { autoscaler, known }: AutoscalerInCluster): readonly UnratedStatement[] {
  const { namespace } = autoscaler;
  const rules = known.limitranges.filter((range) => range.namespace === namespace)
    .flatMap(({ ranges }) => ranges).filter(({ type }) => type === "Container");
  return (["min", "max"] as const).flatMap((bound): readonly UnratedStatement[] => {
    const amount = side.bounds[bound];
    if (amount === null || isFilledIn(side, { autoscaler, bound })) return [];
    const range = describeRange(rules, { resource: side.resource, bound, amount });
    const node = range === null ? describeNodes(known.nodes, { resource: side.resource, bound, amount }) : null;
    const path = `spec.bounds.${side.key}.${bound}`;
    if (range !== null) return [{ rule: "bounds-limit-range", path, message: range }];
    return node === null ? [] : [{ rule: "bounds-node", path, message: node }];
  });
}

/** A profile has its own minimum size, which no manifest contains. */
function isFilledIn(
  { key, bounds: { min } }: FieldPolicy,
  { autoscaler: { profile }, bound }: { readonly autoscaler: Autoscaler; readonly bound: "min" | "max" },
): boolean {
  return bound === "min" && profile !== null && min === MIN_PROFILE_MILLICORES[key];
}

interface Bound {
  readonly resource: Resource;
  readonly bound: "min" | "max";
  readonly amount: number;
}

function describeRange(rules: readonly LimitRangeRule[], { resource, bound, amount }: Bound): string | null {
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

/** The part of the largest node that pods may request. */
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

/** One finding for each autoscaler, at the first field whose partner is not managed. */
function checkGuaranteed({ known }: CheckContext): readonly Relation[] {
  return listAutoscalers(known).flatMap((autoscaler) => {
    const managed = autoscaler.sides.map(({ key }) => key);
    const alone = managed.find((key) => !managed.includes(counterpartOf(key)));
    if (alone === undefined || !findPods(autoscaler, known).some(isGuaranteed)) return [];
    return [{
      of: toAutoscalerSubject(autoscaler),
      level: "warning",
      rule: "guaranteed-one-side",
      path: `spec.policy.${alone}`,
      message: describeGuaranteed(autoscaler, alone),
    }];
  });
}

function isGuaranteed({ qosClass, podResources, containers }: PodFacts): boolean {
  const sizes = containers.map(({ spec }) => spec);
  return (qosClass ?? computeQosClass({ podResources, containers: sizes })) === "Guaranteed";
}

function describeGuaranteed(autoscaler: Autoscaler, alone: Autoscaler["sides"][number]["key"]): string {
  return `pods of ${describeTarget(autoscaler)} are Guaranteed, and ${alone} is managed without ${
    counterpartOf(alone)
  }: no resize of it is ` +
    `possible, as it would change their QoS class (QoSInvariantBlocked): manage ${
      counterpartOf(alone)
    } too, or give the template a ` +
    "limit above its request";
}

/** One finding for each autoscaler whose target gives podfit's token to other containers than podfit. */
function checkSidecarTokens({ known }: CheckContext): readonly Relation[] {
  return listAutoscalers(known).flatMap((autoscaler) => {
    const { namespace, target } = autoscaler;
    const workload = target === null ? "unknown" : findWorkload(known, { ...target, namespace });
    if (typeof workload === "string" || workload.tokenSharers.length === 0) return [];
    const names = workload.tokenSharers.slice(0, MAX_SHOWN).map(quote).join(", ");
    const message =
      `${describeTarget(autoscaler)} mounts the token of its sidecar into ${names} too, with every right of ` +
      "podfit: set automountServiceAccountToken: false, and mount a projected volume into podfit alone, as " +
      "deploy/sidecar-example.yaml does";
    return [{
      of: toAutoscalerSubject(autoscaler),
      level: "warning",
      rule: "sidecar-token",
      path: "spec.target",
      message,
    }];
  });
}

/** What of a ScaledObject's annotations cannot work next to KEDA. A paused or invalid object counts too. Clauses: M1, M2, M3, M4, M5, M10. */
function checkAdoptions({ known }: CheckContext): readonly Relation[] {
  return known.scaledobjects.flatMap((object) => {
    const of = toScaledSubject(object);
    const faults = isSelected({ metadata: { annotations: object.given } })
      ? [...listSelectedFaults(object), ...listRecordFaults(object)]
      : listUnselectedFaults(object.given);
    return [...listNameFaults(object.given), ...faults].map(([path, message]): Relation => ({
      of,
      level: "warning",
      rule: "adoption",
      path,
      message,
    }));
  });
}

type Fault = readonly [path: string, message: string];

const toPath = (key: string) => `metadata.annotations.${key}`;

const PAUSES = ["paused", "paused-replicas", "paused-scale-in", "paused-scale-out"] as const;

/** Those that only a selected object can have. */
const SELECTED_ONLY = [KEDA_METRICS, MEASURED_BY, ...PAUSES.map((name) => `podfit.dev/${name}`)];

/** A misspelt name is as if it were not there. */
function listNameFaults(given: Given): readonly Fault[] {
  const known = [SELECTED, ...SELECTED_ONLY];
  return Object.keys(given).filter((key) => key.startsWith("podfit.dev/") && !known.includes(key)).map((key) => [
    toPath(key),
    `podfit does not know this annotation of a ScaledObject: write one of ${known.join(", ")}`,
  ]);
}

type Given = AnnotatedScaledObject["given"];

function listUnselectedFaults(given: Given): readonly Fault[] {
  const value = given[SELECTED];
  if (typeof value === "string" && value !== "false") {
    return [[toPath(SELECTED), `${quote(value)} does not select the object for podfit: write "true"`]];
  }
  return SELECTED_ONLY.filter((key) => Object.hasOwn(given, key)).map((key) => [
    toPath(key),
    `it has no effect, because the object is not selected: add ${SELECTED}: "true"` +
    (key === KEDA_METRICS || key === MEASURED_BY
      ? ", or remove it"
      : `, or write ${toKedas(key)} where KEDA does not run`),
  ]);
}

function toKedas(key: string): string {
  return key.replace("podfit.dev/", "autoscaling.keda.sh/");
}

function listSelectedFaults({ given, name, namespace, adoption }: AnnotatedScaledObject): readonly Fault[] {
  const [, ...pauses] = PAUSES.map((one) => `podfit.dev/${one}`);
  const kedas = pauses.filter((key) => isSwitchedOn(given, toKedas(key))).map((key): Fault => [
    toPath(toKedas(key)),
    toKedas(key).endsWith("replicas")
      ? `KEDA sets the replicas to this number, and podfit sets none: write ${key}`
      : `it is for KEDA, and podfit does not follow it: write ${key}`,
  ]);
  const by = given[MEASURED_BY] ?? null;
  const isPausedByNumber = Object.hasOwn(given, "autoscaling.keda.sh/paused-replicas");
  return [
    ...kedas,
    ...(by === null || by === "podfit" || by === "keda"
      ? []
      : [[toPath(MEASURED_BY), `${quote(by)} has no effect: write podfit or keda`] as const]),
    ...(adoption === null || adoption.isKedaPaused || isPausedByNumber ? [] : [
      [
        toPath(SELECTED),
        `KEDA sets the replicas, and podfit sets none, until the object is paused for KEDA: run ` +
        `\`podfit adopt so/${name} -n ${namespace}\`, and add ${KEDA_PAUSED}: "true" to its file`,
      ] as const,
    ]),
  ];
}

/** As KEDA reads them: any text that does not mean false. A number of replicas always counts. */
function isSwitchedOn(given: Given, key: string): boolean {
  if (!Object.hasOwn(given, key)) return false;
  return key.endsWith("replicas") || parseGoBoolean(String(given[key])) !== false;
}

/** A file has no record, because podfit writes it to the cluster, where it also needs KEDA's HPA. */
function listRecordFaults({ uid, name, namespace, adoption, scaledObject }: AnnotatedScaledObject): readonly Fault[] {
  if (adoption === null) return [];
  const run = (verb: string) => `\`podfit ${verb} so/${name} -n ${namespace}\``;
  const { problem, isStale, lacksRecord, isKedaPaused } = adoption;
  if (problem !== null) return [[toPath(KEDA_METRICS), `${problem}: run ${run("adopt")} again`]];
  if (isStale) {
    const message = `it was made for other triggers, so replicas may grow and do not fall: run ${run("adopt")} again`;
    return [[toPath(KEDA_METRICS), message]];
  }
  if (lacksRecord) {
    const message = "podfit does not know what KEDA asks of the triggers, and sets no replicas: run " +
      `${run("release")}, then ${run("adopt")}`;
    return uid !== "" && isKedaPaused ? [["metadata.annotations", message]] : [];
  }
  return (scaledObject?.triggers ?? []).flatMap((trigger): readonly Fault[] => {
    if (trigger.kind !== "external" || trigger.source.kind !== "keda" || trigger.source.problem === null) return [];
    const path = trigger.type === "composite" ? "spec.advanced.scalingModifiers" : `spec.triggers[${trigger.index}]`;
    return [[path, trigger.source.problem]];
  });
}

const CHECKS: readonly ((look: CheckContext) => readonly Relation[])[] = [
  checkTargets,
  checkOwners,
  checkGuaranteed,
  checkRivals,
  checkCoupling,
  checkGrowth,
  checkRanges,
  checkSidecarTokens,
  checkAdoptions,
];

/** Returns the findings about the subjects. */
export function checkTogether(look: CheckContext, secrets: Secrets = new Map()): readonly Relation[] {
  const found = [...CHECKS.flatMap((check) => check(look)), ...checkAuthentications(look.known, secrets)];
  return found.filter(({ of }) => look.isSubject(of));
}
