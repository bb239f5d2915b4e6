/**
 * Does an empty answer mean zero, or is the metric missing?
 *
 * A Prometheus that has just started answers each query with no series at all. So podfit takes an empty answer as zero
 * only after some time, unless the manifest or `--keda-deactivation` says otherwise.
 */
import type { TriggerReading, TriggerReadings } from "../model/replicas_decision.ts";
import type { TriggerAnswers } from "../model/replicas_state.ts";
import {
  doubtsEmptyAnswers,
  type ExternalTrigger,
  listExternalTriggers,
  type ScaledObject,
} from "../model/scaled_object.ts";

/**
 * Prometheus looks back for a value for 5 minutes, so a series that is empty for longer has ended.
 * https://prometheus.io/docs/prometheus/latest/querying/basics/#staleness
 */
const EMPTY_MS = 5 * 60_000;

/** An activation loop that is slower than that must see it at least this often. */
const EMPTY_CHECKS = 3;

/** By metric name, for triggers whose empty answers are doubted. */
export type AnswersByMetric = Readonly<Record<string, TriggerAnswers>>;

/** Returns what the answers of the triggers have been, with those of this loop. Clauses: R58. */
export function nextAnswers(
  before: AnswersByMetric,
  { object, readings, now }: {
    readonly object: ScaledObject;
    readonly readings: TriggerReadings;
    readonly now: number;
  },
): AnswersByMetric {
  return Object.fromEntries(
    listExternalTriggers(object).filter(doubtsEmptyAnswers).flatMap(({ index, metricName }) => {
      const next = nextTriggerAnswers(findAnswers(before, metricName), readings.get(index), now);
      return next === null ? [] : [[metricName, next] as const];
    }),
  );
}

function nextTriggerAnswers(
  before: TriggerAnswers | null,
  reading: TriggerReading | undefined,
  now: number,
): TriggerAnswers | null {
  if (reading?.kind !== "value") return before;
  if (reading.isEmpty !== true) return before?.hadValue === true && before.emptySince === null ? before : HAS_VALUE;
  return before !== null && before.emptySince !== null
    ? before
    : { hadValue: before?.hadValue ?? false, emptySince: now };
}

const HAS_VALUE: TriggerAnswers = { hadValue: true, emptySince: null };

/** `null` = it has not answered since podfit started. */
export function findAnswers(answers: AnswersByMetric, metricName: string): TriggerAnswers | null {
  return Object.hasOwn(answers, metricName) ? answers[metricName] ?? null : null;
}

/** What the doubt about one trigger depends on. */
export interface DoubtFacts {
  /** With those of this loop. */
  readonly answers: AnswersByMetric;
  readonly pollIntervalMs: number;
  readonly now: number;
}

/** Returns whether the trigger answers without a value, and not for long enough to mean zero. */
export function isDoubted({ metricName }: ExternalTrigger, { answers, pollIntervalMs, now }: DoubtFacts): boolean {
  const { emptySince = null } = findAnswers(answers, metricName) ?? {};
  return emptySince !== null && now - emptySince < Math.max(EMPTY_MS, (EMPTY_CHECKS - 1) * pollIntervalMs);
}

/** The error of a trigger that gave values before. Clauses: R58. */
export const EMPTY_ERROR = "the query gives no value any more: for 5 minutes podfit takes that as a failure and not " +
  'as 0, so replicas do not fall; look for the series in Prometheus, or write ignoreNullValues: "true" if none means 0';
