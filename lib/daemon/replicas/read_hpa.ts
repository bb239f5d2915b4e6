/** From the API's HorizontalPodAutoscaler to HpaFacts, at the edge: whose replicas it sets, and who made it. */
import type { HorizontalPodAutoscaler } from "../../api/kubernetes.ts";

/** An HPA, as far as it stands in the way of a ScaledObject (R75 to R78). */
export interface HpaFacts {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly resourceVersion: string;
  readonly target: TargetRef;
  /** UIDs of its owners: a ScaledObject's where KEDA made it. */
  readonly owners: readonly string[];
  /** Annotated `validations.keda.sh/hpa-ownership: "false"` (R77). */
  readonly isUnchecked: boolean;
  readonly minReplicas: number;
  readonly maxReplicas: number;
  /** status.desiredReplicas; `null` before it has one. */
  readonly desiredReplicas: number | null;
}

/** What a target goes by: versions of one group are one kind. */
export interface TargetRef {
  readonly group: string;
  readonly kind: string;
  readonly name: string;
}

const OWNERSHIP = "validations.keda.sh/hpa-ownership";

/** Never throws. */
export function readHpa({ metadata = {}, spec, status }: HorizontalPodAutoscaler): HpaFacts {
  const { apiVersion, kind = "", name = "" } = spec?.scaleTargetRef ?? {};
  return {
    uid: metadata.uid ?? "",
    namespace: metadata.namespace ?? "",
    name: metadata.name ?? "",
    resourceVersion: metadata.resourceVersion ?? "",
    target: { group: readGroup(apiVersion ?? ""), kind, name },
    owners: (metadata.ownerReferences ?? []).map(({ uid }) => uid),
    isUnchecked: metadata.annotations?.[OWNERSHIP] === "false",
    minReplicas: spec?.minReplicas ?? 1,
    maxReplicas: spec?.maxReplicas ?? 1,
    desiredReplicas: status?.desiredReplicas ?? null,
  };
}

/** `apps` of `apps/v1`; empty of `v1`. */
export function readGroup(apiVersion: string): string {
  const slash = apiVersion.indexOf("/");
  return slash < 0 ? "" : apiVersion.slice(0, slash);
}

/** The same of two references that mean the same target, within a namespace. */
export function toTargetKey({ group, kind, name }: TargetRef): string {
  return `${group}/${kind}/${name}`;
}
