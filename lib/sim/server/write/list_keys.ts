/**
 * How lists merge, by the name of their field: the one piece of Kubernetes' schema that patches and field ownership
 * need. Two tables, as Kubernetes has two: the strategic merge of patches, and the field sets of managedFields.
 * https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy
 */

/** The keys by which a strategic merge patch merges lists of objects. Any other list is replaced as a whole. */
export const MERGE_KEYS: Readonly<Record<string, string>> = {
  addresses: "type",
  conditions: "type",
  containers: "name",
  env: "name",
  ephemeralContainers: "name",
  hostAliases: "ip",
  hostIPs: "ip",
  imagePullSecrets: "name",
  initContainers: "name",
  ownerReferences: "uid",
  podIPs: "ip",
  ports: "containerPort",
  resourceClaims: "name",
  secrets: "name",
  taints: "key",
  topologySpreadConstraints: "topologyKey",
  volumeDevices: "devicePath",
  volumeMounts: "mountPath",
  volumes: "name",
};

/** Lists of texts that a strategic merge patch adds to. */
export const MERGED_SETS: readonly string[] = ["finalizers"];

/** The keys by which managers own single items of a list; other lists have one owner. */
export const OWNED_KEYS: Readonly<Record<string, readonly string[]>> = {
  addresses: ["type"],
  conditions: ["type"],
  containers: ["name"],
  env: ["name"],
  ephemeralContainers: ["name"],
  hostAliases: ["ip"],
  imagePullSecrets: ["name"],
  initContainers: ["name"],
  ownerReferences: ["uid"],
  podIPs: ["ip"],
  ports: ["containerPort", "protocol"],
  resourceClaims: ["name"],
  secrets: ["name"],
  topologySpreadConstraints: ["topologyKey", "whenUnsatisfiable"],
  volumeDevices: ["devicePath"],
  volumeMounts: ["mountPath"],
  volumes: ["name"],
};

/** Lists of texts of which managers own single ones. */
export const OWNED_SETS: readonly string[] = ["finalizers"];

/** Objects with one owner. */
export const ATOMIC_OBJECTS: readonly string[] = [
  "effectiveSelector",
  "fieldRef",
  "involvedObject",
  "nodeSelector",
  "related",
  "roleRef",
  "selector",
  "scopeSelector",
];
