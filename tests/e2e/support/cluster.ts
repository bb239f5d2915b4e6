/**
 * What does a scenario do with the cluster? It gets a namespace of its own, applies manifests, sets what the load
 * uses, reads objects back and waits, always bounded, for what must become true.
 */
import { parseAll } from "../../../lib/runtime/yaml.ts";
import {
  type Backend,
  backend,
  type Change,
  type Kind,
  type Load,
  type Manifest,
  toCollection,
  toPath,
} from "./backend.ts";
import type { AutoscalerJson, EventJson, Limits, Metadata, PodJson } from "./objects.ts";
import { type WaitOptions, waitUntil } from "./wait.ts";

export interface TestNamespace extends AsyncDisposable {
  readonly name: string;
}

/** A pod of the load image; its containers differ by `port`. */
export interface PodRef {
  readonly namespace: string;
  readonly name: string;
  readonly port?: number;
}

/** Returns the probe's first value that is not null, undefined or false; a failure names the last error it threw. */
export function waitFor<T>(
  description: string,
  probe: () => Promise<T | null | undefined | false>,
  options: WaitOptions = {},
): Promise<T> {
  return waitUntil(description, probe, { ...options, clock: backend().clock });
}

/** A fresh namespace, ready for pods. Its deletion is begun, and not awaited, at its disposal, or if it does not get ready. */
export async function createNamespace(purpose: string): Promise<TestNamespace> {
  const slug = purpose.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-/, "").slice(0, 40).replace(/-$/, "");
  const name = `e2e-${slug}-${crypto.randomUUID().slice(0, 6)}`;
  const chosen = backend();
  await using building = new AsyncDisposableStack();
  building.defer(() => chosen.delete({ kind: "Namespace", namespace: "", name }));
  building.defer(() => dropFinalizers(chosen, name));
  await chosen.createNamespace(name);
  const built = building.move();
  return { name, [Symbol.asyncDispose]: () => built.disposeAsync() };
}

/** The podfit that would remove them has ended. With them the namespace stays, and the definitions cannot be deleted. */
async function dropFinalizers(chosen: Backend, namespace: string): Promise<void> {
  const text = await chosen.get(`/apis/keda.sh/v1alpha1/namespaces/${namespace}/scaledobjects`);
  const { items } = JSON.parse(text ?? '{"items":[]}') as {
    readonly items: readonly { readonly metadata: Metadata & { readonly finalizers?: readonly string[] } }[];
  };
  for (const { metadata: { name, finalizers = [] } } of items) {
    if (finalizers.length === 0) continue;
    await chosen.patch({ kind: "ScaledObject", namespace, name }, {
      type: "merge",
      patch: { metadata: { finalizers: null } },
    });
  }
}

/** `manifests`: YAML or JSON text, or objects; those without a namespace get this one. */
export async function applyManifests(namespace: string, manifests: string | readonly Manifest[]): Promise<void> {
  await backend().apply(namespace, toObjects(manifests));
}

/** Begins the deletion, e.g. of `Pod/web-0`, without waiting for its end. */
export async function deleteObject(namespace: string, object: ObjectName): Promise<void> {
  await backend().delete({ namespace, ...toRef(object) });
}

/** A merge patch unless it says otherwise. */
export async function patchObject(
  { namespace, object }: { readonly namespace: string; readonly object: ObjectName },
  patch: Change["patch"],
  options: Partial<Omit<Change, "patch">> = {},
): Promise<void> {
  await backend().patch({ namespace, ...toRef(object) }, { type: "merge", ...options, patch });
}

/** `KIND/NAME` */
export type ObjectName = `${Kind}/${string}`;

/** Waits until exactly `count` pods with these labels exist, all Ready and none on its way out, in order of name. */
export function waitForPods(
  namespace: string,
  labels: string,
  { count = 1, timeoutMs = 60_000 }: { readonly count?: number; readonly timeoutMs?: number } = {},
): Promise<readonly PodJson[]> {
  return waitFor(`${count} ready pods with ${labels} in "${namespace}"`, async () => {
    const { items } = await list<PodJson>("Pod", { namespace, query: { labelSelector: labels } });
    items.sort((one, other) => one.metadata.name < other.metadata.name ? -1 : 1);
    if (items.length === count && items.every(isReady)) return items;
    throw new Error(`seen: ${items.map(describePod).join(", ") || "no pod"}`);
  }, { timeoutMs });
}

/** A load that grows beyond its memory limit is killed before it answers: then this throws. */
export async function setLoad({ port = 8080, ...pod }: PodRef, load: Load): Promise<void> {
  await backend().setLoad({ ...pod, port }, load);
}

export function readLimits({ port = 8080, ...pod }: PodRef): Promise<Limits> {
  return backend().readLimits({ ...pod, port });
}

export function readPod({ namespace, name }: PodRef): Promise<PodJson> {
  return read<PodJson>({ kind: "Pod", namespace, name });
}

export function readAutoscaler(namespace: string, name: string): Promise<AutoscalerJson> {
  return read<AutoscalerJson>({ kind: "PodResourceAutoscaler", namespace, name });
}

/** `null` when it is not there. */
export async function find<T>(path: string): Promise<T | null> {
  const text = await backend().get(path);
  return text === null ? null : JSON.parse(text);
}

export interface EventFilter {
  readonly reason?: string;
  /** Name of the object that the event is about. */
  readonly about?: string;
  /** Kind of that object. */
  readonly kind?: "PodResourceAutoscaler" | "Pod";
}

/** Oldest first. */
export async function readEvents(namespace: string, filter: EventFilter = {}): Promise<readonly EventJson[]> {
  const selector = [
    filter.reason === undefined ? "" : `reason=${filter.reason}`,
    filter.about === undefined ? "" : `involvedObject.name=${filter.about}`,
    filter.kind === undefined ? "" : `involvedObject.kind=${filter.kind}`,
  ].filter((part) => part !== "").join(",");
  const { items } = await list<EventJson>("Event", {
    namespace,
    query: selector === "" ? {} : { fieldSelector: selector },
  });
  return items.sort((one, other) => toTime(one) - toTime(other));
}

async function read<T>(ref: { readonly kind: Kind; readonly namespace: string; readonly name: string }): Promise<T> {
  const found = await find<T>(toPath(ref));
  if (found === null) throw new Error(`Cannot read "${toPath(ref)}": it is not there`);
  return found;
}

async function list<T>(
  kind: Kind,
  { namespace, query }: { readonly namespace: string; readonly query: Record<string, string> },
): Promise<{ readonly items: T[] }> {
  const path = `${toCollection(kind, namespace)}?${new URLSearchParams(query)}`;
  const found = await find<{ readonly items: T[] }>(path);
  if (found === null) throw new Error(`Cannot list "${path}": it is not there`);
  return found;
}

function toTime({ lastTimestamp, metadata: { creationTimestamp } }: EventJson): number {
  return Date.parse(lastTimestamp ?? creationTimestamp ?? "");
}

function toRef(object: ObjectName): { readonly kind: Kind; readonly name: string } {
  const [kind = "", name = ""] = object.split("/");
  return { kind: kind as Kind, name };
}

function toObjects(manifests: string | readonly Manifest[]): readonly Manifest[] {
  return typeof manifests === "string" ? parseAll(manifests) as Manifest[] : manifests;
}

function isReady({ metadata, status }: PodJson): boolean {
  if (metadata.deletionTimestamp !== undefined) return false;
  return status.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
}

function describePod({ metadata, status }: PodJson): string {
  const reasons = (status.containerStatuses ?? []).map(({ state }) => Object.keys(state ?? {}).join());
  const leaving = metadata.deletionTimestamp === undefined ? "" : " terminating";
  return `${metadata.name} ${status.phase ?? "?"}${leaving} [${reasons.join(" ")}]`;
}
