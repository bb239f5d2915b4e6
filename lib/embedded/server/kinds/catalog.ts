/** Which kinds does the server have? A table of built-in kinds, and those of stored CustomResourceDefinitions. */
import { at, type JsonObject, numberAt, objectAt, openAt, setDefaults, textAt } from "../../json.ts";
import { isSameMeaning } from "../../quantities.ts";
import { isDeepEqual } from "../../../units/equality.ts";
import { badRequest, invalidValue, type Problem, unknownResource } from "../refusal.ts";
import type { Store } from "../store.ts";
import {
  CREATED_COLUMNS,
  DEPLOYMENT_COLUMNS,
  EVENT_COLUMNS,
  LEASE_COLUMNS,
  NAMESPACE_COLUMNS,
  NODE_COLUMNS,
  PLAIN_COLUMNS,
  POD_COLUMNS,
  REPLICA_SET_COLUMNS,
} from "./columns.ts";
import { prepareNewDefinition, setDefinitionDefaults, toCustomTypes } from "./custom_types.ts";
import { DNS_LABEL_RULE, isDnsLabel, isSubdomain } from "./names.ts";
import { prepareNewPod, setPodDefaults, validatePod } from "./pods.ts";
import { type CreateChecks, NO_CHECKS, type ResourceType } from "./resource_type.ts";
import { giveStatus, setDeploymentDefaults, setReplicaSetDefaults, validateWorkload } from "./workloads.ts";

/** The kinds of a server, and how objects of custom kinds are checked. */
export interface CatalogOptions {
  readonly builtIn?: readonly ResourceType[];
  /** By default every object is right. */
  readonly createChecks?: CreateChecks;
}

/** The types of every resource that is served at the moment. */
export class Catalog {
  readonly #store: Store;
  readonly #builtIn: readonly ResourceType[];
  readonly #createChecks: CreateChecks;
  #types: readonly ResourceType[] | null = null;

  constructor(store: Store, { builtIn = BUILT_IN, createChecks = () => NO_CHECKS }: CatalogOptions) {
    this.#store = store;
    this.#builtIn = builtIn;
    this.#createChecks = createChecks;
    this.#definitions().listen(() => this.#types = null, null);
  }

  /** Every type, the built-in ones first. */
  all(): readonly ResourceType[] {
    return this.#types ??= [
      ...this.#builtIn,
      ...this.#definitions().list().flatMap(({ object }) => toCustomTypes(object, this.#createChecks)),
    ];
  }

  /** Is anything served of this group at this version? */
  hasVersion({ group, version }: Omit<ResourceName, "plural">): boolean {
    return this.all().some((type) => type.group === group && type.version === version);
  }

  /** Throws a Refusal for what is not served. */
  find({ group, version, plural }: ResourceName): ResourceType {
    const found = this.all().find((type) => type.plural === plural && type.group === group && type.version === version);
    if (found === undefined) throw unknownResource();
    return found;
  }

  #definitions() {
    return this.#store.collection("apiextensions.k8s.io/customresourcedefinitions");
  }
}

/** What the kinds of workloads have in common. */
export const WORKLOAD = {
  group: "apps",
  categories: ["all"],
  subresources: ["status", "scale"],
  scale: { replicas: ["spec", "replicas"], status: ["status", "replicas"], selector: ["spec", "selector"] },
  beginsGeneration: hasNewSpec,
  validate: validateWorkload,
} satisfies Partial<ResourceType>;

const ROWS: readonly Row[] = [
  {
    plural: "pods",
    kind: "Pod",
    shortNames: ["po"],
    categories: ["all"],
    columns: POD_COLUMNS,
    subresources: ["status", "resize", "binding", "proxy"],
    selectableFields: [
      ...["nodeName", "restartPolicy", "schedulerName", "serviceAccountName"].map((field) => `spec.${field}`),
      ...["phase", "podIP", "nominatedNodeName"].map((field) => `status.${field}`),
    ],
    beginsGeneration: hasNewSpec,
    setDefaults: setPodDefaults,
    prepareNew: prepareNewPod,
    validate: validatePod,
  },
  {
    plural: "nodes",
    kind: "Node",
    shortNames: ["no"],
    isNamespaced: false,
    columns: NODE_COLUMNS,
    subresources: ["status", "proxy"],
    selectableFields: ["spec.unschedulable"],
  },
  {
    plural: "namespaces",
    kind: "Namespace",
    shortNames: ["ns"],
    isNamespaced: false,
    subresources: ["status", "finalize"],
    selectableFields: ["status.phase"],
    setDefaults: setNamespaceDefaults,
    prepareNew: prepareNewNamespace,
    validate: validateNamespace,
    columns: NAMESPACE_COLUMNS,
  },
  {
    plural: "events",
    kind: "Event",
    shortNames: ["ev"],
    columns: EVENT_COLUMNS,
    selectableFields: [
      ...["kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"]
        .map((field) => `involvedObject.${field}`),
      "reason",
      "reportingComponent",
      "source",
      "type",
    ],
    setDefaults: setEventDefaults,
    validate: validateEvent,
  },
  { plural: "serviceaccounts", kind: "ServiceAccount", shortNames: ["sa"] },
  { plural: "configmaps", kind: "ConfigMap", shortNames: ["cm"] },
  { plural: "secrets", kind: "Secret" },
  { plural: "services", kind: "Service", shortNames: ["svc"], categories: ["all"], subresources: ["status"] },
  {
    plural: "limitranges",
    kind: "LimitRange",
    shortNames: ["limits"],
    columns: CREATED_COLUMNS,
  },
  {
    plural: "resourcequotas",
    kind: "ResourceQuota",
    shortNames: ["quota"],
    subresources: ["status"],
  },
  {
    group: "coordination.k8s.io",
    plural: "leases",
    kind: "Lease",
    columns: LEASE_COLUMNS,
    needsVersion: true,
    setDefaults: setLeaseDefaults,
    validate: validateLease,
  },
  {
    ...WORKLOAD,
    plural: "deployments",
    kind: "Deployment",
    shortNames: ["deploy"],
    columns: DEPLOYMENT_COLUMNS,
    // The one workload whose annotations count too.
    beginsGeneration: (after, before) =>
      hasNewSpec(after, before) ||
      !isDeepEqual(at(after, "metadata", "annotations"), at(before ?? {}, "metadata", "annotations")),
    setDefaults: setDeploymentDefaults,
    prepareNew: giveStatus({}),
  },
  // The demo has none of these three, but podfit watches them.
  { group: "policy", plural: "poddisruptionbudgets", kind: "PodDisruptionBudget", subresources: ["status"] },
  { group: "apps", plural: "statefulsets", kind: "StatefulSet" },
  { group: "apps", plural: "daemonsets", kind: "DaemonSet" },
  {
    ...WORKLOAD,
    plural: "replicasets",
    kind: "ReplicaSet",
    shortNames: ["rs"],
    columns: REPLICA_SET_COLUMNS,
    setDefaults: setReplicaSetDefaults,
    prepareNew: giveStatus({ replicas: 0 }),
  },
  {
    group: "autoscaling",
    version: "v2",
    plural: "horizontalpodautoscalers",
    kind: "HorizontalPodAutoscaler",
    shortNames: ["hpa"],
    categories: ["all"],
    subresources: ["status"],
  },
  {
    group: "apiextensions.k8s.io",
    plural: "customresourcedefinitions",
    kind: "CustomResourceDefinition",
    shortNames: ["crd", "crds"],
    isNamespaced: false,
    subresources: ["status"],
    columns: CREATED_COLUMNS,
    needsVersion: true,
    beginsGeneration: hasNewSpec,
    setDefaults: setDefinitionDefaults,
    prepareNew: prepareNewDefinition,
  },
];

/** Where a resource is served. */
interface ResourceName {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
}

const nothing = () => {};

/** Rows leave these out. */
const PLAIN = {
  group: "",
  version: "v1",
  shortNames: [],
  categories: [],
  isNamespaced: true,
  subresources: [],
  scale: null,
  isCustom: false,
  needsVersion: false,
  selectableFields: [],
  beginsGeneration: () => false,
  setDefaults: nothing,
  listUnknown: () => [],
  prepareNew: nothing,
  validate: () => [],
  validateStatus: () => [],
  columns: PLAIN_COLUMNS,
  schema: null,
} satisfies Partial<ResourceType>;

/** The resources that the demo needs. */
export const BUILT_IN: readonly ResourceType[] = ROWS.map(toResourceType);

/** A resource with what its row leaves out. */
export function toResourceType(row: Row): ResourceType {
  return { ...PLAIN, singular: row.kind.toLowerCase(), listKind: `${row.kind}List`, ...row };
}

/** What differs from a plain resource. */
export type Row = Partial<ResourceType> & Pick<ResourceType, "plural" | "kind">;

/** Gives a namespace the label of its name. */
function setNamespaceDefaults(namespace: JsonObject): void {
  openAt(namespace, "metadata", "labels")["kubernetes.io/metadata.name"] = textAt(namespace, "metadata", "name");
}

/** Makes a new namespace active, and held by the finalizer of its content. */
function prepareNewNamespace(namespace: JsonObject): void {
  Object.assign(openAt(namespace, "spec"), { finalizers: ["kubernetes"] });
  namespace.status = { phase: "Active" };
}

/** The problems of a namespace's name. */
function validateNamespace(namespace: JsonObject): readonly Problem[] {
  const name = textAt(namespace, "metadata", "name");
  if (isDnsLabel(name)) return [];
  return [invalidValue("metadata.name", name, isSubdomain(name) ? "must not contain dots" : DNS_LABEL_RULE)];
}

/** Fills in what an event leaves out. Throws a Refusal for a time that is none. */
function setEventDefaults(event: JsonObject): void {
  checkMicroTime(event.eventTime, "Event");
  // Go writes an empty value so.
  for (const key of ["eventTime", "firstTimestamp", "lastTimestamp"]) event[key] ??= null;
  setDefaults(event, { source: {}, reportingComponent: "", reportingInstance: "" });
}

/** The problems of an event: it has to be in the namespace of its object. */
function validateEvent(event: JsonObject): readonly Problem[] {
  const about = textAt(event, "involvedObject", "namespace");
  const own = textAt(event, "metadata", "namespace");
  if (about === own || (about === "" && own === "default")) return [];
  return [invalidValue("involvedObject.namespace", about, "does not match event.namespace")];
}

/** Fills in what a lease leaves out. Throws a Refusal for a time that is none. */
function setLeaseDefaults(lease: JsonObject): void {
  const spec = openAt(lease, "spec");
  for (const key of ["acquireTime", "renewTime"]) checkMicroTime(spec[key], "Lease");
}

/** The problems of a lease's counts. */
function validateLease({ spec }: JsonObject): readonly Problem[] {
  const seconds = numberAt(spec, "leaseDurationSeconds");
  const transitions = numberAt(spec, "leaseTransitions") ?? 0;
  return [
    ...(seconds === null || seconds > 0
      ? []
      : [invalidValue("spec.leaseDurationSeconds", seconds, "must be greater than 0")]),
    ...(transitions >= 0
      ? []
      : [invalidValue("spec.leaseTransitions", transitions, "must be greater than or equal to 0")]),
  ];
}

/** A spec that changed. Status and metadata begin no generation. */
function hasNewSpec(after: JsonObject, before: JsonObject | null): boolean {
  return before === null || !isSameMeaning(objectAt(after, "spec"), objectAt(before, "spec"));
}

/** Exactly six digits of a second's fraction, which is what Go's MicroTime reads. */
function checkMicroTime(value: unknown, kind: string): void {
  if (typeof value !== "string" || /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)$/.test(value)) return;
  const rest = value.slice("2006-01-02T15:04:05".length);
  throw badRequest(
    `${kind} in version "v1" cannot be handled as a ${kind}: parsing time "${value}" as ` +
      `"2006-01-02T15:04:05.000000Z07:00": cannot parse "${rest}" as ".000000"`,
  );
}
