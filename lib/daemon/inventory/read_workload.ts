/** From the API's Deployment, StatefulSet or DaemonSet to WorkloadFacts, at the edge: which pods are its own. */
import type { Deployment } from "../../api/kubernetes.ts";
import type { WorkloadKind } from "../../autoscaler/autoscaler.ts";
import { parseSelector } from "../../units/parse_selector.ts";
import type { WorkloadFacts } from "./facts.ts";

/** All three kinds have what is read here in the same place. Never throws. */
export function readWorkload({ metadata, spec }: Deployment, kind: WorkloadKind): WorkloadFacts {
  const { namespace = "", name = "" } = metadata ?? {};
  const parsed = parseSelector(spec?.selector, "spec.selector");
  return {
    kind,
    namespace,
    name,
    selector: parsed.ok ? parsed.selector : null,
    problems: parsed.ok ? [] : parsed.problems,
  };
}
