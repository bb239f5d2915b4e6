/** A workload and what was seen of it, wherever that came from. */
import type { PodFacts } from "../../core/pod/pod_facts.ts";
import type { NamedLoad } from "../../simulate/load/load.ts";
import type { Subject } from "./judge.ts";
import type { Target } from "./manifest.ts";

export interface Watched {
  readonly target: Target;
  /** A pod as its workload makes it. */
  readonly pod: PodFacts;
  readonly loads: readonly NamedLoad[];
  /** Where they were seen: `usage of 2 pods, watched for 30m`. */
  readonly source: string;
}

/** Of more pods than these the first say as much as all. */
const MOST_PODS = 5;
/** Of a shorter load nothing can be said. */
export const LEAST_SECONDS = 60;

/** One for each container that long enough was seen of. */
export function toSubjects({ pod, loads }: Watched): readonly Subject[] {
  return pod.containers.filter(({ kind }) => kind !== "init").flatMap((container): readonly Subject[] => {
    const own = loads.filter((one) => one.container === container.name);
    const found = (own.length > 0 ? own : loads.filter((one) => one.container === null))
      .filter(({ load }) => load.seconds >= LEAST_SECONDS).slice(0, MOST_PODS);
    const [first] = found;
    if (first === undefined) return [];
    return [{
      container: container.name,
      pod: { ...pod, containers: [container] },
      loads: found.map(({ load }) => load),
      seen: first.seen,
    }];
  });
}
