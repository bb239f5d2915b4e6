/**
 * Parses nodes, workloads, PodResourceAutoscalers and HorizontalPodAutoscalers of the API into the facts that the cache
 * keeps. It never throws: a field that cannot be parsed counts as absent, or becomes a problem of the object.
 */
import type { PodResourceAutoscaler } from "../../api/autoscaler.ts";
import type { Deployment, HorizontalPodAutoscaler, Node } from "../../api/kubernetes.ts";
import type { WorkloadKind } from "../../model/autoscaler.ts";
import type { NodeCapacity } from "../../model/decision.ts";
import {
  applyOperatorLimits,
  findExclusion,
  NO_OPERATOR_LIMITS,
  type OperatorLimits,
  parseAutoscaler,
} from "../../resources/pod_resource_autoscaler/parse.ts";
import type { HpaMetric } from "../../resources/scaled_object/adoption.ts";
import { parseAmount } from "../../units/quantity.ts";
import { parseSelector } from "../../units/selector.ts";
import { isTooLong } from "../../units/untrusted.ts";
import type { AutoscalerFacts, NodeFacts, WorkloadFacts } from "./facts.ts";

/** Returns the facts of a PodResourceAutoscaler; an invalid spec becomes problems of it. Never throws. */
export function parseAutoscalerFacts(
  object: PodResourceAutoscaler,
  limits: OperatorLimits = NO_OPERATOR_LIMITS,
): AutoscalerFacts {
  const { uid = "", namespace = "", name = "", resourceVersion = "", generation = 0 } = object.metadata ?? {};
  const exclusion = findExclusion(namespace, limits);
  const parsed = exclusion === null ? parseAutoscaler(object) : { ok: false, problems: [exclusion] } as const;
  const limited = parsed.ok ? applyOperatorLimits(parsed.autoscaler, limits) : null;
  return {
    uid,
    namespace,
    name,
    resourceVersion,
    generation,
    autoscaler: limited?.autoscaler ?? null,
    problems: parsed.ok ? [] : parsed.problems,
    warnings: parsed.ok ? [...parsed.warnings, ...limited?.warnings ?? []] : [],
    status: object.status ?? {},
  };
}

/**
 * Returns the facts of a Deployment, StatefulSet or DaemonSet; all three have these fields in the same place. Never
 * throws.
 */
export function parseWorkload({ metadata, spec, status }: Deployment, kind: WorkloadKind): WorkloadFacts {
  const { namespace = "", name = "", uid = "", resourceVersion = "" } = metadata ?? {};
  const replicas = kind === "daemonset" ? undefined : spec?.replicas;
  const parsed = parseSelector(spec?.selector, "spec.selector");
  return {
    kind,
    namespace,
    name,
    selector: parsed.ok ? parsed.selector : null,
    problems: parsed.ok ? [] : parsed.problems,
    // As its subresource scale shows it: Go omits a zero in the status.
    ...(typeof replicas === "number" && {
      scale: { uid, resourceVersion, replicas, statusReplicas: status?.replicas ?? 0 },
    }),
  };
}

const KUBELET_PORT = 10250;

/** Returns the facts of a node; a field that cannot be parsed is `null`. Never throws. */
export function parseNode({ metadata, status }: Node): NodeFacts {
  return {
    name: metadata?.name ?? "",
    addresses: (status?.addresses ?? []).map(({ type, address }) => ({ type, address })),
    port: status?.daemonEndpoints?.kubeletEndpoint?.Port || KUBELET_PORT,
    maxPods: parseCount(status?.capacity?.["pods"]),
    capacity: parseCapacity(status?.capacity),
    allocatable: parseCapacity(status?.allocatable),
    kubeletVersion: status?.nodeInfo?.kubeletVersion ?? null,
    memoryPressure: status?.conditions?.some((one) => one.type === "MemoryPressure" && one.status === "True") ?? false,
  };
}

function parseCapacity(amounts: Readonly<Record<string, unknown>> = {}): NodeCapacity {
  return {
    cpuMillicores: parsePositiveAmount(amounts["cpu"], "cpu"),
    memoryBytes: parsePositiveAmount(amounts["memory"], "memory"),
  };
}

function parseCount(quantity: unknown): number | null {
  const parsed = parseAmount(quantity, "memory");
  return parsed.ok && parsed.amount > 0 ? parsed.amount : null;
}

function parsePositiveAmount(quantity: unknown, resource: "cpu" | "memory"): number | null {
  const parsed = parseAmount(quantity, resource);
  return parsed.ok && parsed.amount > 0 ? parsed.amount : null;
}

/** The parts of an HPA that can block a ScaledObject. */
export interface HpaFacts {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly resourceVersion: string;
  readonly target: TargetRef;
  /** UIDs of its owners. If KEDA created it, the owner is a ScaledObject. */
  readonly owners: readonly string[];
  /** Annotated `validations.keda.sh/hpa-ownership: "false"`. */
  readonly isCheckDisabled: boolean;
  readonly minReplicas: number;
  readonly maxReplicas: number;
  /** status.desiredReplicas; `null` before it is set. */
  readonly desiredReplicas: number | null;
  /** The external metrics of an HPA that has an owner. */
  readonly metrics: readonly HpaMetric[];
}

/** Identifies a target. The API version does not count: all versions of one group are the same kind. */
export interface TargetRef {
  readonly group: string;
  readonly kind: string;
  readonly name: string;
}

const HPA_OWNERSHIP = "validations.keda.sh/hpa-ownership";

/**
 * Never throws. The API server does not limit the texts of an HPA, and they would be kept. A text that is longer than any
 * name is left out: nothing has that name.
 */
export function parseHpa({ metadata = {}, spec, status }: HorizontalPodAutoscaler): HpaFacts {
  return {
    uid: metadata.uid ?? "",
    namespace: metadata.namespace ?? "",
    name: metadata.name ?? "",
    resourceVersion: metadata.resourceVersion ?? "",
    target: parseTarget(spec?.scaleTargetRef ?? {}),
    owners: (metadata.ownerReferences ?? []).slice(0, MAX_HPA_OWNERS).map(({ uid }) => uid)
      .filter((uid) => !isTooLong(uid)),
    isCheckDisabled: metadata.annotations?.[HPA_OWNERSHIP] === "false",
    minReplicas: spec?.minReplicas ?? 1,
    maxReplicas: spec?.maxReplicas ?? 1,
    desiredReplicas: status?.desiredReplicas ?? null,
    metrics: metadata.ownerReferences === undefined ? [] : listExternalMetrics(spec?.metrics ?? []),
  };
}

/** A real one has one owner. */
const MAX_HPA_OWNERS = 16;

const NO_TARGET: TargetRef = { group: "", kind: "", name: "" };

function parseTarget({ apiVersion = "", kind = "", name = "" }: ScaleTargetRef): TargetRef {
  return [apiVersion, kind, name].some(isTooLong) ? NO_TARGET : { group: toGroup(apiVersion), kind, name };
}

type ScaleTargetRef = Partial<NonNullable<HorizontalPodAutoscaler["spec"]>["scaleTargetRef"]>;

/** More than a ScaledObject may have triggers. */
const MAX_HPA_METRICS = 64;

function listExternalMetrics(
  metrics: NonNullable<NonNullable<HorizontalPodAutoscaler["spec"]>["metrics"]>,
): readonly HpaMetric[] {
  return metrics.slice(0, MAX_HPA_METRICS).flatMap(({ external }) => {
    if (external === undefined) return [];
    const { metric: { name }, target: { type, averageValue, value } } = external;
    const metric = { name, type, target: String(averageValue ?? value ?? "") };
    return typeof name !== "string" || Object.values(metric).some(isTooLong) ? [] : [metric];
  });
}

/** Returns the group of an apiVersion: `apps` for `apps/v1`, empty for `v1`. */
export function toGroup(apiVersion: string): string {
  const slash = apiVersion.indexOf("/");
  return slash < 0 ? "" : apiVersion.slice(0, slash);
}

/** Returns a key that is equal for two references to the same target in one namespace. */
export function toTargetKey({ group, kind, name }: TargetRef): string {
  return `${group}/${kind}/${name}`;
}
