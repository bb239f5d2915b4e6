/**
 * The objects that lint compares with each other, from files and from the cluster, parsed in the same way.
 *
 * Autoscalers, ScaledObjects, workloads, pods, HPAs, VPAs, limit ranges and nodes.
 */
import type { PodResourceAutoscaler } from "../../api/autoscaler.ts";
import type { Deployment, HorizontalPodAutoscaler, Node, Pod } from "../../api/kubernetes.ts";
import { type LimitRange, type NamespaceRule, parseLimitRange } from "../../daemon/cluster/capacity.ts";
import type { AutoscalerFacts, NodeFacts, WorkloadFacts } from "../../daemon/cluster/facts.ts";
import {
  type HpaFacts,
  parseAutoscalerFacts,
  parseHpa,
  parseNode,
  parseWorkload,
  type TargetRef,
  toGroup,
} from "../../daemon/cluster/parse_objects.ts";
import { parsePod } from "../../daemon/cluster/parse_pod.ts";
import type { WorkloadKind } from "../../model/autoscaler.ts";
import { isOfSidecar } from "../../model/ownership.ts";
import type { PodFacts } from "../../model/pod.ts";
import type { ScaledObjectFacts } from "../../model/scaled_object.ts";
import { parseScaledObject } from "../../resources/scaled_object/scaled_object.ts";
import {
  type AuthenticationFacts,
  parseAuthentication,
} from "../../resources/trigger_authentication/trigger_authentication.ts";
import type { Resource, Resources } from "../../units/resources.ts";
import { isRecord } from "../../units/untrusted.ts";
import type { Manifest } from "../manifests/files.ts";
import type { Subject } from "./findings.ts";

/** One of them. */
export interface OtherScaler {
  readonly namespace: string;
  readonly name: string;
  readonly target: TargetRef;
  /** Its rule for a container: `*` for all that it does not name. */
  readonly rules: readonly ScalerRule[];
  /** As the daemon reads it; `null` for another kind. */
  readonly hpa: HpaFacts | null;
}

interface ScalerRule {
  readonly container: string;
  /** The workload whose requests it uses or sets. */
  readonly resources: readonly Resource[];
}

const EVERY = "*";

/**
 * Only `Utilization` uses requests: an average amount does not depend on them. May throw for an object of another shape.
 */
function parseHpaScaler(object: HorizontalPodAutoscaler): OtherScaler {
  const hpa = parseHpa(object);
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

/** One with updateMode Off only recommends. Never throws. https://github.com/kubernetes/autoscaler/blob/master/vertical-pod-autoscaler/docs/api.md */
function parseVpa(object: unknown): OtherScaler {
  const metadata = recordOf(object, "metadata");
  const spec = recordOf(object, "spec");
  const target = recordOf(spec, "targetRef");
  const policies = listOf(recordOf(spec, "resourcePolicy"), "containerPolicies");
  const isOff = recordOf(spec, "updatePolicy")["updateMode"] === "Off";
  const given = policies.map((policy) => ({
    container: textOf(policy, "containerName", EVERY),
    resources: policy["mode"] === "Off" ? [] : listControlledResources(policy),
  }));
  const rules = given.some(({ container }) => container === EVERY)
    ? given
    : [...given, { container: EVERY, resources: BOTH }];
  return {
    namespace: textOf(metadata, "namespace", "default"),
    name: textOf(metadata, "name", ""),
    target: {
      group: toGroup(textOf(target, "apiVersion", "")),
      kind: textOf(target, "kind", ""),
      name: textOf(target, "name", ""),
    },
    rules: isOff ? [] : rules,
    hpa: null,
  };
}

/** Its rule for a container: the container's own rule wins over the one for all others. */
export function listScaled({ rules, hpa }: OtherScaler, container: string): readonly Resource[] {
  const own = rules.filter((rule) => rule.container === container);
  const every = rules.filter((rule) => rule.container === EVERY);
  const counted = hpa === null && own.length > 0 ? own : [...own, ...every];
  return [...new Set(counted.flatMap(({ resources }) => resources))];
}

const BOTH: readonly Resource[] = ["cpu", "memory"];

function listControlledResources(policy: Fields): readonly Resource[] {
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

/** A workload, as far as lint needs it. */
export interface WorkloadTemplate extends WorkloadFacts {
  /** A pod of its template, without a node and a status. */
  readonly pod: PodFacts;
  /** The containers next to a sidecar that mount its token too. */
  readonly tokenSharers: readonly string[];
}

/** All three kinds have these fields in the same place. May throw for an object that an API server would not return. */
function parseWorkloadTemplate(object: unknown, kind: WorkloadKind): WorkloadTemplate {
  const { metadata = {}, spec } = object as Deployment;
  const { name = "", namespace = "default" } = metadata;
  const { metadata: { labels = {} } = {}, spec: podSpec } = spec?.template ?? {};
  const pod = parsePod({ metadata: { name, namespace, labels }, ...(podSpec && { spec: podSpec }) } as Pod);
  const containers = pod.containers.map((one) => ({ ...one, spec: withDefaults(one.spec) }));
  return {
    ...parseWorkload({ ...(object as Deployment), metadata: { ...metadata, name, namespace } }, kind),
    pod: { ...pod, containers },
    tokenSharers: isOfSidecar(pod)
      ? listTokenSharers(recordOf(recordOf(recordOf(object, "spec"), "template"), "spec"))
      : [],
  };
}

const TOKEN_FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount";

/** The API server mounts the token into every container, except where the pod says no or has a volume of its own there. */
function listTokenSharers(podSpec: Fields): readonly string[] {
  const volumes = listOf(podSpec, "volumes").filter((volume) =>
    listOf(recordOf(volume, "projected"), "sources").some((source) => isRecord(source["serviceAccountToken"]))
  ).map((volume) => volume["name"]);
  const containers = [...listOf(podSpec, "containers"), ...listOf(podSpec, "initContainers")].map((container) => {
    const mounts = listOf(container, "volumeMounts");
    const name = textOf(container, "name", "");
    const isPodfit = name === "podfit" || listOf(container, "env").some((one) => one["name"] === "PODFIT_POD");
    const hasVolume = mounts.some((mount) => volumes.includes(mount["name"]));
    return { name, isPodfit, hasVolume, isCovered: mounts.some((mount) => mount["mountPath"] === TOKEN_FOLDER) };
  });
  const mountsAll = podSpec["automountServiceAccountToken"] ??
    !containers.some(({ isPodfit, hasVolume }) => isPodfit && hasVolume);
  return containers.filter(({ isPodfit, hasVolume, isCovered }) =>
    !isPodfit && (hasVolume || (mountsAll === true && !isCovered))
  ).map(({ name }) => name);
}

/** The API server sets a request that is absent to its limit. */
function withDefaults(spec: Resources): Resources {
  return {
    ...spec,
    "cpu.requests": spec["cpu.requests"] ?? spec["cpu.limits"],
    "memory.requests": spec["memory.requests"] ?? spec["memory.limits"],
  };
}

/** An autoscaler with its spec, of which the daemon keeps the meaning alone. */
export interface GivenAutoscaler extends AutoscalerFacts {
  readonly spec: unknown;
}

/** A ScaledObject with its annotations, of which the daemon keeps the meaning alone. */
export interface AnnotatedScaledObject extends ScaledObjectFacts {
  readonly given: Readonly<Record<string, unknown>>;
}

/** The parsed parts of one object, by the plural of its kind. */
export interface ParsedObjects {
  readonly podresourceautoscalers: GivenAutoscaler;
  readonly scaledobjects: AnnotatedScaledObject;
  readonly triggerauthentications: AuthenticationFacts;
  readonly clustertriggerauthentications: AuthenticationFacts;
  readonly deployments: WorkloadTemplate;
  readonly statefulsets: WorkloadTemplate;
  readonly daemonsets: WorkloadTemplate;
  readonly pods: PodFacts;
  readonly horizontalpodautoscalers: OtherScaler;
  readonly verticalpodautoscalers: OtherScaler;
  readonly limitranges: NamespaceRule;
  readonly nodes: NodeFacts;
}

export type Plural = keyof ParsedObjects;

/** The objects that are known. */
export type Objects = { readonly [K in Plural]: readonly ParsedObjects[K][] };

/** The objects, and the kinds that were listed completely. Files never list a kind completely. */
export interface KnownObjects extends Objects {
  readonly listed: ReadonlySet<Plural>;
}

/** How a kind is listed and read. */
interface KindReader<T> {
  readonly kind: string;
  /** `/apis/GROUP/VERSION`. */
  readonly root: string;
  readonly isNamespaced: boolean;
  /** May throw for an object of a shape that an API server would not return. */
  readonly read: (object: unknown) => T;
}

const KEDA = "/apis/keda.sh/v1alpha1";

export const KINDS: { readonly [K in Plural]: KindReader<ParsedObjects[K]> } = {
  podresourceautoscalers: of(
    "PodResourceAutoscaler",
    "/apis/keda.kedify.io/v1alpha1",
    (object) => ({
      ...parseAutoscalerFacts(object as PodResourceAutoscaler),
      spec: (object as PodResourceAutoscaler).spec,
    }),
  ),
  scaledobjects: of("ScaledObject", KEDA, (object) => ({
    ...parseScaledObject(object),
    given: recordOf(recordOf(object, "metadata"), "annotations"),
  })),
  triggerauthentications: of("TriggerAuthentication", KEDA, (object) => parseAuthentication(object)),
  clustertriggerauthentications: {
    ...of("ClusterTriggerAuthentication", KEDA, (object) => parseAuthentication(object)),
    isNamespaced: false,
  },
  deployments: of("Deployment", "/apis/apps/v1", (object) => parseWorkloadTemplate(object, "deployment")),
  statefulsets: of("StatefulSet", "/apis/apps/v1", (object) => parseWorkloadTemplate(object, "statefulset")),
  daemonsets: of("DaemonSet", "/apis/apps/v1", (object) => parseWorkloadTemplate(object, "daemonset")),
  pods: of("Pod", "/api/v1", (object) => parsePod(object as Pod)),
  horizontalpodautoscalers: of(
    "HorizontalPodAutoscaler",
    "/apis/autoscaling/v2",
    (object) => parseHpaScaler(object as HorizontalPodAutoscaler),
  ),
  verticalpodautoscalers: of("VerticalPodAutoscaler", "/apis/autoscaling.k8s.io/v1", parseVpa),
  limitranges: of("LimitRange", "/api/v1", (object) => parseLimitRange(object as LimitRange)),
  nodes: { ...of("Node", "/api/v1", (object) => parseNode(object as Node)), isNamespaced: false },
};

export const PLURALS = Object.keys(KINDS) as readonly Plural[];

function of<T>(kind: string, root: string, read: (object: unknown) => T): KindReader<T> {
  return { kind, root, isNamespaced: true, read };
}

/** None of any kind. */
export const NO_OBJECTS: Objects = {
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

/** Returns those of `over` instead of those of the same name, and all others. */
export function overlay(under: KnownObjects, over: Objects): KnownObjects {
  const laid: Record<string, readonly Named[]> = {};
  for (const plural of PLURALS) {
    const names = new Set(over[plural].map(getUniqueName));
    laid[plural] = [
      ...(under[plural] as readonly Named[]).filter((one) => !names.has(getUniqueName(one))),
      ...over[plural],
    ];
  }
  return { ...laid as unknown as Objects, listed: under.listed };
}

/** What objects of every kind have. */
interface Named {
  readonly namespace?: string | null;
  readonly name: string;
}

/** The key that two objects of one kind cannot share. */
function getUniqueName({ namespace, name }: Named): string {
  return `${namespace ?? ""}/${name}`;
}

/** Parses the objects that others are compared with. An object without a namespace gets this one. Never throws. */
export function parseKnownObjects(values: readonly unknown[], namespace: string): Objects {
  const read: Record<Plural, unknown[]> = createEmpty();
  for (const value of values.filter(isRecord)) {
    const plural = PLURALS.find((one) => KINDS[one].kind === value.kind);
    if (plural === undefined || !isOfGroup(value, KINDS[plural].root)) continue;
    const { kind, isNamespaced } = KINDS[plural];
    const object = isNamespaced ? withNamespace(value, toSubject(value, { kind, namespace })) : value;
    try {
      read[plural].push(KINDS[plural].read(object));
    } catch {
      // The API server refuses objects of this shape and reports why.
    }
  }
  return read as unknown as Objects;
}

/** All of them; of several with one name the last one, because it is left after all are applied. */
export function mergeObjects(all: readonly Objects[]): Objects {
  const merged: Record<Plural, unknown[]> = createEmpty();
  for (const plural of PLURALS) {
    const byName = new Map<string, unknown>();
    for (const one of all.flatMap((objects): readonly Named[] => objects[plural])) byName.set(getUniqueName(one), one);
    merged[plural].push(...byName.values());
  }
  return merged as unknown as Objects;
}

/** How findings name an object. */
export function toSubject(
  { metadata }: Manifest,
  { kind, namespace: fallback }: { readonly kind: string; readonly namespace: string },
): Subject {
  const { name, namespace } = isRecord(metadata) ? metadata : {};
  return {
    kind,
    namespace: typeof namespace === "string" && namespace !== "" ? namespace : fallback,
    name: typeof name === "string" ? name : "",
  };
}

function createEmpty(): Record<Plural, unknown[]> {
  return Object.fromEntries(Object.keys(NO_OBJECTS).map((plural) => [plural, []])) as unknown as Record<
    Plural,
    unknown[]
  >;
}

/** Versions of one group are one kind: `autoscaling/v1` names a target as `autoscaling/v2` does. */
function isOfGroup({ apiVersion }: Manifest, root: string): boolean {
  const path = typeof apiVersion !== "string"
    ? ""
    : apiVersion.includes("/")
    ? `/apis/${apiVersion}`
    : `/api/${apiVersion}`;
  return path.replace(/\/[^/]+$/, "") === root.replace(/\/[^/]+$/, "");
}

function withNamespace(object: Manifest, { namespace }: Subject): Manifest {
  return isRecord(object.metadata) ? { ...object, metadata: { ...object.metadata, namespace } } : object;
}
