/**
 * Reads and writes the scale of targets. What stands in the way of reading becomes an obstacle (R6, R30); what becomes of a write is an answer
 * (R46). Neither rejects.
 */
import type { Scale as ScaleObject } from "../../api/kubernetes.ts";
import type { Obstacle, Scale, ScaleAnswer, ScaleWrite } from "../../core/replicas/input.ts";
import { ApiError } from "../../kube/api_error.ts";
import type { ApiClient } from "../../kube/client.ts";
import { readMessage } from "../../kube/network_error.ts";
import type { Clock } from "../../runtime/clock.ts";
import { Limit } from "../../runtime/limit.ts";
import type { Target } from "../../scaled_object/scaled_object.ts";
import { parseSelectorText } from "../../units/parse_selector_text.ts";
import type { Selector } from "../../units/selector.ts";
import { readBusy } from "../act/busy.ts";
import { NotSent } from "../act/fence.ts";
import type { TakeTurn, Turn } from "../act/turns.ts";
import { getScale, putScale, REQUEST_MS, type ScaleRequest, type TargetPlace } from "./scale_requests.ts";
import { createFindResource, type FindResource } from "./target_paths.ts";

/** What reading a scale gave. */
export type ScaleReading =
  /** `selector` is never empty. */
  | { readonly kind: "read"; readonly scale: Scale; readonly selector: Selector }
  | { readonly kind: "obstacle"; readonly obstacle: Obstacle };

/** A write, where it goes, and whether it is still wanted right before it is sent. */
export interface WriteRequest extends TargetPlace {
  readonly write: ScaleWrite;
  readonly mayWrite: () => boolean;
  readonly signal: AbortSignal;
}

export interface ScaleClient {
  readonly read: (place: TargetPlace, signal: AbortSignal) => Promise<ScaleReading>;
  readonly write: (request: WriteRequest) => Promise<ScaleAnswer>;
}

/** Where scales are, and how many writes may begin: resizes take their turns too. */
export interface ScaleClientOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly takeTurn: TakeTurn;
}

/** So many scales are read or written at once. */
const AT_ONCE = 16;

export function createScaleClient(options: ScaleClientOptions): ScaleClient {
  const findResource = createFindResource({ ...options, timeoutMs: REQUEST_MS });
  const slots = new Limit(AT_ONCE);
  return {
    async read(place, signal) {
      try {
        const resource = await findResource(place.target, signal);
        if (resource.kind === "missing") {
          return toObstacle({ kind: "check", reason: "TargetNotFound", message: resource.message });
        }
        using _slot = await slots.acquire(signal);
        return toReading(await getScale({ ...options, ...place, resource, signal }), resource);
      } catch (error) {
        return toFailure(error, place.target);
      }
    },
    write: (request) => write(request, { ...options, findResource, slots }),
  };
}

type WriteOptions = ScaleClientOptions & { readonly findResource: FindResource; readonly slots: Limit };

/** Once more where somebody else wrote meanwhile, and left the replicas as they were (R46). */
async function write(request: WriteRequest, options: WriteOptions): Promise<ScaleAnswer> {
  const { signal, target, mayWrite } = request;
  using turn = await options.takeTurn(signal, { isUrgent: false });
  if (turn === null || !mayWrite()) return giveBack(turn);
  try {
    const resource = await options.findResource(target, signal);
    if (resource.kind === "missing") return { kind: "refused", code: 404, message: resource.message };
    using _slot = await options.slots.acquire(signal);
    const scaleRequest: ScaleRequest = { ...options, ...request, resource };
    const first = await put(scaleRequest, request.write, turn);
    if (first !== CONFLICT) return first;
    const anew = toScale(await getScale(scaleRequest), resource);
    const { from } = request.write;
    if (anew.uid !== from.uid || anew.replicas !== from.replicas || !mayWrite()) return { kind: "dropped" };
    const second = await put(scaleRequest, { ...request.write, from: anew }, turn);
    return second === CONFLICT ? { kind: "dropped" } : second;
  } catch (error) {
    return toScaleAnswer(error);
  }
}

/** Whether the same write may be accepted soon: nobody has refused it for good. */
export function mayPass(answer: ScaleAnswer): boolean {
  if (answer.kind !== "refused") return answer.kind !== "accepted";
  return answer.code === 409 || answer.code === 429 || answer.code >= 500;
}

const CONFLICT = Symbol("conflict");

function giveBack(turn: Turn | null): ScaleAnswer {
  turn?.giveBack();
  return { kind: "dropped" };
}

async function put(
  request: ScaleRequest,
  { from, replicas }: ScaleWrite,
  turn: Turn,
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
    turn.note(null);
    return { kind: "accepted", replicas: written.spec?.replicas ?? 0 };
  } catch (error) {
    if (error instanceof ApiError) turn.note(readBusy(error));
    if (error instanceof ApiError && error.code === 409) return CONFLICT;
    return toScaleAnswer(error);
  }
}

/** Whether it has arrived shows when the scale is read next. */
function toScaleAnswer(error: unknown): ScaleAnswer {
  if (error instanceof NotSent) return { kind: "dropped" };
  if (error instanceof ApiError) return { kind: "refused", code: error.code, message: error.message };
  return { kind: "unanswered", message: readMessage(error) };
}

/** Go leaves out what is zero (R30). */
function toScale({ metadata, spec, status }: ScaleObject, { plural, isKnown }: Resource): Scale {
  return {
    replicas: spec?.replicas ?? 0,
    statusReplicas: status?.replicas ?? 0,
    resourceVersion: metadata?.resourceVersion ?? "",
    uid: metadata?.uid ?? "",
    ...(!isKnown && { resource: plural }),
  };
}

interface Resource {
  readonly plural: string;
  readonly isKnown: boolean;
}

function toReading(object: ScaleObject, resource: Resource): ScaleReading {
  const text = object.status?.selector ?? "";
  if (text === "") return toInvalidSelector("the target's scale is missing a selector");
  const parsed = parseSelectorText(text, "status.selector");
  if (!parsed.ok) return toInvalidSelector(parsed.problems.map(({ message }) => message).join("; "));
  return { kind: "read", scale: toScale(object, resource), selector: parsed.selector };
}

function toInvalidSelector(message: string): ScaleReading {
  return toObstacle({ kind: "selector", reason: "InvalidSelector", message });
}

function toObstacle(obstacle: Obstacle): ScaleReading {
  return { kind: "obstacle", obstacle };
}

/** No target, no scale and no right are the target's (R6); all else may be over soon (R30). */
function toFailure(error: unknown, { apiVersion, kind, name }: Target): ScaleReading {
  const message = readMessage(error);
  if (!(error instanceof ApiError)) return toObstacle({ kind: "scale", message });
  const words = `Cannot scale "${name}" of kind "${apiVersion}.${kind}": ${message}`;
  if (error.code === 404) return toObstacle({ kind: "check", reason: "TargetNotFound", message: words });
  if (error.code === 403) {
    return toObstacle({ kind: "check", reason: "Rights", message: `${words}; grant get and update of its scale` });
  }
  return toObstacle({ kind: "scale", message });
}
