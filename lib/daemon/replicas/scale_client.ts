/**
 * Reads and writes the scale subresource of targets. Other kinds than Deployment and StatefulSet are found by API
 * discovery. A failed read becomes a blocker, and the result of a write an answer. Neither rejects.
 */
import type { Scale as ScaleObject } from "../../api/kubernetes.ts";
import type { ApiClient } from "../../kube/client.ts";
import { ApiError, getErrorMessage, toApiError } from "../../kube/errors.ts";
import type { Blocker, Scale, ScaleAnswer, ScaleWrite } from "../../model/replicas_decision.ts";
import type { Target } from "../../model/scaled_object.ts";
import type { Clock } from "../../runtime/clock.ts";
import { Semaphore } from "../../runtime/limits.ts";
import { abortable } from "../../runtime/tasks.ts";
import { parseSelectorText, type Selector } from "../../units/selector.ts";
import { isRecord } from "../../units/untrusted.ts";
import { type AcquirePermit, findBusy, NotSent, type ResizePermit } from "../permits.ts";

// Reads and writes the scale of targets. What stands in the way of reading becomes an obstacle (R6, R30); what becomes
// of a write is an answer (R46). Neither rejects.

/** What reading a scale gave. */
export type ScaleReading =
  /** `selector` is never empty. */
  | { readonly kind: "read"; readonly scale: Scale; readonly selector: Selector }
  | { readonly kind: "obstacle"; readonly blocker: Blocker };

/** A write, where it goes, and whether it is still wanted right before it is sent. */
interface WriteRequest extends TargetPlace {
  readonly write: ScaleWrite;
  readonly mayWrite: () => boolean;
  readonly signal: AbortSignal;
}

export interface ScaleClient {
  readonly get: (place: TargetPlace, signal: AbortSignal) => Promise<ScaleReading>;
  readonly write: (request: WriteRequest) => Promise<ScaleAnswer>;
}

/** Where scales are, and how many writes may begin: resizes take their turns too. */
interface ScaleClientOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly acquirePermit: AcquirePermit;
}

/** So many scales are read or written at once. */
const MAX_CONCURRENT = 16;

export function createScaleClient(options: ScaleClientOptions): ScaleClient {
  const findResource = createFindResource({ ...options, timeoutMs: REQUEST_TIMEOUT_MS });
  const slots = new Semaphore(MAX_CONCURRENT);
  return {
    async get(place, signal) {
      try {
        const resource = await findResource(place.target, signal);
        if (resource.kind === "missing") {
          return toBlocker({ kind: "check", reason: "TargetNotFound", message: resource.message });
        }
        using _slot = await slots.acquire(signal);
        return toReading(await getScale({ ...options, ...place, resource, signal }), resource);
      } catch (error) {
        return toReadFailure(error, place.target);
      }
    },
    write: (request) => writeScale(request, { ...options, findResource, slots }),
  };
}

type WriteOptions = ScaleClientOptions & { readonly findResource: FindResource; readonly slots: Semaphore };

/** Once more where somebody else wrote meanwhile, and left the replicas as they were (R46). */
async function writeScale(request: WriteRequest, options: WriteOptions): Promise<ScaleAnswer> {
  const { signal, target, mayWrite } = request;
  using permit = await options.acquirePermit(signal, { isUrgent: false });
  if (permit === null || !mayWrite()) return refundPermit(permit);
  try {
    const resource = await options.findResource(target, signal);
    if (resource.kind === "missing") return { kind: "refused", code: 404, message: resource.message };
    using _slot = await options.slots.acquire(signal);
    const scaleRequest: ScaleRequest = { ...options, ...request, resource };
    const first = await putOnce(scaleRequest, request.write, permit);
    if (first !== CONFLICT) return first;
    const current = toScale(await getScale(scaleRequest), resource);
    const { from } = request.write;
    if (current.uid !== from.uid || current.replicas !== from.replicas || !mayWrite()) return { kind: "dropped" };
    const second = await putOnce(scaleRequest, { ...request.write, from: current }, permit);
    return second === CONFLICT ? { kind: "dropped" } : second;
  } catch (error) {
    return toScaleAnswer(error);
  }
}

/** Whether the same write may be accepted soon: nobody has refused it for good. */
export function isRetryable(answer: ScaleAnswer): boolean {
  if (answer.kind !== "refused") return answer.kind !== "accepted";
  return answer.code === 409 || answer.code === 429 || answer.code >= 500;
}

const CONFLICT = Symbol("conflict");

function refundPermit(permit: ResizePermit | null): ScaleAnswer {
  permit?.refund();
  return { kind: "dropped" };
}

async function putOnce(
  request: ScaleRequest,
  { from, replicas }: ScaleWrite,
  permit: ResizePermit,
): Promise<ScaleAnswer | typeof CONFLICT> {
  const { namespace, target: { name } } = request;
  const { uid, resourceVersion } = from;
  try {
    const body: ScaleObject = {
      apiVersion: "autoscaling/v1",
      kind: "Scale",
      metadata: { namespace, name, uid, resourceVersion },
      spec: { replicas },
    };
    const written = await putScale(request, body);
    permit.report(null);
    return { kind: "accepted", replicas: written.spec?.replicas ?? 0 };
  } catch (error) {
    if (error instanceof ApiError) permit.report(findBusy(error));
    if (error instanceof ApiError && error.code === 409) return CONFLICT;
    return toScaleAnswer(error);
  }
}

/** Whether it has arrived shows when the scale is read next. */
function toScaleAnswer(error: unknown): ScaleAnswer {
  if (error instanceof NotSent) return { kind: "dropped" };
  if (error instanceof ApiError) return { kind: "refused", code: error.code, message: error.message };
  return { kind: "unanswered", message: getErrorMessage(error) };
}

/** Go leaves out what is zero (R30). */
function toScale({ metadata, spec, status }: ScaleObject, { plural, isKnown }: ScaleResource): Scale {
  return {
    replicas: spec?.replicas ?? 0,
    statusReplicas: status?.replicas ?? 0,
    resourceVersion: metadata?.resourceVersion ?? "",
    uid: metadata?.uid ?? "",
    ...(!isKnown && { resource: plural }),
  };
}

interface ScaleResource {
  readonly plural: string;
  readonly isKnown: boolean;
}

function toReading(object: ScaleObject, resource: ScaleResource): ScaleReading {
  const text = object.status?.selector ?? "";
  if (text === "") return toInvalidSelector("the target's scale is missing a selector");
  const parsed = parseSelectorText(text, "status.selector");
  if (!parsed.ok) return toInvalidSelector(parsed.problems.map(({ message }) => message).join("; "));
  return { kind: "read", scale: toScale(object, resource), selector: parsed.selector };
}

function toInvalidSelector(message: string): ScaleReading {
  return toBlocker({ kind: "selector", reason: "InvalidSelector", message });
}

function toBlocker(blocker: Blocker): ScaleReading {
  return { kind: "obstacle", blocker };
}

/** No target, no scale and no right are the target's (R6); all else may be over soon (R30). */
function toReadFailure(error: unknown, { apiVersion, kind, name }: Target): ScaleReading {
  const message = getErrorMessage(error);
  if (!(error instanceof ApiError)) return toBlocker({ kind: "scale", message });
  const text = `Cannot scale "${name}" of kind "${apiVersion}.${kind}": ${message}`;
  if (error.code === 404) return toBlocker({ kind: "check", reason: "TargetNotFound", message: text });
  if (error.code === 403) {
    return toBlocker({ kind: "check", reason: "Rights", message: `${text}; grant get and update of its scale` });
  }
  return toBlocker({ kind: "scale", message });
}

// GET and PUT of a target's scale: typed where the kind is known, by path else. One request each, given up after 12 s.

/** A target in its namespace. */
export interface TargetPlace {
  readonly namespace: string;
  readonly target: Target;
}

/** A scale to ask for, and who asks. */
interface ScaleRequest extends TargetPlace {
  readonly client: Pick<ApiClient, "core" | "untyped">;
  readonly clock: Pick<Clock, "timeout">;
  readonly resource: Extract<FoundResource, { readonly kind: "found" }>;
  readonly signal: AbortSignal;
}

/** How long any request of the replicas' half may take. */
export const REQUEST_TIMEOUT_MS = 12_000;

/** Gives the scale; rejects with an ApiError where the server refuses, and else as the client does. */
async function getScale(request: ScaleRequest): Promise<ScaleObject> {
  const { client: { core, untyped }, clock, resource: { plural, isKnown }, namespace, target: { name } } = request;
  using timeout = clock.timeout(REQUEST_TIMEOUT_MS);
  const signal = AbortSignal.any([request.signal, timeout.signal]);
  const init = { params: { path: { namespace, name } }, signal };
  const answer = !isKnown
    ? await untyped({ method: "GET", path: toScalePath(request), signal })
    : plural === "deployments"
    ? await core.GET("/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale", init)
    : await core.GET("/apis/apps/v1/namespaces/{namespace}/statefulsets/{name}/scale", init);
  return toScaleObject(answer);
}

/** Writes the scale, guarded by what stands in `body.metadata`; rejects likewise. */
async function putScale(request: ScaleRequest, body: ScaleObject): Promise<ScaleObject> {
  const { client: { core, untyped }, clock, resource: { plural, isKnown }, namespace, target: { name } } = request;
  using timeout = clock.timeout(REQUEST_TIMEOUT_MS);
  const signal = AbortSignal.any([request.signal, timeout.signal]);
  const init = { params: { path: { namespace, name }, query: { fieldManager: FIELD_MANAGER } }, body, signal };
  const answer = !isKnown
    ? await untyped({ method: "PUT", path: `${toScalePath(request)}?fieldManager=${FIELD_MANAGER}`, body, signal })
    : plural === "deployments"
    ? await core.PUT("/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale", init)
    : await core.PUT("/apis/apps/v1/namespaces/{namespace}/statefulsets/{name}/scale", init);
  return toScaleObject(answer);
}

const FIELD_MANAGER = "podfit";

function toScalePath({ target: { apiVersion, name }, resource: { plural }, namespace }: ScaleRequest): string {
  const place = ["namespaces", namespace, plural, name, "scale"].map(encodeURIComponent).join("/");
  return `${toVersionPath(apiVersion)}/${place}`;
}

interface ScaleResponse {
  readonly data?: unknown;
  readonly error?: unknown;
  readonly response: Response;
}

/** A success without a scale is no proof of one: something on the way may have answered in the server's place. */
function toScaleObject({ data, error, response }: ScaleResponse): ScaleObject {
  if (!response.ok) throw toApiError(response, error);
  if (!isRecord(data) || !isRecord(data.metadata)) {
    throw new Error("the API server answered with success, but without a scale");
  }
  return data as ScaleObject;
}

// Where is the scale of a target? Deployments and StatefulSets are known; any other kind is looked up in the API
// server's discovery (R6).
// https://kubernetes.io/docs/concepts/extend-kubernetes/api-extension/custom-resources/#subresources

/** A target's resource. `null`: the API server has no such kind, or no scale of it. */
type FoundResource =
  | { readonly kind: "found"; readonly plural: string; readonly isKnown: boolean }
  | { readonly kind: "missing"; readonly message: string };

/** Rejects as the client does, and with an ApiError where the lookup is refused for another reason. */
type FindResource = (target: Target, signal: AbortSignal) => Promise<FoundResource>;

const KNOWN_PLURALS: ReadonlyMap<string, string> = new Map([["Deployment", "deployments"], [
  "StatefulSet",
  "statefulsets",
]]);

/** A kind may be installed, or get a scale, at any time. */
const CACHE_MS = 60_000;

/** Of so many versions of groups, which objects name, what was found is kept. */
const MAX_CACHED_VERSIONS = 200;

/** Looks up each version of a group at most once a minute, and once for all who ask meanwhile. */
function createFindResource({ client, clock, timeoutMs }: FindResourceOptions): FindResource {
  const running = new Map<string, Promise<ResourceKinds | null>>();
  const kept = new Map<string, { readonly atMs: number; readonly resources: ResourceKinds | null }>();
  async function lookUp(apiVersion: string): Promise<ResourceKinds | null> {
    using timeout = clock.timeout(timeoutMs);
    try {
      const resources = await fetchResources(client, { apiVersion, signal: timeout.signal });
      if (kept.size > MAX_CACHED_VERSIONS) kept.clear();
      kept.set(apiVersion, { atMs: clock.monotonic(), resources });
      return resources;
    } finally {
      running.delete(apiVersion);
    }
  }

  function share(apiVersion: string): Promise<ResourceKinds | null> {
    const known = running.get(apiVersion);
    if (known !== undefined) return known;
    const looking = lookUp(apiVersion);
    running.set(apiVersion, looking);
    // Whoever asked may be gone by then.
    looking.catch(() => {});
    return looking;
  }

  return async (target, signal) => {
    const { apiVersion, kind } = target;
    const known = apiVersion === "apps/v1" ? KNOWN_PLURALS.get(kind) : undefined;
    if (known !== undefined) return { kind: "found", plural: known, isKnown: true };
    const last = kept.get(apiVersion);
    const isKept = last !== undefined && clock.monotonic() - last.atMs < CACHE_MS;
    return pickResource(isKept ? last.resources : await abortable(share(apiVersion), signal), target);
  };
}

interface FindResourceOptions {
  readonly client: Pick<ApiClient, "untyped">;
  readonly clock: Pick<Clock, "monotonic" | "timeout">;
  /** How long one lookup may take. */
  readonly timeoutMs: number;
}

/** Names of resources and subresources, such as `deployments/scale`, with the kind of each. */
type ResourceKinds = ReadonlyMap<string, string>;

/** `null` when there is no such version of a group. */
async function fetchResources(
  { untyped }: Pick<ApiClient, "untyped">,
  { apiVersion, signal }: { readonly apiVersion: string; readonly signal: AbortSignal },
): Promise<ResourceKinds | null> {
  const { data, error, response } = await untyped({ method: "GET", path: toVersionPath(apiVersion), signal });
  if (response.status === 404) return null;
  if (!response.ok) throw toApiError(response, error);
  const resources = isRecord(data) && Array.isArray(data.resources) ? data.resources : [];
  return new Map(
    resources.flatMap((one: unknown) =>
      isRecord(one) && typeof one.name === "string" && typeof one.kind === "string" && one.namespaced === true
        ? [[one.name, one.kind] as const]
        : []
    ),
  );
}

/** Below `/api` for the group without a name. */
function toVersionPath(apiVersion: string): string {
  const path = apiVersion.split("/").map(encodeURIComponent).join("/");
  return apiVersion.includes("/") ? `/apis/${path}` : `/api/${path}`;
}

function pickResource(resources: ResourceKinds | null, { apiVersion, kind }: Target): FoundResource {
  const prefix = `Cannot scale kind "${kind}" of "${apiVersion}"`;
  const found = [...resources ?? []].find(([name, own]) => own === kind && !name.includes("/"));
  if (found === undefined) return { kind: "missing", message: `${prefix}: the API server has no such kind` };
  const [plural] = found;
  if (resources?.has(`${plural}/scale`) !== true) {
    return { kind: "missing", message: `${prefix}: it has no subresource scale; name a kind that has one` };
  }
  return { kind: "found", plural, isKnown: false };
}
