/**
 * How often and how was a pod really resized? A recorder watches the pod and keeps every size that its spec ever had:
 * each change of resources is one PATCH and one step of metadata.generation, so none can be missed unnoticed.
 */
import {
  NO_RESOURCES,
  requestOrLimitOf,
  RESOURCE_FIELDS,
  type ResourceField,
  resourceOf,
  type Resources,
} from "../../../lib/units/resources.ts";
import { parseAmount } from "../../../lib/units/quantity.ts";
import { backend, toCollection, toPath } from "./backend.ts";
import { find, type PodRef, waitFor } from "./cluster.ts";
import { Hopeless } from "./wait.ts";
import type { PodJson, ResourceLists } from "./objects.ts";

/** One PATCH that changed resources. */
export interface Patch {
  /** When the recorder saw it, not when the server took it. */
  readonly seenAt: number;
  /** When the server took it, in whole seconds as its managedFields have it: epoch ms. */
  readonly takenAt: number;
  readonly generation: number;
  readonly changes: readonly Change[];
  /** Field managers that have ever resized the pod, as of now. */
  readonly managers: readonly string[];
  /** The kubelet was still busy with an earlier one. */
  readonly overtakes: boolean;
}

/** What happened to one side of one container. */
export interface Change {
  readonly container: string;
  readonly key: ResourceField;
  readonly from: number | null;
  readonly to: number | null;
}

export interface PodRecorder extends AsyncDisposable {
  /** All PATCHes until this call, oldest first; throws if a step of the generation was not seen. */
  patches(): Promise<readonly Patch[]>;
  /** The changes of one side of one container, one for each PATCH that touched it. */
  changes(container: string, key: ResourceField): Promise<readonly Change[]>;
}

/** Records from the pod as it is now. */
export async function recordPod(pod: PodRef): Promise<PodRecorder> {
  const versions: PodVersion[] = [];
  const { clock, watch } = backend();
  const query = new URLSearchParams({ watch: "1", fieldSelector: `metadata.name=${pod.name}` });
  const watching = watch(`${toCollection("Pod", pod.namespace)}?${query}`);
  let ended: string | null = null;
  const reading = read().catch((error: unknown) => {
    ended = String(error);
  });
  const recorder: PodRecorder = {
    async patches() {
      await catchUp();
      return versions.flatMap((version, index) => toPatch(versions[index - 1], version));
    },
    async changes(container, key) {
      const patches = await recorder.patches();
      return patches.flatMap(({ changes }) => changes)
        .filter((change) => change.container === container && change.key === key);
    },
    async [Symbol.asyncDispose]() {
      await watching[Symbol.asyncDispose]();
      await reading;
    },
  };
  try {
    await waitFor(`the watch of pod "${pod.name}" to begin`, () => Promise.resolve(versions.length > 0), {
      timeoutMs: 10_000,
      everyMs: 20,
    });
  } catch (error) {
    await recorder[Symbol.asyncDispose]();
    throw error;
  }
  return recorder;

  async function read(): Promise<void> {
    for await (const line of watching.lines) {
      const { type, object } = JSON.parse(line) as { readonly type: string; readonly object: PodJson };
      if (type === "ERROR") throw new Error(`Cannot watch pod "${pod.name}": ${line}`);
      versions.push(toVersion(object, clock.now()));
    }
    ended = "the server ended the watch";
  }

  /** The watch may lag behind; a pod that is gone has no more PATCHes. */
  async function catchUp(): Promise<void> {
    const found = await find<PodJson>(toPath({ kind: "Pod", ...pod }));
    const generation = found?.metadata.generation ?? 0;
    await waitFor(`the watch of pod "${pod.name}" to reach generation ${generation}`, () => {
      if ((versions.at(-1)?.generation ?? 0) >= generation) return Promise.resolve(true);
      if (ended !== null) throw new Hopeless(ended);
      return Promise.resolve(false);
    }, { timeoutMs: 10_000, everyMs: 20 });
  }
}

/** The sizes in a container's spec, or in its status, as amounts. */
export function toResources(lists: ResourceLists | undefined): Resources {
  return RESOURCE_FIELDS.reduce<Resources>((resources, key) => {
    const text = lists?.[requestOrLimitOf(key)]?.[resourceOf(key)];
    if (text === undefined) return resources;
    const parsed = parseAmount(text, resourceOf(key));
    if (!parsed.ok) throw new Error(parsed.message);
    return { ...resources, [key]: parsed.amount };
  }, NO_RESOURCES);
}

/** What a container asks for: `spec`, sidecars included. */
export function readSpecSize({ spec }: PodJson, name: string): Resources {
  const found = [...spec.containers, ...(spec.initContainers ?? [])].find((container) => container.name === name);
  if (found === undefined) throw new Error(`Cannot find container "${name}" in the pod's spec`);
  return toResources(found.resources);
}

/** What a container has: `status`, sidecars included; `null` while the kubelet has not reported it. */
export function readActualSize({ status }: PodJson, name: string): Resources | null {
  const all = [...(status.containerStatuses ?? []), ...(status.initContainerStatuses ?? [])];
  const found = all.find((container) => container.name === name);
  return found?.resources === undefined ? null : toResources(found.resources);
}

interface PodVersion {
  readonly seenAt: number;
  readonly takenAt: number;
  readonly uid: string;
  readonly generation: number;
  readonly sizes: ReadonlyMap<string, Resources>;
  readonly managers: readonly string[];
  /** Some resize of the pod is not done. */
  readonly isBusy: boolean;
}

function toVersion({ metadata, spec, status }: PodJson, seenAt: number): PodVersion {
  const containers = [...spec.containers, ...(spec.initContainers ?? [])];
  const resizers = (metadata.managedFields ?? []).filter(({ subresource }) => subresource === "resize");
  return {
    seenAt,
    takenAt: Math.max(...resizers.map(({ time = "" }) => Date.parse(time))),
    uid: metadata.uid,
    generation: metadata.generation ?? 0,
    sizes: new Map(containers.map(({ name, resources }) => [name, toResources(resources)])),
    managers: resizers.map(({ manager }) => manager),
    isBusy: (status.observedGeneration ?? 0) < (metadata.generation ?? 0) ||
      (status.conditions ?? []).some(({ type, status }) => type.startsWith("PodResize") && status === "True"),
  };
}

/** A pod that took the name of another begins anew. */
function toPatch(before: PodVersion | undefined, { uid, sizes, isBusy: _, ...after }: PodVersion): readonly Patch[] {
  if (before === undefined || before.uid !== uid) return [];
  if (after.generation > before.generation + 1) {
    throw new Error(`Cannot count PATCHes: generation went from ${before.generation} to ${after.generation} unseen`);
  }
  const changes = [...sizes].flatMap(([container, size]) =>
    RESOURCE_FIELDS.flatMap((key): readonly Change[] => {
      const change = { container, key, from: before.sizes.get(container)?.[key] ?? null, to: size[key] };
      return change.from === change.to ? [] : [change];
    })
  );
  return changes.length === 0 ? [] : [{ ...after, changes, overtakes: before.isBusy }];
}
