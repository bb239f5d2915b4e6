/**
 * How does a kubelet write statuses? A patch of the difference, the newest write of each key, with retries.
 * Only the newest write of each key is sent, and a failed one is tried again with growing waits.
 */
import type { Pod, PodCondition } from "../../api/kubernetes.ts";
import { backoffMs } from "../../runtime/backoff.ts";
import type { Clock } from "../../runtime/clock.ts";
import { Semaphore } from "../../runtime/limits.ts";
import { untilAborted } from "../../runtime/tasks.ts";
import { formatTime } from "../../units/time.ts";
import { isObject, type Json, type JsonObject } from "../json.ts";
import { isDeepEqual } from "../../units/equality.ts";
import type { PodStatus } from "../model/state.ts";

/** How items are sent, and how a failure is waited out. */
export interface WriteQueueOptions<T> {
  readonly clock: Clock;
  readonly random: () => number;
  /** Sends an item. It is tried again when this rejects. */
  readonly send: (matter: T, key: string) => Promise<void>;
  readonly onError: (error: unknown) => void;
  /** Tries after which a matter is dropped. */
  readonly maxTries?: number;
  /** Keys that wait; more are dropped. */
  readonly maxKeys?: number;
  /** How many are sent at once. */
  readonly width?: number;
}

/** Items to be sent, one after the other for each key, of which only the newest counts. */
export class WriteQueue<T> {
  readonly #options: WriteQueueOptions<T>;
  readonly #waiting = new Map<string, T>();
  readonly #sending = new Map<string, Promise<void>>();
  readonly #limit: Semaphore;
  #signal: AbortSignal | null = null;

  constructor(options: WriteQueueOptions<T>) {
    this.#options = options;
    this.#limit = new Semaphore(options.width ?? 8);
  }

  put(key: string, matter: T): void {
    if (!this.#waiting.has(key) && this.#waiting.size >= (this.#options.maxKeys ?? Infinity)) return;
    this.#waiting.set(key, matter);
    this.#start(key);
  }

  forget(key: string): void {
    this.#waiting.delete(key);
  }

  /** Sends until the signal aborts. Items that wait then are sent by the next run. */
  async run(signal: AbortSignal): Promise<void> {
    this.#signal = signal;
    for (const key of this.#waiting.keys()) this.#start(key);
    await untilAborted(signal);
    this.#signal = null;
    await Promise.all(this.#sending.values());
  }

  #start(key: string): void {
    const signal = this.#signal;
    if (signal === null || this.#sending.has(key)) return;
    const sending = this.#sendAll(key, signal).finally(() => {
      this.#sending.delete(key);
      // It came when the last one had just been sent.
      if (this.#waiting.has(key) && !signal.aborted) this.#start(key);
    });
    this.#sending.set(key, sending);
  }

  async #sendAll(key: string, signal: AbortSignal): Promise<void> {
    const { clock, random, send, onError, maxTries = Infinity } = this.#options;
    for (let tries = 0; !signal.aborted && this.#waiting.has(key);) {
      const matter = this.#waiting.get(key) as T;
      try {
        using _slot = await this.#limit.acquire(signal);
        // A newer one may have come while this one waited.
        const newest = this.#waiting.get(key) ?? matter;
        await send(newest, key);
        if (this.#waiting.get(key) === newest) this.#waiting.delete(key);
        tries = 0;
      } catch (error) {
        if (signal.aborted) return;
        onError(error);
        if (++tries >= maxTries) {
          this.#waiting.delete(key);
          return;
        }
        await clock.sleep(backoffMs(tries - 1, { ...RETRY, random }), signal).catch(() => {});
      }
    }
  }
}

/**
 * `null` when the API has it so already.
 * https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-readiness-gate
 */
export function toStatusPatch(status: PodStatus, { pod, written, now }: StatusContext): JsonObject | null {
  const next = toGated(status, { pod, written, now });
  const { conditions = [], ...rest } = next;
  const known = pod.status ?? {};
  if (written !== null && isDeepEqual(toJson(next), toJson(written)) && isThere(next, known)) return null;
  const gone = OWN.filter((type) =>
    [known, written].some((one) => one?.conditions?.some((condition) => condition.type === type)) &&
    !conditions.some((condition) => condition.type === type)
  );
  const before = { ...objectOf(known), ...objectOf(written) };
  const patch = toDifference(before, objectOf(rest));
  return {
    metadata: { uid: pod.metadata?.uid ?? "" },
    status: {
      ...patch,
      "$setElementOrder/conditions": conditions.map(({ type }) => ({ type })),
      conditions: [
        ...conditions.map((one) => ({ ...listRemoved(one, [known, written]), ...objectOf(one) })),
        ...gone.map((type) => ({ $patch: "delete", type })),
      ],
    },
  };
}

/** The conditions with Ready as the pod's readiness gates make it. */
export function toGated(status: PodStatus, { pod, written, now }: StatusContext): PodStatus {
  const closed = (pod.spec?.readinessGates ?? []).flatMap(({ conditionType }) => {
    const found = pod.status?.conditions?.find(({ type }) => type === conditionType);
    if (found?.status === "True") return [];
    return found === undefined
      ? [`corresponding condition of pod readiness gate "${conditionType}" does not exist.`]
      : [`the status of pod readiness gate "${conditionType}" is not "True", but ${found.status}`];
  });
  if ((pod.spec?.readinessGates ?? []).length === 0) return status;
  const conditions = (status.conditions ?? []).map((condition): PodCondition => {
    if (condition.type !== "Ready") return condition;
    const { reason: _reason, message: _message, ...bare } = condition;
    const next = condition.status !== "True" || closed.length === 0
      ? condition
      : { ...bare, status: "False", reason: "ReadinessGatesNotReady", message: closed.join(", ") };
    const old = written?.conditions?.find(({ type }) => type === "Ready");
    const since = old?.status === next.status ? old.lastTransitionTime : undefined;
    return { ...next, lastTransitionTime: since ?? formatTime(now) };
  });
  return { ...status, conditions };
}

const RETRY = { baseMs: 200, maxMs: 10_000 };

/** What a status is compared with. */
interface StatusContext {
  /** The pod as the API had it last. */
  readonly pod: Pod;
  /** The status that was written last, which a watch may not have brought back yet; `null` for none. */
  readonly written: PodStatus | null;
  readonly now: number;
}

/** Conditions that are the kubelet's. */
const OWN = [
  "PodResizePending",
  "PodResizeInProgress",
  "PodReadyToStartContainers",
  "Initialized",
  "Ready",
  "ContainersReady",
  "PodScheduled",
];

/** The parts of a status that are not the kubelet's. */
const OTHERS = ["conditions", "nominatedNodeName"];

/** A merge patch from one object to the other; lists are replaced. */
function toDifference(before: JsonObject, after: JsonObject): JsonObject {
  const patch: JsonObject = {};
  for (const [key, value] of Object.entries(after)) {
    const old = before[key];
    if (isDeepEqual(old, value)) continue;
    patch[key] = isObject(value) && isObject(old) ? toDifference(old, value) : value;
  }
  for (const key of Object.keys(before)) if (!(key in after) && !OTHERS.includes(key)) patch[key] = null;
  return patch;
}

/** A condition that is True again has no reason any more. */
function listRemoved(condition: PodCondition, before: readonly (PodStatus | null)[]): JsonObject {
  const old = before.flatMap((one) => one?.conditions?.filter(({ type }) => type === condition.type) ?? []);
  const keys = (["reason", "message"] as const).filter((key) => condition[key] === undefined);
  return Object.fromEntries(keys.filter((key) => old.some((one) => one[key] !== undefined)).map((key) => [key, null]));
}

/** Somebody else may have written over it. */
function isThere(next: PodStatus, known: PodStatus): boolean {
  return next.phase === known.phase && next.observedGeneration === known.observedGeneration &&
    OWN.every((type) => {
      const [one, other] = [next, known].map(({ conditions }) => conditions?.find((each) => each.type === type));
      return one?.status === other?.status;
    });
}

function objectOf(value: unknown): JsonObject {
  const json = toJson(value);
  return isObject(json) ? json : {};
}

function toJson(value: unknown): Json {
  return JSON.parse(JSON.stringify(value ?? null));
}
