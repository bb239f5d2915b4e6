/**
 * One pod in a scenario: the single pod of a workload, the run of its container that no resize in place may end, the
 * size that the kubelet reports, and a readiness gate to hold podfit back until a moment of the scenario's choice.
 */
import type { ResourceField } from "../../../lib/units/resources.ts";
import { patchObject, type PodRef, readPod, waitFor, waitForPods } from "./cluster.ts";
import { readActualSize } from "./patches.ts";

/** The one pod with `app: NAME`, once it is ready. */
export async function findPod(namespace: string, app: string): Promise<PodRef> {
  const [found] = await waitForPods(namespace, `app=${app}`);
  if (found === undefined) throw new Error(`Cannot find a pod of "${app}"`);
  return { namespace, name: found.metadata.name };
}

export interface Run {
  readonly restartCount: number;
  readonly containerID: string | null;
  readonly startedAt: string | null;
}

/** The same before and after, unless the container was restarted. */
export async function readRun(pod: PodRef, container = "main"): Promise<Run> {
  const { containerStatuses = [], initContainerStatuses = [] } = (await readPod(pod)).status;
  const found = [...containerStatuses, ...initContainerStatuses].find(({ name }) => name === container);
  if (found === undefined) throw new Error(`Cannot find the status of container "${container}" of pod "${pod.name}"`);
  const { restartCount, containerID = null, state } = found;
  return { restartCount, containerID, startedAt: state?.running?.startedAt ?? null };
}

/** Until the container runs, ready or not. */
export function waitForRun(pod: PodRef, container = "main"): Promise<Run> {
  return waitFor(`container "${container}" of pod "${pod.name}" to run`, async () => {
    const run = await readRun(pod, container);
    return run.startedAt === null ? null : run;
  });
}

/** A readiness gate that nothing but a scenario opens. */
export const GATE = "example.com/open";

export async function openGate({ namespace, name }: PodRef): Promise<void> {
  const patch = { status: { conditions: [{ type: GATE, status: "True" }] } };
  await patchObject({ namespace, object: `Pod/${name}` }, patch, { type: "strategic", subresource: "status" });
}

export interface ExpectedAmount {
  readonly fits: (amount: number) => boolean;
  readonly container?: string;
  readonly timeoutMs?: number;
}

/** Until the kubelet reports a size that fits; gives the amount of that side. */
export function waitForActual(pod: PodRef, key: ResourceField, expected: ExpectedAmount): Promise<number> {
  const { fits, container = "main", timeoutMs = 90_000 } = expected;
  return waitFor(`a fitting ${key} of pod "${pod.name}"`, async () => {
    const amount = readActualSize(await readPod(pod), container)?.[key] ?? null;
    if (amount !== null && fits(amount)) return amount;
    throw new Error(`it is ${amount}`);
  }, { timeoutMs, everyMs: 1000 });
}
