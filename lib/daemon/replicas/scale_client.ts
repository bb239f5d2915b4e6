/**
 * Reads and writes the scale subresource of targets. Other kinds than Deployment and StatefulSet are found by API
 * discovery. A failed read becomes a blocker, and the result of a write an answer. Neither rejects.
 */
import type { Scale as ScaleObject } from "../../api/kubernetes.ts";
import type { ApiClient } from "../../kube/client.ts";
import { ApiError, getErrorMessage, toApiError } from "../../kube/errors.ts";
import type { Blocker, Scale, ScaleAnswer, ScaleWrite, TargetFault } from "../../model/replicas_decision.ts";
import type { Target } from "../../model/scaled_object.ts";
import { AnswerCache, type CacheableAnswer } from "../../runtime/cache.ts";
import type { Clock } from "../../runtime/clock.ts";
import { Semaphore } from "../../runtime/limits.ts";
import { abortable } from "../../runtime/tasks.ts";
import { parseSelectorText, type Selector } from "../../units/selector.ts";
import { isRecord } from "../../units/untrusted.ts";
import { type AcquirePermit, findBusy, NotSent, type ResizePermit } from "../permits.ts";

export type ScaleReading =
  /** `selector` is never empty. */
  | { readonly kind: "read"; readonly scale: Scale; readonly selector: Selector }
  | { readonly kind: "obstacle"; readonly blocker: Blocker };

/** A write, and its target. `mayWrite` is asked right before the request is sent. */
interface WriteRequest extends TargetPlace {
  readonly write: ScaleWrite;
  readonly mayWrite: () => boolean;
  readonly signal: AbortSignal;
}

export interface ScaleClient {
  /** `isAsked`: by a request, whatever a watch shows. */
  readonly get: (
    place: TargetPlace,
    signal: AbortSignal,
    options?: { readonly isAsked: boolean },
  ) => Promise<ScaleReading>;
  readonly write: (request: WriteRequest) => Promise<ScaleAnswer>;
}

/** Permits are shared with resizes. */
interface ScaleClientOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly acquirePermit: AcquirePermit;
}

/** How many scales are read or written at once. A namespace alone has half of them. */
const MAX_CONCURRENT = 32;

export function createScaleClient(options: ScaleClientOptions): ScaleClient {
  const findResource = createFindResource({ ...options, timeoutMs: REQUEST_TIMEOUT_MS });
  const slots = new Semaphore(MAX_CONCURRENT, { isShared: true });
  return {
    async get(place, signal) {
      try {
        const resource = await findResource(place.target, signal);
        if (resource.kind === "missing") {
          const { message, fault } = resource;
          return toBlocker({ kind: "check", reason: "TargetNotFound", message, fault });
        }
        using _slot = await slots.acquire(signal, { lane: place.namespace });
        return toReading(await getScale({ ...options, ...place, resource, signal }), resource);
      } catch (error) {
        return toReadFailure(error, place.target);
      }
    },
    write: (request) => writeScale(request, { ...options, findResource, slots }),
  };
}

interface WatchedScalesOptions {
  readonly clock: Pick<Clock, "monotonic">;
  /** The scale as a watch shows it; `null` where a watch does not show it, or may be late. */
  readonly findScale: (workload: {
    readonly kind: "deployment" | "statefulset";
    readonly namespace: string;
    readonly name: string;
  }) => Scale | null;
}

/** After this time the API server is asked again, so that a right that was taken away is noticed. */
const ASK_AGAIN_MS = 300_000;

/**
 * Returns a client that takes the scale of a Deployment or StatefulSet from podfit's watch, and asks the API server only
 * at first, after each write and each failure, and every 5 min. A selector cannot change, so that of the last answer is
 * used.
 *
 * The watch may be a little late. It is not used before it shows what the API server has answered last, so it does not
 * show replicas from before podfit's own write. And no write follows from replicas of the past: each write names the
 * version that its decision was made on. If that is not the newest, the API server refuses it, the scale is read again,
 * and other replicas than those of the decision end the write. Clauses: R30, R46.
 */
export function createWatchedScales(scales: ScaleClient, { clock, findScale }: WatchedScalesOptions): ScaleClient {
  const answers = new Map<string, { readonly atMs: number; readonly scale: Scale; readonly selector: Selector }>();
  const toKey = ({ namespace, target: { apiVersion, kind, name } }: TargetPlace) =>
    [namespace, apiVersion, kind, name].join("/");

  function findCurrent({ namespace, target: { apiVersion, kind, name } }: TargetPlace): Scale | null {
    const known = apiVersion === "apps/v1" ? WATCHED_KINDS.get(kind) : undefined;
    return known === undefined ? null : findScale({ kind: known, namespace, name });
  }

  function forgetOld(nowMs: number): void {
    // The oldest are first.
    for (const [key, { atMs }] of answers) {
      if (nowMs - atMs < ASK_AGAIN_MS) return;
      answers.delete(key);
    }
  }

  return {
    async get(place, signal, { isAsked } = { isAsked: false }) {
      const key = toKey(place);
      forgetOld(clock.monotonic());
      const [answer, current] = [answers.get(key), findCurrent(place)];
      if (!isAsked && answer !== undefined && current !== null && isNotBefore(current, answer.scale)) {
        return { kind: "read", scale: current, selector: answer.selector };
      }
      answers.delete(key);
      const reading = await scales.get(place, signal);
      const { scale, selector } = reading.kind === "read" ? reading : { scale: null, selector: null };
      if (scale !== null && current !== null) answers.set(key, { atMs: clock.monotonic(), scale, selector });
      return reading;
    },
    async write(request) {
      try {
        return await scales.write(request);
      } finally {
        answers.delete(toKey(request));
      }
    },
  };
}

const WATCHED_KINDS: ReadonlyMap<string, "deployment" | "statefulset"> = new Map([["Deployment", "deployment"], [
  "StatefulSet",
  "statefulset",
]]);

/** Versions of one object are numbers that grow: https://kep.k8s.io/5504. Others are compared for equality. */
function isNotBefore(current: Scale, answer: Scale): boolean {
  const [one, other] = [current.resourceVersion, answer.resourceVersion];
  if (current.uid !== answer.uid) return false;
  if (!/^\d+$/.test(one) || !/^\d+$/.test(other)) return one === other;
  return BigInt(one) >= BigInt(other);
}

type WriteOptions = ScaleClientOptions & { readonly findResource: FindResource; readonly slots: Semaphore };

/** Writes again where another writer has changed the scale in between but not the replicas. Clauses: R46. */
async function writeScale(request: WriteRequest, options: WriteOptions): Promise<ScaleAnswer> {
  const { signal, namespace, target, mayWrite, write } = request;
  // More replicas are missing now; less replicas only cost less.
  const isUrgent = write.replicas > write.from.replicas;
  using permit = await options.acquirePermit(signal, { namespace, isUrgent });
  if (permit === null || !mayWrite()) return refundPermit(permit);
  try {
    const resource = await options.findResource(target, signal);
    if (resource.kind === "missing") return { kind: "refused", code: 404, message: resource.message };
    using _slot = await options.slots.acquire(signal, { lane: namespace, isUrgent });
    // The wait for the slot can be long.
    if (!mayWrite()) return refundPermit(permit);
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

/** Returns whether the same write may be accepted soon, because the refusal is not final. */
export function isRetryable(answer: ScaleAnswer): boolean {
  if (answer.kind !== "refused") return answer.kind === "dropped" || answer.kind === "unanswered";
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

/** An unanswered write may have arrived: the next read shows it. */
function toScaleAnswer(error: unknown): ScaleAnswer {
  if (error instanceof NotSent) return { kind: "dropped" };
  if (error instanceof ApiError) return { kind: "refused", code: error.code, message: error.message };
  return { kind: "unanswered", message: getErrorMessage(error) };
}

/** Go omits fields that are zero. Clauses: R30. */
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

/** A missing target, scale or right is a problem of the target. All other failures may end soon. Clauses: R6, R30. */
function toReadFailure(error: unknown, { apiVersion, kind, name }: Target): ScaleReading {
  const message = getErrorMessage(error);
  if (!(error instanceof ApiError)) return toBlocker({ kind: "scale", message });
  const text = `Cannot scale "${name}" of kind "${apiVersion}.${kind}": ${message}`;
  if (error.code === 404) {
    return toBlocker({
      kind: "check",
      reason: "TargetNotFound",
      message: text,
      fault: "Target resource doesn't exist",
    });
  }
  if (error.code === 403) {
    return toBlocker({ kind: "check", reason: "Rights", message: `${text}; grant get and update of its scale` });
  }
  return toBlocker({ kind: "scale", message });
}

/** A target and its namespace. */
export interface TargetPlace {
  readonly namespace: string;
  readonly target: Target;
}

interface ScaleRequest extends TargetPlace {
  readonly client: Pick<ApiClient, "core" | "untyped">;
  readonly clock: Pick<Clock, "timeout">;
  readonly resource: Extract<FoundResource, { readonly kind: "found" }>;
  readonly signal: AbortSignal;
}

/** The timeout of each request for ScaledObjects. */
export const REQUEST_TIMEOUT_MS = 12_000;

/** Returns the scale. Rejects with an ApiError where the server refuses, otherwise as the client does. */
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

/** Writes the scale. `metadata` in the body guards the write. Rejects as `getScale` does. */
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

/** A success without a scale proves nothing: a proxy may have answered instead of the API server. */
function toScaleObject({ data, error, response }: ScaleResponse): ScaleObject {
  if (!response.ok) throw toApiError(response, error);
  if (!isRecord(data) || !isRecord(data.metadata)) {
    throw new Error("the API server answered with success, but without a scale");
  }
  return data as ScaleObject;
}

/** The resource of a target. "missing" = the API server does not have the kind, or the kind does not have a scale. */
type FoundResource =
  | { readonly kind: "found"; readonly plural: string; readonly isKnown: boolean }
  | { readonly kind: "missing"; readonly message: string; readonly fault: TargetFault };

/** Rejects as the client does, or with an ApiError where the lookup is refused for another reason. */
type FindResource = (target: Target, signal: AbortSignal) => Promise<FoundResource>;

const KNOWN_PLURALS: ReadonlyMap<string, string> = new Map([["Deployment", "deployments"], [
  "StatefulSet",
  "statefulsets",
]]);

/** A kind may be installed, or get a scale, at any time. */
const CACHE_MS = 60_000;

/** How many versions of groups are cached. */
const MAX_CACHED_VERSIONS = 200;

/**
 * Returns a lookup that asks for each version of a group at most once a minute. Callers at the same time share one
 * request.
 * https://kubernetes.io/docs/concepts/extend-kubernetes/api-extension/custom-resources/#subresources
 * Clauses: R6.
 */
function createFindResource(options: FindResourceOptions): FindResource {
  const find = createFindKinds(options);
  return async (target, signal) => {
    const { apiVersion, kind } = target;
    const known = apiVersion === "apps/v1" ? KNOWN_PLURALS.get(kind) : undefined;
    if (known !== undefined) return { kind: "found", plural: known, isKnown: true };
    return pickResource(await find(apiVersion, signal), target);
  };
}

type FindKinds = (apiVersion: string, signal: AbortSignal) => Promise<ResourceKinds | null>;

function createFindKinds({ client, clock, timeoutMs }: FindResourceOptions): FindKinds {
  const cache = new AnswerCache<ResourceKinds | null>({ clock, maxEntries: MAX_CACHED_VERSIONS });
  async function lookUp(apiVersion: string): Promise<CacheableAnswer<ResourceKinds | null>> {
    using timeout = clock.timeout(timeoutMs);
    return { value: await fetchResources(client, { apiVersion, signal: timeout.signal }), keepMs: CACHE_MS };
  }

  return (apiVersion, signal) => abortable(cache.get(apiVersion, () => lookUp(apiVersion)), signal);
}

/** Returns a lookup of the plural name of a kind in namespaces. It rejects if there is none. Clauses: M17. */
export function createFindPlural(options: FindResourceOptions): (
  kind: Pick<Target, "apiVersion" | "kind">,
  signal: AbortSignal,
) => Promise<string> {
  const find = createFindKinds(options);
  return async ({ apiVersion, kind }, signal) => {
    const plural = findPlural(await find(apiVersion, signal), kind);
    if (plural === null) throw new Error(`the API server has no kind "${kind}" of "${apiVersion}" in namespaces`);
    return plural;
  };
}

interface FindResourceOptions {
  readonly client: Pick<ApiClient, "untyped">;
  readonly clock: Pick<Clock, "monotonic" | "timeout">;
  /** The timeout of one lookup, ms. */
  readonly timeoutMs: number;
}

/** The kinds of resources and subresources by name, such as `deployments/scale`. */
type ResourceKinds = ReadonlyMap<string, string>;

/** Returns `null` where the version of the group does not exist. */
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

/** The core group has no name, and its paths start with `/api`. */
function toVersionPath(apiVersion: string): string {
  const path = apiVersion.split("/").map(encodeURIComponent).join("/");
  return apiVersion.includes("/") ? `/apis/${path}` : `/api/${path}`;
}

function pickResource(resources: ResourceKinds | null, { apiVersion, kind }: Target): FoundResource {
  const prefix = `Cannot scale kind "${kind}" of "${apiVersion}"`;
  const plural = findPlural(resources, kind);
  if (plural === null) {
    const message = `${prefix}: the API server has no such kind`;
    return { kind: "missing", message, fault: "Target resource doesn't exist" };
  }
  if (resources?.has(`${plural}/scale`) !== true) {
    const message = `${prefix}: it has no subresource scale; name a kind that has one`;
    return { kind: "missing", message, fault: "Target resource doesn't expose /scale subresource" };
  }
  return { kind: "found", plural, isKnown: false };
}

function findPlural(resources: ResourceKinds | null, kind: string): string | null {
  const found = [...resources ?? []].find(([name, own]) => own === kind && !name.includes("/"));
  return found?.[0] ?? null;
}
