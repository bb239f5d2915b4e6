/** What could not be checked, and what it needs: one line each. */
import { usesClusterSecrets } from "../checks/authentications.ts";
import type { Known, Plural } from "../known.ts";
import type { Listed } from "./list.ts";

/** What a kind is asked for. */
const PURPOSES: Readonly<Record<Plural, string>> = {
  podresourceautoscalers: "autoscalers of the cluster",
  scaledobjects: "ScaledObjects of the cluster",
  triggerauthentications: "authentications of triggers",
  clustertriggerauthentications: "authentications of the cluster",
  deployments: "targets that are Deployments",
  statefulsets: "targets that are StatefulSets",
  daemonsets: "targets that are DaemonSets",
  pods: "selectors, and containers that only live pods have",
  horizontalpodautoscalers: "HPAs of the same pods",
  verticalpodautoscalers: "VPAs of the same pods",
  limitranges: "bounds against limit ranges",
  nodes: "bounds against nodes",
};

/** One line for each kind that may not be listed, and for secrets. */
export function describeUnchecked(
  { forbidden }: Pick<Listed, "forbidden">,
  { known, secrets, namespace }: {
    readonly known: Known;
    /** `namespace/name` of those that may not be read. */
    readonly secrets: readonly string[];
    readonly namespace: string | null;
  },
): readonly string[] {
  const where = (plural: Plural) =>
    namespace === null || plural === "nodes" || plural === "clustertriggerauthentications"
      ? ""
      : ` in namespace "${namespace}"`;
  return [
    ...[...forbidden].map((plural) => `${PURPOSES[plural]}: grant list of ${plural}${where(plural)}`),
    ...secrets.map((name) => {
      const [of = "", secret = ""] = name.split("/");
      return `whether secret "${name}" is there: grant get of secrets in namespace "${of}" (to read ${secret})`;
    }),
    ...(usesClusterSecrets(known)
      ? [
        "secrets of ClusterTriggerAuthentications: they are in the namespace of podfit or KEDA, which lint does not know",
      ]
      : []),
  ];
}
