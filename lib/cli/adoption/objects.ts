/** The ScaledObjects that `podfit adopt` and `podfit release` read, change and wait for. */
import type { HorizontalPodAutoscaler } from "../../api/kubernetes.ts";
import { parseHpa } from "../../daemon/cluster/parse_objects.ts";
import { parseConditions } from "../../horizontal/status.ts";
import { type ApiClient, MERGE } from "../../kube/client.ts";
import { toApiError } from "../../kube/errors.ts";
import type { Condition } from "../../model/replicas_state.ts";
import type { HpaMetric } from "../../resources/scaled_object/adoption.ts";
import type { Clock } from "../../runtime/clock.ts";
import { parseTime } from "../../units/time.ts";
import { isRecord } from "../../units/untrusted.ts";
import { StartError } from "../command/process.ts";
import type { AdoptionOptions } from "./options.ts";

/** What the steps need. `say` prints a step that was done. */
export interface Steps {
  readonly client: Pick<ApiClient, "scaledObjects" | "untyped">;
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly isDryRun: boolean;
  readonly say: (text: string) => void;
  readonly signal: AbortSignal;
}

export interface ObjectName {
  readonly namespace: string;
  readonly name: string;
}

/** A ScaledObject as it was read. */
export interface SeenObject extends ObjectName {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly annotations: Readonly<Record<string, unknown>>;
  readonly object: Readonly<Record<string, unknown>>;
}

/** `null` removes the annotation. */
export type Annotations = Readonly<Record<string, string | null>>;

const GROUP = "/apis/keda.sh/v1alpha1";

/** Resolves to the object. Rejects with a StartError where there is none. */
export async function readObject(
  { client, signal }: Pick<Steps, "client" | "signal">,
  { namespace, name }: ObjectName,
): Promise<SeenObject> {
  const path = `${GROUP}/namespaces/${namespace}/scaledobjects/${name}`;
  const { data, error, response } = await client.untyped({ method: "GET", path, signal });
  if (response.status === 404) {
    throw new StartError("there is no such ScaledObject; look with `kubectl get so -A`");
  }
  if (!response.ok) throw toApiError(response, error);
  return toSeen(data);
}

function toSeen(data: unknown): SeenObject {
  const object = isRecord(data) ? data : {};
  const metadata = isRecord(object["metadata"]) ? object["metadata"] : {};
  const text = (key: string) => String(metadata[key] ?? "");
  return {
    namespace: text("namespace"),
    name: text("name"),
    uid: text("uid"),
    resourceVersion: text("resourceVersion"),
    annotations: isRecord(metadata["annotations"]) ? metadata["annotations"] : {},
    object,
  };
}

const PAGE_SIZE = 100;

const MAX_PAGES = 1000;

/** Resolves to the objects that the options choose by labels. */
export async function listObjects(
  { client, signal }: Pick<Steps, "client" | "signal">,
  { isEveryNamespace, selector, namespace }: Pick<AdoptionOptions, "isEveryNamespace" | "selector"> & {
    readonly namespace: string;
  },
): Promise<readonly SeenObject[]> {
  const found: SeenObject[] = [];
  const base = isEveryNamespace ? `${GROUP}/scaledobjects` : `${GROUP}/namespaces/${namespace}/scaledobjects`;
  let next = "";
  for (let page = 0; page < MAX_PAGES; page++) {
    const query = new URLSearchParams({ limit: String(PAGE_SIZE) });
    if (selector !== null) query.set("labelSelector", selector);
    if (next !== "") query.set("continue", next);
    const { data, error, response } = await client.untyped({ method: "GET", path: `${base}?${query}`, signal });
    if (!response.ok) throw toApiError(response, error);
    const { items, metadata } = isRecord(data) ? data : {};
    found.push(...(Array.isArray(items) ? items : []).map(toSeen));
    next = isRecord(metadata) && typeof metadata["continue"] === "string" ? metadata["continue"] : "";
    if (next === "") break;
  }
  return found;
}

/**
 * Resolves to `false` where the object has changed since `resourceVersion`; `null` = whatever it is now. Rejects with an
 * ApiError.
 */
export async function annotate(
  { client, signal }: Pick<Steps, "client" | "signal">,
  { namespace, name }: ObjectName,
  { annotations, resourceVersion }: { readonly annotations: Annotations; readonly resourceVersion: string | null },
): Promise<boolean> {
  const { error, response } = await client.scaledObjects.PATCH(
    "/apis/keda.sh/v1alpha1/namespaces/{namespace}/scaledobjects/{name}",
    {
      params: { path: { namespace, name }, query: { fieldManager: "podfit-cli" }, header: MERGE },
      body: {
        metadata: { annotations, ...(resourceVersion !== null && { resourceVersion }) },
      } as never,
      signal,
    },
  );
  if (response.ok) return true;
  if (response.status === 409 && resourceVersion !== null) return false;
  throw toApiError(response, error);
}

/** KEDA's HPA of an object. */
interface KedasHpa {
  readonly hpa: string;
  readonly isThere: boolean;
  /** What it asks of triggers but cpu and memory. */
  readonly metrics: readonly HpaMetric[];
  /** The spec of the object has changed since that of the HPA, by the clock of the API server. */
  readonly isOlder: boolean;
  /** How long ago the spec of the object has changed, at least; Infinity = not known. */
  readonly changedMsAgo: number;
}

/** KEDA keeps its HPA also while the target is at zero. Clauses: M6. */
export async function findKedasHpa(
  { client, clock, signal }: Pick<Steps, "client" | "clock" | "signal">,
  { namespace, name, uid, object }: SeenObject,
): Promise<KedasHpa> {
  const { advanced } = isRecord(object["spec"]) ? object["spec"] : {};
  const config = isRecord(advanced) ? advanced["horizontalPodAutoscalerConfig"] : null;
  const own = isRecord(config) ? config["name"] : null;
  const hpa = typeof own === "string" && own !== "" ? own : `keda-hpa-${name}`;
  const path = `/apis/autoscaling/v2/namespaces/${namespace}/horizontalpodautoscalers/${encodeURIComponent(hpa)}`;
  const { data, error, response } = await client.untyped({ method: "GET", path, signal });
  if (response.status === 404) return { hpa, isThere: false, metrics: [], isOlder: false, changedMsAgo: Infinity };
  if (!response.ok) throw toApiError(response, error);
  const found = data as HorizontalPodAutoscaler;
  const { owners, metrics } = parseHpa(found);
  const changedAt = findSpecChange(object);
  return {
    hpa,
    isThere: owners.includes(uid) && found.metadata?.deletionTimestamp === undefined,
    metrics,
    isOlder: changedAt > findSpecChange(found),
    changedMsAgo: changedAt === 0 ? Infinity : getServerTime(response, clock) - changedAt,
  };
}

/** By how much this computer's clock may be ahead, where the API server does not say its time. */
const MAX_AHEAD_MS = 60_000;

/** Returns the time of the answer by the clock of the API server, or one that is not later, epoch ms. */
function getServerTime({ headers }: Response, clock: Pick<Clock, "now">): number {
  const at = Date.parse(headers.get("date") ?? "");
  return Number.isNaN(at) ? clock.now() - MAX_AHEAD_MS : at;
}

/** Returns when a client last changed the spec, epoch ms, in whole seconds; 0 = not known. */
function findSpecChange(object: unknown): number {
  const metadata = isRecord(object) && isRecord(object["metadata"]) ? object["metadata"] : {};
  const entries = Array.isArray(metadata["managedFields"]) ? metadata["managedFields"].filter(isRecord) : [];
  const times = entries.map(({ subresource, fieldsV1, time }) =>
    subresource === undefined && isRecord(fieldsV1) && "f:spec" in fieldsV1 ? parseTime(time) ?? 0 : 0
  );
  return Math.max(0, ...times);
}

/** Returns a condition of the object; `null` = it has none of this type. */
export function findCondition({ object }: SeenObject, type: string): Condition | null {
  return parseConditions(object["status"], [type])[type] ?? null;
}

const LOOK_EVERY_MS = 1_000;

/** Looks each second until `look` gives something. Rejects with a StartError with the last cause. */
export async function waitUntil<T>(
  { clock, timeoutMs, signal }: Pick<Steps, "clock" | "timeoutMs" | "signal">,
  look: () => Promise<{ readonly done: T } | { readonly cause: string }>,
): Promise<T> {
  const endMs = clock.monotonic() + timeoutMs;
  for (;;) {
    const found = await look();
    if ("done" in found) return found.done;
    if (clock.monotonic() >= endMs) throw new StartError(`waited ${timeoutMs / 1000}s: ${found.cause}`);
    await clock.sleep(LOOK_EVERY_MS, signal);
  }
}
