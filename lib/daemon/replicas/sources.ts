/** What is watched where replicas are set: ScaledObjects, the authentications of their triggers, and the HPAs beside them. */
import type { HorizontalPodAutoscaler } from "../../api/kubernetes.ts";
import type { OperatorLimits } from "../../autoscaler/operator_limits.ts";
import type { AuthenticationFacts } from "../../scaled_object/authentication.ts";
import { parseAuthentication } from "../../scaled_object/parse_authentication.ts";
import { parseScaledObject } from "../../scaled_object/parse_scaled_object.ts";
import type { ScaledObjectFacts } from "../../scaled_object/scaled_object.ts";
import { readNamespace, type Source } from "../inventory/source.ts";
import { limitPolling } from "./limit_polling.ts";
import type { Objects } from "./objects.ts";
import { type HpaFacts, readHpa } from "./read_hpa.ts";

const KEDA = "/apis/keda.sh/v1alpha1";

/** `prefixes` of namespaced lists; those that an object is judged by come before it. */
export function listReplicaSources(
  objects: Objects,
  { prefixes, limits }: { readonly prefixes: readonly string[]; readonly limits: OperatorLimits },
): readonly Source<unknown>[] {
  return [
    authenticationSource(objects, { kind: "ClusterTriggerAuthentication", prefix: "" }),
    ...prefixes.flatMap((prefix) => [
      authenticationSource(objects, { kind: "TriggerAuthentication", prefix }),
      hpaSource(objects, prefix),
      objectSource(objects, { prefix, limits }),
    ]),
  ] as readonly Source<unknown>[];
}

function objectSource(
  objects: Objects,
  { prefix, limits }: { readonly prefix: string; readonly limits: OperatorLimits },
): Source<ScaledObjectFacts> {
  const namespace = readNamespace(prefix);
  return {
    resource: "scaledobjects",
    namespace,
    path: `${KEDA}${prefix}/scaledobjects`,
    fieldSelector: null,
    project: (object) => limitPolling(parseScaledObject(object), limits),
    replaceAll: (all) => objects.replaceObjects(namespace, all),
    set: (one) => objects.setObject(one),
    remove: (one) => objects.removeObject(one),
  };
}

function hpaSource(objects: Objects, prefix: string): Source<HpaFacts> {
  const namespace = readNamespace(prefix);
  return {
    resource: "horizontalpodautoscalers",
    namespace,
    path: `/apis/autoscaling/v2${prefix}/horizontalpodautoscalers`,
    fieldSelector: null,
    project: (object) => readHpa(object as HorizontalPodAutoscaler),
    replaceAll: (all) => objects.replaceHpas(namespace, all),
    set: (one) => objects.setHpa(one),
    remove: (one) => objects.removeHpa(one),
  };
}

/** Those of the cluster may be forbidden: then there are none to use (a Role gives no right to them). */
function authenticationSource(
  objects: Objects,
  { kind, prefix }: { readonly kind: AuthenticationFacts["kind"]; readonly prefix: string },
): Source<AuthenticationFacts> {
  const namespace = readNamespace(prefix);
  const resource = kind === "TriggerAuthentication" ? "triggerauthentications" : "clustertriggerauthentications";
  return {
    resource,
    namespace,
    path: `${KEDA}${prefix}/${resource}`,
    fieldSelector: null,
    project: (object) => ({ ...parseAuthentication(object), kind }),
    replaceAll: (all) => objects.replaceAuthentications({ kind, namespace }, all),
    set: (one) => objects.setAuthentication(one),
    remove: (one) => objects.removeAuthentication(one),
    ...(kind === "ClusterTriggerAuthentication" && { isOptional: true }),
  };
}
