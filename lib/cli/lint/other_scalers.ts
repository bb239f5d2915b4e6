/**
 * Who else sizes a workload: HorizontalPodAutoscalers and VerticalPodAutoscalers, by the resources that they go by.
 * https://github.com/kubernetes/autoscaler/blob/master/vertical-pod-autoscaler/docs/api.md
 */
import type { HorizontalPodAutoscaler } from "../../api/kubernetes.ts";
import { type HpaFacts, readGroup, readHpa, type TargetRef } from "../../daemon/replicas/read_hpa.ts";
import type { Resource } from "../../units/resources.ts";
import { isRecord } from "../../units/untrusted.ts";

/** One of them. */
export interface OtherScaler {
  readonly namespace: string;
  readonly name: string;
  readonly target: TargetRef;
  /** What it says of a container: `*` for all that it does not name. */
  readonly rules: readonly ScalerRule[];
  /** As the daemon reads it; `null` for another kind. */
  readonly hpa: HpaFacts | null;
}

export interface ScalerRule {
  readonly container: string;
  /** Whose requests it goes by, or sets. */
  readonly resources: readonly Resource[];
}

const EVERY = "*";

/**
 * Only `Utilization` goes by requests: an average amount does not move with them. Throws for an object that no API server gives.
 */
export function readHpaScaler(object: HorizontalPodAutoscaler): OtherScaler {
  const hpa = readHpa(object);
  const { kind, name }: { readonly kind: unknown; readonly name: unknown } = hpa.target;
  if (typeof kind !== "string" || typeof name !== "string") {
    throw new TypeError("Cannot read an HPA whose target has no name");
  }
  const metrics = listOf(object.spec, "metrics");
  const rules = metrics.flatMap((metric): readonly ScalerRule[] => {
    const source = recordOf(metric, metric["type"] === "Resource" ? "resource" : "containerResource");
    const target = recordOf(source, "target");
    if (target["type"] !== "Utilization" || !isResource(source["name"])) return [];
    const container = typeof source["container"] === "string" ? source["container"] : EVERY;
    return [{ container, resources: [source["name"]] }];
  });
  return { namespace: hpa.namespace || "default", name: hpa.name, target: hpa.target, rules, hpa };
}

/** One with updateMode Off only recommends. Never throws. */
export function readVpa(object: unknown): OtherScaler {
  const metadata = recordOf(object, "metadata");
  const spec = recordOf(object, "spec");
  const target = recordOf(spec, "targetRef");
  const policies = listOf(recordOf(spec, "resourcePolicy"), "containerPolicies");
  const isOff = recordOf(spec, "updatePolicy")["updateMode"] === "Off";
  const given = policies.map((policy) => ({
    container: textOf(policy, "containerName", EVERY),
    resources: policy["mode"] === "Off" ? [] : readControlled(policy),
  }));
  const rules = given.some(({ container }) => container === EVERY)
    ? given
    : [...given, { container: EVERY, resources: BOTH }];
  return {
    namespace: textOf(metadata, "namespace", "default"),
    name: textOf(metadata, "name", ""),
    target: {
      group: readGroup(textOf(target, "apiVersion", "")),
      kind: textOf(target, "kind", ""),
      name: textOf(target, "name", ""),
    },
    rules: isOff ? [] : rules,
    hpa: null,
  };
}

/** What it says of a container: its own rule goes before that of all others. */
export function listScaled({ rules, hpa }: OtherScaler, container: string): readonly Resource[] {
  const own = rules.filter((rule) => rule.container === container);
  const every = rules.filter((rule) => rule.container === EVERY);
  const counted = hpa === null && own.length > 0 ? own : [...own, ...every];
  return [...new Set(counted.flatMap(({ resources }) => resources))];
}

const BOTH: readonly Resource[] = ["cpu", "memory"];

function readControlled(policy: Fields): readonly Resource[] {
  const given = policy["controlledResources"];
  return Array.isArray(given) ? given.filter(isResource) : BOTH;
}

type Fields = Readonly<Record<string, unknown>>;

function isResource(value: unknown): value is Resource {
  return value === "cpu" || value === "memory";
}

function recordOf(object: unknown, key: string): Fields {
  const value = isRecord(object) ? object[key] : null;
  return isRecord(value) ? value : {};
}

function listOf(object: unknown, key: string): readonly Fields[] {
  const value = isRecord(object) ? object[key] : null;
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

function textOf(object: Fields, key: string, fallback: string): string {
  const value = object[key];
  return typeof value === "string" ? value : fallback;
}
