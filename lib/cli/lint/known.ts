/**
 * The objects that are held against each other, read by the daemon's own parsers: those of the files, and with `--cluster` those that
 * the API server has.
 */
import type { PodResourceAutoscaler } from "../../api/autoscaler.ts";
import type { HorizontalPodAutoscaler, Node, Pod } from "../../api/kubernetes.ts";
import type { AutoscalerFacts, NodeFacts } from "../../daemon/inventory/facts.ts";
import type { NamespaceRule } from "../../daemon/inventory/namespaces.ts";
import { readAutoscaler } from "../../daemon/inventory/read_autoscaler.ts";
import { type LimitRange, readLimitRange } from "../../daemon/inventory/read_limits.ts";
import { readNode } from "../../daemon/inventory/read_node.ts";
import { readPod } from "../../daemon/inventory/read_pod.ts";
import type { PodFacts } from "../../core/pod/pod_facts.ts";
import type { AuthenticationFacts } from "../../scaled_object/authentication.ts";
import { parseAuthentication } from "../../scaled_object/parse_authentication.ts";
import { parseScaledObject } from "../../scaled_object/parse_scaled_object.ts";
import type { ScaledObjectFacts } from "../../scaled_object/scaled_object.ts";
import { type OtherScaler, readHpaScaler, readVpa } from "./other_scalers.ts";
import { readTemplated, type Templated } from "./templated.ts";

/** What is kept of one object, by the plural of its kind. */
export interface Contents {
  readonly podresourceautoscalers: AutoscalerFacts;
  readonly scaledobjects: ScaledObjectFacts;
  readonly triggerauthentications: AuthenticationFacts;
  readonly clustertriggerauthentications: AuthenticationFacts;
  readonly deployments: Templated;
  readonly statefulsets: Templated;
  readonly daemonsets: Templated;
  readonly pods: PodFacts;
  readonly horizontalpodautoscalers: OtherScaler;
  readonly verticalpodautoscalers: OtherScaler;
  readonly limitranges: NamespaceRule;
  readonly nodes: NodeFacts;
}

export type Plural = keyof Contents;

/** The objects that are known. */
export type Objects = { readonly [K in Plural]: readonly Contents[K][] };

/** They, and of which kinds there are no others: files never say that. */
export interface Known extends Objects {
  readonly listed: ReadonlySet<Plural>;
}

/** How a kind is listed and read. */
interface Kind<T> {
  readonly kind: string;
  /** `/apis/GROUP/VERSION`. */
  readonly root: string;
  readonly isNamespaced: boolean;
  /** May throw for an object of a shape that no API server gives. */
  readonly read: (object: unknown) => T;
}

const KEDA = "/apis/keda.sh/v1alpha1";

export const KINDS: { readonly [K in Plural]: Kind<Contents[K]> } = {
  podresourceautoscalers: of(
    "PodResourceAutoscaler",
    "/apis/keda.kedify.io/v1alpha1",
    (object) => readAutoscaler(object as PodResourceAutoscaler),
  ),
  scaledobjects: of("ScaledObject", KEDA, parseScaledObject),
  triggerauthentications: of("TriggerAuthentication", KEDA, (object) => parseAuthentication(object)),
  clustertriggerauthentications: {
    ...of("ClusterTriggerAuthentication", KEDA, (object) => parseAuthentication(object)),
    isNamespaced: false,
  },
  deployments: of("Deployment", "/apis/apps/v1", (object) => readTemplated(object, "deployment")),
  statefulsets: of("StatefulSet", "/apis/apps/v1", (object) => readTemplated(object, "statefulset")),
  daemonsets: of("DaemonSet", "/apis/apps/v1", (object) => readTemplated(object, "daemonset")),
  pods: of("Pod", "/api/v1", (object) => readPod(object as Pod)),
  horizontalpodautoscalers: of(
    "HorizontalPodAutoscaler",
    "/apis/autoscaling/v2",
    (object) => readHpaScaler(object as HorizontalPodAutoscaler),
  ),
  verticalpodautoscalers: of("VerticalPodAutoscaler", "/apis/autoscaling.k8s.io/v1", readVpa),
  limitranges: of("LimitRange", "/api/v1", (object) => readLimitRange(object as LimitRange)),
  nodes: { ...of("Node", "/api/v1", (object) => readNode(object as Node)), isNamespaced: false },
};

export const PLURALS = Object.keys(KINDS) as readonly Plural[];

function of<T>(kind: string, root: string, read: (object: unknown) => T): Kind<T> {
  return { kind, root, isNamespaced: true, read };
}

/** None of any kind. */
export const NOTHING: Objects = {
  podresourceautoscalers: [],
  scaledobjects: [],
  triggerauthentications: [],
  clustertriggerauthentications: [],
  deployments: [],
  statefulsets: [],
  daemonsets: [],
  pods: [],
  horizontalpodautoscalers: [],
  verticalpodautoscalers: [],
  limitranges: [],
  nodes: [],
};

/** Those of `over` in the place of those of the same name, and all others. */
export function lay(under: Known, over: Objects): Known {
  const laid: Record<string, readonly Named[]> = {};
  for (const plural of PLURALS) {
    const names = new Set(over[plural].map(toName));
    laid[plural] = [...(under[plural] as readonly Named[]).filter((one) => !names.has(toName(one))), ...over[plural]];
  }
  return { ...laid as unknown as Objects, listed: under.listed };
}

/** What objects of every kind have. */
export interface Named {
  readonly namespace?: string | null;
  readonly name: string;
}

/** The same of two objects of one kind that cannot both be there. */
export function toName({ namespace, name }: Named): string {
  return `${namespace ?? ""}/${name}`;
}
