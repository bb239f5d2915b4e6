/** The state of one ScaledObject, and each pass of it through the fold. */
import { decideReplicas } from "../../core/replicas/decide.ts";
import type { ReplicasObservation, ReplicasOutcome, Scale, TriggerReadings } from "../../core/replicas/input.ts";
import { toTransferred } from "../../core/replicas/notify/words.ts";
import { seedReplicasState } from "../../core/replicas/seed.ts";
import type { ReplicasState } from "../../core/replicas/state.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { ScaledObjectFacts } from "../../scaled_object/scaled_object.ts";
import { stepReplicasState } from "./follow_clock.ts";
import type { HpaFacts } from "./read_hpa.ts";
import type { DueHalf } from "./schedule.ts";
import type { ReplicasSink } from "./sink.ts";

/** Whose passes they are, and who hears of them. */
export interface PassesOptions {
  readonly clock: Pick<Clock, "monotonic">;
  readonly dryRun: boolean;
  readonly sink: Pick<Required<ReplicasSink>, "onPass">;
  readonly facts: ScaledObjectFacts;
  readonly readFacts: () => ScaledObjectFacts;
}

/** When a pass is, and what else is said of it. */
export interface PassOf {
  /** When the half was due, or what happened was seen, epoch ms. */
  readonly now: number;
  readonly lateMs?: number;
  /** The HPA that was deleted before it (R76). */
  readonly transferred?: HpaFacts | null;
}

/** What a half is decided on, and how late it is. */
export interface SeenByHalf {
  readonly scale: Scale;
  readonly triggers: TriggerReadings;
  /** `null` = the selector lists no pod. */
  readonly readyPods: number | null;
  readonly lateMs: number;
}

/** Begins with what the object's status tells of the life before. */
export class Passes {
  readonly #options: PassesOptions;
  #state: ReplicasState;
  #hasPassed = false;
  /** What every pass warns of until it is set anew (R77). */
  warnings: readonly string[] = [];

  constructor(options: PassesOptions) {
    this.#options = options;
    this.#state = seedReplicasState(options.facts.status);
  }

  /** `null` before the first pass. */
  get state(): ReplicasState | null {
    return this.#hasPassed ? this.#state : null;
  }

  pass(observation: ReplicasObservation, { now, lateMs = 0, transferred = null }: PassOf): ReplicasOutcome {
    const { clock, sink, dryRun, readFacts } = this.#options;
    const startedMs = clock.monotonic();
    const before = this.#state;
    const warnings = this.warnings.length > 0 ? { warnings: this.warnings } : {};
    const input = { now, object: readFacts(), observation, dryRun, ...warnings };
    const decided = decideReplicas(before, input);
    const outcome = transferred === null ? decided : addTransferred(decided, transferred);
    this.#state = outcome.state;
    this.#hasPassed = true;
    sink.onPass({ before, input, outcome, tookMs: clock.monotonic() - startedMs, lateMs });
    return outcome;
  }

  half({ half, at: now }: DueHalf, { lateMs, ...seen }: SeenByHalf): ReplicasOutcome {
    const observation: ReplicasObservation = half === "poll"
      ? { ...seen, kind: half, readyPods: seen.readyPods ?? 0 }
      : { ...seen, kind: half };
    return this.pass(observation, { now, lateMs });
  }

  /** What a pass would come to if it were made now: nobody hears of it. */
  foresee(observation: ReplicasObservation, now: number): ReplicasOutcome {
    return decideReplicas(this.#state, { now, object: this.#options.readFacts(), observation, dryRun: false });
  }

  /** The clock was set by `stepMs`. */
  step(stepMs: number): void {
    this.#state = stepReplicasState(this.#state, stepMs);
  }
}

/** R76. */
function addTransferred(outcome: ReplicasOutcome, hpa: HpaFacts): ReplicasOutcome {
  const { name, minReplicas: min, maxReplicas: max, desiredReplicas } = hpa;
  const notice = toTransferred({ name, min, max, desired: desiredReplicas ?? 0 });
  return { ...outcome, notices: [...outcome.notices, notice] };
}
