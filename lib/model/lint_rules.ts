/**
 * What can `podfit lint` report, and under which names?
 *
 * A name stays the same if the words of its messages change. docs/reference/lint-rules.md is generated from this table.
 */
import type { Problem } from "../units/untrusted.ts";

interface RuleInfo {
  readonly level: "error" | "warning" | "advice";
  readonly meaning: string;
  /** Only `podfit lint --cluster` can find it. */
  readonly needsCluster?: true;
}

export const LINT_RULES = {
  "invalid": { level: "error", meaning: "The spec is invalid. The condition `Ready` reports the same." },
  "unreadable": { level: "error", meaning: "The file is not YAML that kubectl reads, or it is a Helm template." },
  "duplicate-field": { level: "error", meaning: "A field is given twice, and kubectl drops one of them." },
  "target-missing": { level: "error", meaning: "The target does not exist in the cluster.", needsCluster: true },
  "container-missing": { level: "error", meaning: "The pods of the target do not have the container." },
  "authentication-missing": {
    level: "error",
    meaning: "The object that `authenticationRef` names does not exist.",
    needsCluster: true,
  },
  "secret-missing": {
    level: "error",
    meaning: "A secret of an authentication does not exist, or it lacks the key.",
    needsCluster: true,
  },
  "crd-missing": { level: "error", meaning: "The cluster does not have the CRD.", needsCluster: true },
  "authentication-refused": {
    level: "warning",
    meaning:
      "The authentication does not allow this namespace or host, or the host uses plain HTTP. podfit refuses it " +
      "unless its flags allow it.",
  },
  "duplicate-name": { level: "warning", meaning: "Two objects in the files have the same kind and name." },
  "two-owners": { level: "warning", meaning: "Two autoscalers manage the same container." },
  "guaranteed-one-side": {
    level: "warning",
    meaning: "Pods are Guaranteed, and only the request or only the limit is managed. No resize is possible.",
  },
  "hpa-same-resource": {
    level: "warning",
    meaning: "A HorizontalPodAutoscaler scales by utilization of requests that this autoscaler changes.",
  },
  "vpa-same-resource": { level: "warning", meaning: "A VerticalPodAutoscaler sets the same requests." },
  "replicas-owned": {
    level: "warning",
    meaning: "A HorizontalPodAutoscaler or an older ScaledObject has the same target.",
  },
  "request-missing": {
    level: "warning",
    meaning: "A cpu or memory trigger with `Utilization`, and a container of the target has no such request.",
  },
  "adoption": {
    level: "warning",
    meaning: "Annotations, or the adoption record, do not make podfit scale the object next to KEDA as they should.",
  },
  "replicas-fight": {
    level: "warning",
    meaning: "A trigger has `baseline: live` on requests that an autoscaler changes.",
  },
  "no-maximum": {
    level: "warning",
    meaning:
      "A cpu or memory trigger uses requests that an autoscaler changes without a maximum. Pods are added before they " +
      "grow.",
  },
  "sidecar-token": {
    level: "warning",
    meaning: "Other containers of the pod get the token of podfit's sidecar, and its rights.",
  },
  "bounds-limit-range": { level: "warning", meaning: "Bounds are outside of a LimitRange of the namespace." },
  "bounds-node": { level: "warning", meaning: "Bounds are above what any node has.", needsCluster: true },
  "selector-empty": { level: "warning", meaning: "The selector matches no pod.", needsCluster: true },
  "target-outside": { level: "warning", meaning: "A target utilization is outside of its thresholds." },
  "limit-holds-request": {
    level: "warning",
    meaning: "A limit aims so low that the request cannot get below its threshold. That prevents scale-downs.",
  },
  "shrinks-at-start": { level: "warning", meaning: "A memory limit can shrink while the app still starts." },
  "bounds-unmanaged": { level: "warning", meaning: "Bounds for a resource field that the policy does not manage." },
  "no-effect": { level: "warning", meaning: "A field has no effect." },
  "slow-up": { level: "advice", meaning: "The cooldown delays scale-ups for a long time." },
  "fast-poll": {
    level: "advice",
    meaning: "`pollInterval` is below 5s, but a kubelet takes a sample every 10s or more.",
  },
  "short-memory": {
    level: "advice",
    meaning: "A memory limit inherits a window that is shorter than the 24h of each profile.",
  },
  "narrow-band": { level: "advice", meaning: "A threshold is within 5 % of the target." },
  "swings": { level: "advice", meaning: "A scale-up ends where a scale-down begins." },
  "no-room": { level: "advice", meaning: "The bounds leave no range for a resize." },
  "few-replicas": {
    level: "advice",
    meaning: "Pods may grow to more than four times their initial request before replicas are added.",
  },
} as const satisfies Readonly<Record<string, RuleInfo>>;

export type LintRule = keyof typeof LINT_RULES;

/** A finding that does not make the object invalid. */
export interface NamedWarning extends Problem {
  readonly rule: LintRule;
}
