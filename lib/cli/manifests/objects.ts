/**
 * Which workloads, autoscalers and ScaledObjects do manifest files hold?
 *
 * simulate and suggest use them. Each problem is one line with file, line and column.
 */
import type { Pod } from "../../api/kubernetes.ts";
import type { Autoscaler } from "../../model/autoscaler.ts";
import type { ScaledObjectFacts } from "../../model/scaled_object.ts";
import { parseAutoscaler } from "../../resources/pod_resource_autoscaler/parse.ts";
import { parseScaledObject } from "../../resources/scaled_object/scaled_object.ts";
import { parseAmount } from "../../units/quantity.ts";
import { isRecord, type Problem } from "../../units/untrusted.ts";
import type { Source } from "./files.ts";
import { parseYaml, type YamlDocument } from "./yaml.ts";

/** A workload, or a pod without a workload. */
export interface WorkloadObject {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** As its template makes it. */
  readonly pod: Pod;
  /** spec.replicas; 1 without it. */
  readonly replicas: number;
}

/** The objects of the files, in their order. */
export interface ManifestObjects {
  readonly workloads: readonly WorkloadObject[];
  readonly autoscalers: readonly Autoscaler[];
  /** The autoscalers unchanged. */
  readonly manifests: readonly Fields[];
  readonly scaledObjects: readonly ScaledObjectFacts[];
  /** One line each: FILE:LINE:COLUMN: OBJECT: FIELD: what is wrong and what would be right. */
  readonly complaints: readonly string[];
}

/**
 * Returns every object that a simulation uses; others are skipped. A workload without a namespace gets this one. Never
 * throws.
 */
export function parseManifestObjects(sources: readonly Source[], ownNamespace = "default"): ManifestObjects {
  const [workloads, autoscalers, scaledObjects]: [WorkloadObject[], Autoscaler[], ScaledObjectFacts[]] = [[], [], []];
  const manifests: Fields[] = [];
  const complaints: string[] = [];
  for (const { object, complain } of listItems(sources, complaints)) {
    const { kind } = object;
    if (kind === "PodResourceAutoscaler") {
      const parsed = parseAutoscaler(object);
      manifests.push(object);
      if (parsed.ok) autoscalers.push(withUid(parsed.autoscaler));
      else parsed.problems.forEach(complain);
    } else if (kind === "ScaledObject") {
      const facts = parseScaledObject(object);
      if (facts.scaledObject !== null) scaledObjects.push(facts);
      facts.problems.forEach(complain);
    } else if (typeof kind === "string" && Object.hasOwn(TEMPLATES, kind)) {
      const read = parseWorkload(object, kind, ownNamespace);
      if ("problems" in read) read.problems.forEach(complain);
      else workloads.push(read);
    }
  }
  return { workloads, autoscalers, manifests, scaledObjects, complaints };
}

type Fields = Readonly<Record<string, unknown>>;

interface Item {
  readonly object: Fields;
  readonly complain: (problem: Problem) => void;
}

function* listItems(sources: readonly Source[], complaints: string[]): Generator<Item> {
  for (const { name: file, text } of sources) {
    for (const document of parseYaml(text)) {
      for (const { place: { line, column }, message, kind } of document.faults) {
        if (kind === "refused") complaints.push(`${file}:${line}:${column}: ${message}`);
      }
      for (const { object, path } of toItems(document)) {
        const complain = (problem: Problem) => {
          const { line, column } = document.locate([path, problem.path].filter((part) => part !== "").join("."));
          const parts = [toTitle(object), problem.path, problem.message].filter((part) => part !== "");
          complaints.push(`${file}:${line}:${column}: ${parts.join(": ")}`);
        };
        yield { object, complain };
      }
    }
  }
}

/** Returns the object of a document, or those of a list. */
function toItems({ value }: YamlDocument): readonly { readonly object: Fields; readonly path: string }[] {
  if (!isRecord(value)) return [];
  const { kind, items } = value;
  if (typeof kind !== "string" || !kind.endsWith("List") || !Array.isArray(items)) return [{ object: value, path: "" }];
  const one = kind === "List" ? {} : { kind: kind.slice(0, -"List".length) };
  return items.flatMap((item, index) =>
    isRecord(item) ? [{ object: { ...one, ...item }, path: `items[${index}]` }] : []
  );
}

function toTitle({ kind, metadata }: Fields): string {
  const name = isRecord(metadata) && typeof metadata.name === "string" ? metadata.name : "without a name";
  return `${kind} ${name}`;
}

/** Returns the autoscaler with a uid, because decisions use it as name and a file has none. */
export function withUid(autoscaler: Autoscaler): Autoscaler {
  const uid = autoscaler.uid || `${autoscaler.namespace}/${autoscaler.name}`;
  return { ...autoscaler, uid, key: uid };
}

/** Where the pod is in a workload of that kind. */
const TEMPLATES: Readonly<Record<string, readonly string[]>> = {
  Deployment: ["spec", "template"],
  StatefulSet: ["spec", "template"],
  DaemonSet: ["spec", "template"],
  ReplicaSet: ["spec", "template"],
  Pod: [],
};

function parseWorkload(
  object: Fields,
  kind: string,
  ownNamespace: string,
): WorkloadObject | { readonly problems: readonly Problem[] } {
  const path = TEMPLATES[kind] ?? [];
  const template = path.reduce<unknown>((value, key) => isRecord(value) ? value[key] : undefined, object);
  const { metadata = {}, spec } = isRecord(template) ? template : {};
  const containers = isRecord(spec) && Array.isArray(spec.containers) ? spec.containers : [];
  const at = [...path, "spec", "containers"].join(".");
  const problems = containers.length === 0
    ? [{ path: at, message: `Cannot find a container of the ${kind}: name one at least` }]
    : containers.flatMap((one, index) => findFaults(one, `${at}[${index}]`));
  if (problems.length > 0) return { problems };
  const own = isRecord(object.metadata) ? object.metadata : {};
  const name = toText(own.name) ?? toText(own.generateName) ?? "unnamed";
  const namespace = toText(own.namespace) ?? ownNamespace;
  // The types of the API cover what was checked above; parsePod takes any value for the rest.
  const pod = { metadata: { ...(isRecord(metadata) ? metadata : {}), name, namespace }, spec } as Pod;
  const { replicas } = isRecord(object.spec) ? object.spec : {};
  return { kind, namespace, name, pod, replicas: typeof replicas === "number" ? replicas : 1 };
}

/** An invalid quantity would count as absent. */
function findFaults(container: unknown, path: string): readonly Problem[] {
  if (!isRecord(container) || toText(container.name) === null) {
    return [{ path, message: "Cannot use a container without a name: add it" }];
  }
  const { resources } = container;
  return (["requests", "limits"] as const).flatMap((side) => {
    const amounts = isRecord(resources) ? resources[side] : undefined;
    if (!isRecord(amounts)) return [];
    return (["cpu", "memory"] as const).flatMap((resource) => {
      const parsed = amounts[resource] === undefined ? null : parseAmount(amounts[resource], resource);
      if (parsed === null || parsed.ok) return [];
      return [{ path: `${path}.resources.${side}.${resource}`, message: parsed.message }];
    });
  });
}

function toText(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}
