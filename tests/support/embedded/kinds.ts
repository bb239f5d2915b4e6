/**
 * Which kinds does the full server have? Those of lib with what only tests need, and more workloads and roles.
 */
import { type JsonObject, numberAt, objectAt, openAt, setDefaults } from "../../../lib/embedded/json.ts";
import { BUILT_IN, type Row, toResourceType, WORKLOAD } from "../../../lib/embedded/server/kinds/catalog.ts";
import {
  AGE,
  type Column,
  column,
  CONTAINERS,
  CREATED_COLUMNS,
  formatLabels,
  integer,
  NAME,
  SELECTOR,
  statusCount,
} from "../../../lib/embedded/server/kinds/columns.ts";
import type { ResourceType } from "../../../lib/embedded/server/kinds/resource_type.ts";
import { giveStatus, setTemplateDefaults } from "../../../lib/embedded/server/kinds/workloads.ts";
import { validateDefinition } from "./custom/definition.ts";
import { setHpaDefaults, validateHpa } from "./hpas.ts";
import { setLimitRangeDefaults } from "./limit_ranges.ts";
import { setConfigMapDefaults, setSecretDefaults, validateConfigMap, validateSecret } from "./maps.ts";

/** The columns of StatefulSets. */
const STATEFUL_SET_COLUMNS: readonly Column[] = [
  NAME,
  column("Ready", (it) => `${statusCount(it, "readyReplicas")}/${numberAt(it, "spec", "replicas") ?? 0}`),
  AGE,
  ...CONTAINERS,
];

/** The columns of DaemonSets. */
const DAEMON_SET_COLUMNS: readonly Column[] = [
  NAME,
  integer("Desired", (it) => statusCount(it, "desiredNumberScheduled")),
  integer("Current", (it) => statusCount(it, "currentNumberScheduled")),
  integer("Ready", (it) => statusCount(it, "numberReady")),
  integer("Up-to-date", (it) => statusCount(it, "updatedNumberScheduled")),
  integer("Available", (it) => statusCount(it, "numberAvailable")),
  column("Node Selector", (it) => formatLabels(objectAt(it, "spec", "template", "spec", "nodeSelector"))),
  AGE,
  ...CONTAINERS,
  SELECTOR,
];

/** The columns of ResourceQuotas. */
const QUOTA_COLUMNS: readonly Column[] = [
  NAME,
  column("Request", (quota) => formatQuota(quota, (key) => !key.startsWith("limits."))),
  column("Limit", (quota) => formatQuota(quota, (key) => key.startsWith("limits."))),
  AGE,
];

function formatQuota(quota: JsonObject, isShown: (key: string) => boolean): string {
  const [hard, used] = [objectAt(quota, "status", "hard"), objectAt(quota, "status", "used")];
  return Object.keys(hard).filter(isShown).sort().map((key) => `${key}: ${used[key]}/${hard[key]}`).join(", ");
}

/** Fills in what the manifest of a StatefulSet leaves out. */
function setStatefulSetDefaults(set: JsonObject): void {
  setTemplateDefaults(set);
  const spec = openAt(set, "spec");
  setDefaults(spec, { podManagementPolicy: "OrderedReady", replicas: 1, revisionHistoryLimit: 10, serviceName: "" });
  setDefaults(openAt(spec, "persistentVolumeClaimRetentionPolicy"), { whenDeleted: "Retain", whenScaled: "Retain" });
  const strategy = openAt(spec, "updateStrategy");
  setDefaults(strategy, { type: "RollingUpdate" });
  if (strategy.type === "RollingUpdate") setDefaults(openAt(strategy, "rollingUpdate"), { partition: 0 });
}

/** Fills in what the manifest of a DaemonSet leaves out. */
function setDaemonSetDefaults(set: JsonObject): void {
  setTemplateDefaults(set);
  const spec = openAt(set, "spec");
  setDefaults(spec, { revisionHistoryLimit: 10 });
  const strategy = openAt(spec, "updateStrategy");
  setDefaults(strategy, { type: "RollingUpdate" });
  if (strategy.type === "RollingUpdate") {
    setDefaults(openAt(strategy, "rollingUpdate"), { maxUnavailable: 1, maxSurge: 0 });
  }
}

const RBAC = { group: "rbac.authorization.k8s.io", columns: CREATED_COLUMNS } satisfies Partial<ResourceType>;

/** What the rows of lib leave out. */
const MORE: Readonly<Record<string, Partial<ResourceType>>> = {
  configmaps: { setDefaults: setConfigMapDefaults, validate: validateConfigMap },
  customresourcedefinitions: { validate: validateDefinition },
  horizontalpodautoscalers: {
    setDefaults: setHpaDefaults,
    prepareNew: giveStatus({ desiredReplicas: 0, currentMetrics: null }),
    validate: validateHpa,
  },
  limitranges: { setDefaults: setLimitRangeDefaults },
  resourcequotas: { columns: QUOTA_COLUMNS, prepareNew: giveStatus({}) },
  secrets: { setDefaults: setSecretDefaults, validate: validateSecret },
  serviceaccounts: { subresources: ["token"] },
  statefulsets: {
    ...WORKLOAD,
    shortNames: ["sts"],
    columns: STATEFUL_SET_COLUMNS,
    setDefaults: setStatefulSetDefaults,
    prepareNew: giveStatus({ replicas: 0, availableReplicas: 0 }),
  },
  daemonsets: {
    ...WORKLOAD,
    shortNames: ["ds"],
    subresources: ["status"],
    columns: DAEMON_SET_COLUMNS,
    setDefaults: setDaemonSetDefaults,
    prepareNew: giveStatus({
      currentNumberScheduled: 0,
      numberMisscheduled: 0,
      desiredNumberScheduled: 0,
      numberReady: 0,
    }),
  },
};

const ROWS: readonly Row[] = [
  { ...RBAC, plural: "clusterroles", kind: "ClusterRole", isNamespaced: false },
  { ...RBAC, plural: "clusterrolebindings", kind: "ClusterRoleBinding", isNamespaced: false },
  { ...RBAC, plural: "roles", kind: "Role" },
  { ...RBAC, plural: "rolebindings", kind: "RoleBinding" },
];

/** Every kind of the full server. */
export const ALL_KINDS: readonly ResourceType[] = [
  ...BUILT_IN.map((type) => ({ ...type, ...MORE[type.plural] })),
  ...ROWS.map(toResourceType),
];
