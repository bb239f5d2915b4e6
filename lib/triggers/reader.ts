/**
 * The external triggers of one ScaledObject: all are asked in parallel. One that failed fast is asked once more with fresh
 * credentials. One that took a second or more to fail is not: its server has enough to do.
 *
 * Both loops share one query where they are due in the same second. A trigger with useCachedMetrics gives the scaling
 * loop the value of the last activation loop. Where polling has no effect, the activation loop takes the last value. So
 * does each loop for a cron trigger within one minute.
 */
import { type ExternalTrigger, isPolled, listExternalTriggers, type ScaledObject } from "../model/scaled_object.ts";
import type { TriggerReading } from "../model/replicas_decision.ts";
import type { Clock } from "../runtime/clock.ts";
import { createTriggerCredentials, type FetchCredentials, type TriggerCredentials } from "./credentials.ts";
import { fetchTriggerValue, type ValueSources } from "./value.ts";

export type TriggerLoop = "poll" | "tick";

/** A reading for the decision. Clauses: R8, R19. */
type ExternalReading = Exclude<TriggerReading, { readonly kind: "pods" }>;

type TriggersResult =
  /** One reading for each external trigger, by its index. */
  | { readonly kind: "read"; readonly readings: ReadonlyMap<number, ExternalReading> }
  /** A secret, an authentication or a parameter does not exist: nothing may be written. */
  | { readonly kind: "obstructed"; readonly message: string };

export interface TriggerReaderOptions extends ValueSources {
  readonly clock: Pick<Clock, "monotonic">;
  readonly fetchCredentials: FetchCredentials;
  /** Called for each query, also a repeated one, and not for a reused reading. */
  readonly onAsked?: (asked: Asked) => void;
}

export interface Asked {
  readonly trigger: ExternalTrigger;
  readonly seconds: number;
  readonly isEmpty: boolean;
}

/** For one ScaledObject; one call at a time. */
export interface TriggerReader {
  /** `now` is when the loop was due, epoch ms. Rejects only with the signal's reason. */
  read(
    object: ScaledObject,
    half: TriggerLoop,
    options: { readonly now: number; readonly signal: AbortSignal },
  ): Promise<TriggersResult>;
  /** Makes the next use fetch all credentials again: an authentication has changed. */
  forgetCredentials(): void;
}

/**
 * Returns a reader that shares queries between both loops, and repeats a failed one once. Clauses: R8, R19, R50, R70.
 */
export function createTriggerReader(options: TriggerReaderOptions): TriggerReader {
  let memory: ReaderMemory | null = null;

  async function read(
    object: ScaledObject,
    half: TriggerLoop,
    { now, signal }: { now: number; signal: AbortSignal },
  ): Promise<TriggersResult> {
    const id = `${object.uid} ${object.generation}`;
    const known = memory?.id === id ? memory : createMemory(id, object.namespace, options.fetchCredentials);
    memory = known;
    const context: ReadContext = { object, now, signal, options, credentials: known.credentials };
    const served = listServed(known, { object, half, now });
    const asked = listExternalTriggers(object).filter(({ index }) => !served.has(index));
    const answers = await Promise.all(
      asked.map(async (trigger) => [trigger.index, await askTwice(trigger, context)] as const),
    );
    signal.throwIfAborted();
    const fresh = new Map<number, ExternalReading>();
    for (const [index, answer] of answers) {
      if (answer.kind === "obstructed") {
        forgetReadings(known);
        return answer;
      }
      fresh.set(index, answer);
    }
    const readings = new Map([...served, ...fresh]);
    known.last = { half, second: toSecond(now), readings: fresh };
    for (const [index, reading] of fresh) known.latest.set(index, { half, at: now, reading });
    if (half === "poll") known.polled = readings;
    return { kind: "read", readings };
  }

  return {
    read,
    forgetCredentials() {
      if (memory === null) return;
      memory.credentials = createTriggerCredentials(memory.namespace, options.fetchCredentials);
    },
  };
}

/** What one generation of the object keeps for the next call. */
interface ReaderMemory {
  readonly id: string;
  readonly namespace: string;
  credentials: TriggerCredentials;
  /** What the last call queried. */
  last:
    | { readonly half: TriggerLoop; readonly second: number; readonly readings: ReadonlyMap<number, ExternalReading> }
    | null;
  /** The readings of the last activation loop. */
  polled: ReadonlyMap<number, ExternalReading>;
  readonly latest: Map<number, KeptReading>;
}

/** The last reading of a trigger, for which loop it was, and when that was due, epoch ms. */
interface KeptReading {
  readonly half: TriggerLoop;
  readonly at: number;
  readonly reading: ExternalReading;
}

function createMemory(id: string, namespace: string, fetchCredentials: FetchCredentials): ReaderMemory {
  return {
    id,
    namespace,
    credentials: createTriggerCredentials(namespace, fetchCredentials),
    last: null,
    polled: new Map(),
    latest: new Map(),
  };
}

/** While something is missing, no old value takes the place of an answer: each loop asks. */
function forgetReadings(memory: ReaderMemory): void {
  memory.last = null;
  memory.polled = new Map();
  memory.latest.clear();
}

function toSecond(now: number): number {
  return Math.floor(now / 1000);
}

function toMinute(now: number): number {
  return Math.floor(now / 60_000);
}

interface ReadRequest {
  readonly object: ScaledObject;
  readonly half: TriggerLoop;
  readonly now: number;
}

/** An HPA asks this often. */
const ROUND_MS = 15_000;

/**
 * Returns the readings that need no query: those that the other loop has just fetched, in scaling loops those of
 * cached triggers, and the last ones of the round.
 */
function listServed(
  { last, polled, latest }: ReaderMemory,
  request: ReadRequest,
): ReadonlyMap<number, ExternalReading> {
  const { object, half, now } = request;
  const served = new Map<number, ExternalReading>();
  for (const trigger of listExternalTriggers(object)) {
    const isShared = last !== null && last.half !== half && last.second === toSecond(now);
    const shared = isShared ? last.readings.get(trigger.index) : undefined;
    const cached = trigger.isCached && half === "tick" ? polled.get(trigger.index) : undefined;
    const kept = latest.get(trigger.index);
    // The wall clock may have been set back.
    const isRecent = kept !== undefined && Math.abs(now - kept.at) < ROUND_MS;
    const recent = isRecent && mayKeep(kept, trigger, request) ? kept.reading : undefined;
    const reading = shared ?? cached ?? recent;
    if (reading !== undefined) served.set(trigger.index, { ...reading, isCounted: false });
  }
  return served;
}

/**
 * KEDA counts each question that fails, and serves the fallback's value after some. A cron schedule begins and ends at
 * whole minutes. A trigger that works is not asked for an activation loop that can change no replicas. And where KEDA
 * measures, the activation loop takes the value of the scaling loop: at zero replicas that one does not run.
 * Clauses: R8, M13.
 */
function mayKeep(
  kept: KeptReading,
  { source }: ExternalTrigger,
  { object, half, now }: ReadRequest,
): boolean {
  if (source.kind === "keda" && object.fallback !== null) return true;
  if (kept.reading.kind !== "value") return false;
  if (source.kind === "cron" && toMinute(kept.at) === toMinute(now)) return true;
  if (half !== "poll") return false;
  return !isPolled(object) || (source.kind === "keda" && kept.half === "tick");
}

interface ReadContext {
  readonly object: ScaledObject;
  readonly now: number;
  readonly signal: AbortSignal;
  readonly options: TriggerReaderOptions;
  readonly credentials: TriggerCredentials;
}

type AskOutcome = ExternalReading | Extract<TriggersResult, { kind: "obstructed" }>;

/** A query that failed later than this is not repeated, ms. */
export const SLOW_MS = 1_000;

async function askTwice(trigger: ExternalTrigger, context: ReadContext): Promise<AskOutcome> {
  const { source } = trigger;
  if (source.kind === "invalid") return { kind: "failed", message: source.problem, isCounted: true };
  const first = await askOnce(trigger, context);
  if (first.outcome.kind !== "failed" || context.signal.aborted) return first.outcome;
  context.credentials.forget(trigger);
  // KEDA counts each question.
  if (source.kind === "keda" && context.object.fallback !== null) return first.outcome;
  return first.isSlow ? first.outcome : (await askOnce(trigger, context)).outcome;
}

/** The same trigger, measured by KEDA: podfit cannot use its authentication. Clauses: M10. */
function toKedas(trigger: ExternalTrigger, { name }: ScaledObject): ExternalTrigger {
  return { ...trigger, source: { kind: "keda", object: name, problem: null } };
}

async function askOnce(
  trigger: ExternalTrigger,
  { object, now, signal, options, credentials: held }: ReadContext,
): Promise<{ readonly outcome: AskOutcome; readonly isSlow: boolean }> {
  const startedMs = options.clock.monotonic();
  const resolved = await held.get(trigger, signal);
  const isKedas = trigger.source.kind !== "keda" && trigger.isServedByKeda;
  if (resolved.kind !== "resolved" && !isKedas) {
    const isSlow = options.clock.monotonic() - startedMs >= SLOW_MS;
    const { message } = resolved;
    if (resolved.kind === "missing") return { outcome: { kind: "obstructed", message }, isSlow };
    return { outcome: { kind: "failed", message, isCounted: true }, isSlow };
  }
  const askedMs = options.clock.monotonic();
  const { namespace } = object;
  const credentials = resolved.kind === "resolved" ? resolved.credentials : {};
  const asked = resolved.kind === "resolved" ? trigger : toKedas(trigger, object);
  const answer = await fetchTriggerValue(asked, options, { namespace, credentials, now, signal });
  options.onAsked?.({ trigger, seconds: (options.clock.monotonic() - askedMs) / 1000, isEmpty: answer.isEmpty });
  if (answer.kind === "value") {
    const { isEmpty, ...exact } = answer;
    return { outcome: { ...exact, isCounted: true, ...(isEmpty && { isEmpty }) }, isSlow: false };
  }
  return { outcome: { kind: "failed", message: answer.message, isCounted: true }, isSlow: answer.isSlow === true };
}
