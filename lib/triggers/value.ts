/**
 * Where does the value of an external trigger come from?
 *
 * Cron is computed, pods are counted, and the others are asked over HTTP. The types here are the port
 * that the daemon implements.
 */
import { oneLine } from "../kube/errors.ts";
import type { PodFacts } from "../model/pod.ts";
import type { PodValues } from "../model/replicas_decision.ts";
import type { ExternalTrigger, KedaSource, MetricSource, ObjectSource, TriggerSource } from "../model/scaled_object.ts";
import { isWithinCron } from "../units/cron.ts";
import type { Selector } from "../units/selector.ts";

/**
 * Counts the matching pods of a namespace that are neither Succeeded nor Failed, or the nodes that they run on.
 * Clauses: R12.
 */
export type CountPods = (
  pods: { readonly namespace: string; readonly selector: Selector; readonly isByNode: boolean },
  signal: AbortSignal,
) => number | Promise<number>;

export interface ValueSources {
  readonly ask: AskTrigger;
  readonly countPods: CountPods;
  /** The author of a schedule decides how long its search takes. */
  readonly run: AnswerWork["run"];
}

interface TriggerValueOptions {
  readonly namespace: string;
  readonly credentials: TriggerParameters;
  /** Epoch ms. */
  readonly now: number;
  readonly signal: AbortSignal;
}

/** Returns the value of a trigger. Never rejects. Clauses: R11, R12, R13, R14. */
export async function fetchTriggerValue(
  trigger: ExternalTrigger,
  { ask, countPods, run }: ValueSources,
  options: TriggerValueOptions,
): Promise<TriggerAnswer> {
  const { source } = trigger;
  const { namespace, now, signal } = options;
  try {
    switch (source.kind) {
      case "cron":
        return toValueAnswer(
          await run(() => isWithinCron(source, { now, timezone: source.timezone })) ? source.desiredReplicas : 0,
        );
      case "kubernetes-workload":
        return toValueAnswer(
          await countPods({ namespace, selector: source.selector, isByNode: source.isByNode }, signal),
        );
      case "invalid":
        return { kind: "failed", message: source.problem, isEmpty: false };
      default:
        return await ask(withSource(trigger, source), options);
    }
  } catch (error) {
    const cause = oneLine(error instanceof Error ? error.message : String(error));
    return { kind: "failed", message: `Cannot read trigger "${trigger.metricName}": ${cause}`, isEmpty: false };
  }
}

function withSource(trigger: ExternalTrigger, source: AskedSource): ExternalTrigger & { readonly source: AskedSource } {
  return { ...trigger, source };
}

function toValueAnswer(value: number): TriggerAnswer {
  return { kind: "value", value, isEmpty: false };
}

/** The kinds that podfit asks over HTTP; cron is computed and kubernetes-workload is counted. */
export type HttpTriggerSource = Extract<TriggerSource, { readonly kind: "metrics-api" | "prometheus" }>;

/** The kinds that need a request. */
export type AskedSource = HttpTriggerSource | KedaSource | MetricSource | ObjectSource;

/**
 * The answer of a query. `value` is a double as the source has it, also NaN and infinite; it is rounded later. An API of
 * Kubernetes has quantities: `milli` and `byPod` keep them in thousandths. `isEmpty`: the source answered without a value;
 * KEDA counts those also if they are errors. `isSlow`: the failure took so long that the query is not repeated.
 * Clauses: M17, R93.
 */
export type TriggerAnswer =
  | {
    readonly kind: "value";
    readonly value: number;
    readonly isEmpty: boolean;
    readonly milli?: bigint;
    readonly byPod?: PodValues;
  }
  | { readonly kind: "failed"; readonly message: string; readonly isEmpty: boolean; readonly isSlow?: boolean };

/** How the work on an answer is done and counted: its author decides how much it is. */
export interface AnswerWork {
  /** Runs a job that parses an answer, when it is its turn. */
  readonly run: <T>(job: () => T) => Promise<T>;
  readonly countBytes: (bytes: number) => void;
}

/** For a query that no namespace pays for. */
export const UNCOUNTED: AnswerWork = { run: (job) => Promise.resolve(job()), countBytes: () => {} };

/** Parameters of a TriggerAuthentication, resolved; secrets among them are never logged. Clauses: R16. */
export type TriggerParameters = Readonly<Record<string, string>>;

/** The pods that the selector of a target lists. */
export interface ListedPods {
  readonly selector: Selector;
  readonly pods: readonly PodFacts[];
}

/** Sends one query; resolves within the trigger's timeout and never rejects. */
export type AskTrigger<Source extends AskedSource = AskedSource> = (
  trigger: ExternalTrigger & { readonly source: Source },
  options: {
    readonly credentials: TriggerParameters;
    readonly now: number;
    readonly signal: AbortSignal;
    readonly work?: AnswerWork;
    /** Of the ScaledObject. */
    readonly namespace?: string;
    /** Nodes are not asked, unless the operator allows it. */
    readonly isNodeAddress?: (address: string) => boolean;
    /** The URL of the Service whose endpoint is asked: what the operator denies by name holds for its endpoints. */
    readonly service?: string;
    /** Of the target. */
    readonly pods?: ListedPods;
  },
) => Promise<TriggerAnswer>;

/**
 * A result, or why there is none. `cause` ends a sentence that names the trigger. It quotes nothing that was sent or
 * answered, because that may be a secret.
 */
export type Result<T> = ({ readonly ok: true } & Readonly<T>) | { readonly ok: false; readonly cause: string };

/** The value that an answer's text has. */
export type ValueResult = Result<{ value: number }>;
