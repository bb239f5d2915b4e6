/** What do the containers on an embedded node use at this moment, of what size, and what did their limits cost them? */
import type { ContainerState, Ended, NodeState, PodState } from "../../sim/model/state.ts";
import type { Resources } from "../../units/resources.ts";

/** One container at one look. */
export interface ContainerUse {
  readonly pod: string;
  readonly container: string;
  /** `null` while it is not running. */
  readonly used: { readonly cpuMillicores: number; readonly memoryBytes: number } | null;
  /** In force. */
  readonly size: Resources;
  /** What the running instance wanted of the processor and did not get. */
  readonly throttled: { readonly instance: number; readonly ns: number };
  /** When the last instance was killed for its memory; `null` when it ended otherwise, or never. */
  readonly killedAt: number | null;
}

/** Every container on the node. */
export function listUses({ pods }: NodeState): readonly ContainerUse[] {
  return pods.flatMap((pod) => pod.life.containers.map((container) => toUse(pod, container)));
}

function toUse({ spec, meters }: PodState, container: ContainerState): ContainerUse {
  const { name, run, actual, instances } = container;
  const meter = run.kind === "running" ? meters[name] : undefined;
  const ended = readEnded(container);
  return {
    pod: spec.name,
    container: name,
    size: actual,
    used: meter === undefined ? null : { cpuMillicores: meter.millicores, memoryBytes: meter.workingSetBytes },
    throttled: { instance: instances, ns: meter?.unmetNs ?? 0 },
    killedAt: ended?.reason === "OOMKilled" ? ended.finishedAt : null,
  };
}

function readEnded({ run, last }: ContainerState): Ended | null {
  return run.kind === "exited" || run.kind === "terminated" || run.kind === "backOff" ? run.ended : last;
}
