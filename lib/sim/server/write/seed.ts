/** A new cluster has these before anybody asks for anything: its namespaces, and the role of its administrators. */
import { formatTime } from "../../../units/time.ts";
import type { JsonObject } from "../../json.ts";
import { toUid } from "./objects.ts";
import type { Store } from "../store/store.ts";

/** Stores what a new cluster has. */
export function seed(store: Store, { now, random }: { readonly now: number; readonly random: () => number }): void {
  const put = (id: string, kind: { kind: string; apiVersion: string }, name: string, rest: JsonObject) => {
    const labels = id === "/namespaces" ? { labels: { "kubernetes.io/metadata.name": name } } : {};
    store.put(id, {
      ...kind,
      metadata: { name, uid: toUid(random), creationTimestamp: formatTime(now), ...labels },
      ...rest,
    });
  };
  for (const name of ["default", "kube-node-lease", "kube-public", "kube-system"]) {
    const rest = { spec: { finalizers: ["kubernetes"] }, status: { phase: "Active" } };
    put("/namespaces", { kind: "Namespace", apiVersion: "v1" }, name, rest);
  }
  const every = { verbs: ["*"], apiGroups: ["*"], resources: ["*"] };
  put("rbac.authorization.k8s.io/clusterroles", ROLE, "cluster-admin", {
    rules: [every, { verbs: ["*"], nonResourceURLs: ["*"] }],
  });
}

const ROLE = { kind: "ClusterRole", apiVersion: "rbac.authorization.k8s.io/v1" };
