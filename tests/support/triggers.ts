/** External triggers and the ScaledObject that has them, each with a few fields of a test's own. */
import type {
  Annotations,
  ExternalTrigger,
  MetricsApiSource,
  PrometheusSource,
  ScaledObject,
  Trigger,
} from "../../lib/model/scaled_object.ts";
import { VIRTUAL_START_AT } from "./virtual_clock.ts";

export const NO_ANNOTATIONS: Annotations = {
  isPaused: false,
  pausedReplicas: null,
  isScaleInPaused: false,
  isScaleOutPaused: false,
  isForcedActive: false,
  transfersHpa: false,
  ignoresHpas: false,
};

export function prometheusSource(own: Partial<PrometheusSource> = {}): PrometheusSource {
  return {
    kind: "prometheus",
    serverAddress: "http://prometheus:9090",
    query: "sum(rate(http_requests_total[2m]))",
    namespace: null,
    queryParameters: [],
    customHeaders: [],
    ignoresNullValues: true,
    hasNullRule: false,
    authModes: null,
    isTlsUnverified: false,
    timeoutMs: 3000,
    ...own,
  };
}

export function apiSource(own: Partial<MetricsApiSource> = {}): MetricsApiSource {
  return {
    kind: "metrics-api",
    url: "http://api:8080/stats",
    valueLocation: "queue.length",
    format: "json",
    method: null,
    keyParamName: null,
    apiKey: null,
    aggregation: null,
    authModes: null,
    isTlsUnverified: false,
    timeoutMs: 3000,
    ...own,
  };
}

/** By default the first trigger, with target 1 and without authentication. */
export function externalTrigger<Source extends ExternalTrigger["source"]>(
  source: Source,
  own: Partial<Omit<ExternalTrigger, "source" | "kind" | "type">> = {},
): ExternalTrigger & { readonly source: Source } {
  const index = own.index ?? 0;
  return {
    kind: "external",
    type: source.kind,
    index,
    name: null,
    metricName: `s${index}-${source.kind}`,
    metricType: "AverageValue",
    targetMilli: 1000n,
    activation: 0,
    isCached: false,
    isServedByKeda: false,
    authentication: null,
    ...own,
    source,
  };
}

/** A Deployment of 0 to 100 replicas, with KEDA's defaults. */
export function scaledObjectWith(triggers: readonly Trigger[], own: Partial<ScaledObject> = {}): ScaledObject {
  return {
    uid: "uid-1",
    namespace: "shop",
    name: "web",
    generation: 1,
    createdAt: VIRTUAL_START_AT,
    target: { apiVersion: "apps/v1", kind: "Deployment", name: "web", envContainer: null },
    pollIntervalMs: 30_000,
    cooldownMs: 300_000,
    initialCooldownMs: 0,
    minReplicas: 0,
    maxReplicas: 100,
    idleReplicas: null,
    fallback: null,
    restoresReplicas: false,
    hpaName: null,
    behavior: null,
    formula: null,
    triggers,
    annotations: NO_ANNOTATIONS,
    ...own,
  };
}
