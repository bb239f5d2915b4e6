/**
 * The life of one ScaledObject: its halves by their clocks, one at a time (R7, R8), what stands in their way, its writes, and its end. It alone
 * writes the object's state.
 */
import { TICK_MS } from "../../core/replicas/early_tick.ts";
import type { ScaleAnswer, ScaleWrite } from "../../core/replicas/input.ts";
import type { ReplicasState } from "../../core/replicas/state.ts";
import { watchSteps } from "../../runtime/clock_steps.ts";
import type { ScaledObject, ScaledObjectFacts } from "../../scaled_object/scaled_object.ts";
import { Asking } from "./asking.ts";
import { Ending } from "./ending.ts";
import { isFinalizerWrong } from "./finalizers.ts";
import { Foresight } from "./foresight.ts";
import { isSameObject } from "./same_object.ts";
import type { Clear, Looked } from "./look.ts";
import { Looking } from "./looking.ts";
import { Passes } from "./passes.ts";
import type { RunnerOptions } from "./runner_options.ts";
import { mayPass } from "./scale_client.ts";
import { type DueHalf, Schedule } from "./schedule.ts";

/** How long to wait where too little is known, or something failed that no half repeats. */
const UNKNOWN_MS = 1_000;
const RETRY_MS = TICK_MS;

/** Runs until its signal aborts, or the object is gone. */
export class Runner {
  readonly #options: RunnerOptions;
  readonly #schedule = new Schedule();
  readonly #takeStep: () => number;
  #facts: ScaledObjectFacts;
  readonly #passes: Passes;
  /** Something has changed that is to be looked at now, and whether the object itself has. */
  #isPoked = true;
  #isChanged = true;
  /** The last change was not passed on yet, or what it asks for is not written. */
  #isOwed = true;
  #obstructedBy: "look" | "triggers" | null = null;
  #retryAt = Infinity;
  #isCoupled = false;
  #isEnded = false;
  #waking = new AbortController();
  readonly #asking: Asking;
  readonly #ending: Ending;
  readonly #foresight: Foresight;
  readonly #looking: Looking;
  readonly #listPods = () => [...this.#options.pods.set?.pods.values() ?? []];

  constructor(options: RunnerOptions) {
    this.#options = options;
    this.#facts = options.facts;
    this.#passes = new Passes({ ...options, readFacts: () => this.#facts });
    this.#takeStep = watchSteps(options.clock);
    this.#asking = new Asking(options.gather);
    const [passes, listPods] = [this.#passes, this.#listPods];
    const foresight = this.#foresight = new Foresight({ ...options, passes, pods: listPods });
    this.#looking = new Looking({ ...options, passes, foresight, listPods, asking: this.#asking });
    this.#ending = new Ending({
      ...options,
      passes,
      look: (signal) => this.#looking.look(this.#facts, signal),
      write: (write, of) => this.#write(write, of),
    });
    this.#schedule.follow(null, options.facts, options.startAt);
  }

  get facts(): ScaledObjectFacts {
    return this.#facts;
  }

  /** `null` before the first pass. */
  get state(): ReplicasState | null {
    return this.#passes.state;
  }

  /** Some trigger was coupled when it was read last (R80). */
  get isCoupled(): boolean {
    return this.#isCoupled;
  }

  /** The object as the watch shows it now. Gives whether more than its status has changed. */
  put(facts: ScaledObjectFacts): boolean {
    const before = this.#facts;
    this.#facts = facts;
    if (isSameObject(before, facts)) return false;
    this.#schedule.follow(before, facts, this.#options.clock.now());
    this.#isChanged = true;
    this.poke();
    return true;
  }

  /** Looks again now at what stands in the way. */
  poke(): void {
    this.#isPoked = true;
    this.#waking.abort();
    this.#asking.cut();
  }

  /** Usage of some of the target's pods is fresh. */
  noteUsage(): void {
    if (this.#foresight.note()) this.#waking.abort();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, isKnown } = this.#options;
    while (!signal.aborted && !this.#isEnded) {
      this.#waking = new AbortController();
      this.#followClock();
      const now = clock.now();
      const dueAt = isKnown(this.#facts.namespace) ? this.#readNext(now) : now + UNKNOWN_MS;
      const nextAt = Math.min(dueAt, this.#foresight.dueAt);
      if (nextAt > now) {
        await clock.sleep(nextAt - now, AbortSignal.any([signal, this.#waking.signal])).catch(() => {});
      } else if (dueAt <= now) await this.#serve(signal);
      else if (await this.#foresight.isRaising(signal)) this.#schedule.tickNow(clock.now());
    }
  }

  /** The object was removed from the API server. */
  noteGone(): void {
    if (!this.#facts.isDeleting) {
      this.#facts = { ...this.#facts, isDeleting: true };
      this.#passes.pass({ kind: "deleted", scale: null }, { now: this.#options.clock.now() });
    }
    this.#isEnded = true;
    this.#waking.abort();
  }

  #readNext(now: number): number {
    if (this.#isPoked) return now;
    if (this.#facts.isDeleting) return this.#retryAt;
    return Math.min(this.#retryAt, this.#schedule.readNext(now));
  }

  async #serve(signal: AbortSignal): Promise<void> {
    this.#isOwed ||= this.#isChanged;
    this.#isPoked = this.#isChanged = false;
    this.#retryAt = Infinity;
    if (this.#facts.isDeleting) {
      if (!await this.#ending.go(this.#facts, signal)) this.#retry();
      return;
    }
    const { clock } = this.#options;
    const looked = await this.#looking.look(this.#facts, signal);
    const wasObstructed = this.#obstructedBy === "look";
    if (looked.kind === "obstructed") {
      this.#schedule.take(clock.now());
      return this.#obstruct(looked, "look");
    }
    if (wasObstructed) this.#obstructedBy = null;
    if (isFinalizerWrong(this.#facts) && !this.#options.dryRun) {
      const isSet = await this.#options.setFinalizer(this.#facts, looked.object.restoresReplicas, signal);
      if (!isSet) this.#retry();
    }
    let current: Looked | null = looked;
    if (this.#isOwed || wasObstructed || looked.transferred !== null) {
      current = await this.#change(looked, signal) ? null : looked;
      this.#schedule.pollBy(clock.now(), clock.now());
    }
    for (const one of this.#schedule.take(clock.now())) {
      if (signal.aborted) return;
      if (this.#isChanged) {
        this.#schedule.giveBack(one);
        continue;
      }
      current ??= await this.#looking.look(this.#facts, signal);
      if (current.kind === "obstructed") return this.#obstruct(current, "look");
      const hasWritten: boolean = await this.#half(one, { ...current, signal });
      if (hasWritten) current = null;
    }
  }

  #obstruct({ obstacle }: Extract<Looked, { kind: "obstructed" }>, by: "look" | "triggers"): void {
    const { clock } = this.#options;
    this.#obstructedBy = by;
    // Halves look again by themselves.
    if (this.#schedule.readNext(clock.now()) === Infinity) this.#retryAt = clock.now() + RETRY_MS;
    this.#passes.pass({ kind: "obstructed", obstacle }, { now: clock.now() });
  }

  /** Gives whether replicas were, or may have been, written. */
  async #change(looked: Clear, signal: AbortSignal): Promise<boolean> {
    const [now, { transferred }] = [this.#options.clock.now(), looked];
    const outcome = this.#passes.pass({ kind: "changed", scale: looked.scale }, { now, transferred });
    // Once written, it stays as it is set by hand, whatever came in the way and went (R55).
    const answer = this.#isOwed ? await this.#write(outcome.write, { object: looked.object, signal }) : null;
    this.#isOwed = answer !== null && answer.kind !== "accepted";
    if (this.#isOwed) this.#retry();
    return answer !== null;
  }

  async #half(due: DueHalf, of: Clear & { readonly signal: AbortSignal }): Promise<boolean> {
    const { reader, clock } = this.#options;
    const { object, scale, signal } = of;
    const lateMs = clock.now() - due.at;
    const gathered = await this.#asking.gather({ object, reader, pods: this.#listPods, due, signal });
    if (gathered === null || this.#isChanged) {
      this.#schedule.giveBack(due);
      return false;
    }
    if (gathered.kind === "obstructed") {
      const obstacle = { kind: "check", reason: "TriggerFailed", message: gathered.message } as const;
      this.#obstruct({ kind: "obstructed", obstacle, warnings: [] }, "triggers");
      return false;
    }
    const { triggers, readyPods } = gathered;
    this.#isCoupled = gathered.isCoupled ?? this.#isCoupled;
    if (this.#obstructedBy === "triggers") {
      this.#obstructedBy = null;
      this.#passes.pass({ kind: "changed", scale }, { now: due.at });
      if (due.half === "tick") this.#schedule.pollBy(clock.now(), clock.now());
    }
    const outcome = this.#passes.half(due, { scale, triggers, readyPods, lateMs });
    if (outcome.report?.half === "tick") this.#foresight.noteTick(outcome.report);
    const answer = await this.#write(outcome.write, { object, signal });
    const isPutOff = due.half === "poll" && answer !== null && mayPass(answer);
    if (isPutOff) this.#schedule.pollBy(clock.now() + RETRY_MS, clock.now());
    return answer !== null;
  }

  #retry(): void {
    this.#retryAt = this.#options.clock.now() + RETRY_MS;
  }

  /** `null` where nothing was to be written. */
  async #write(
    write: ScaleWrite | null,
    { object, signal }: { readonly object: ScaledObject; readonly signal: AbortSignal },
  ): Promise<ScaleAnswer | null> {
    if (write === null) return null;
    const { scales, mayWrite, pods, clock } = this.#options;
    const isCurrent = () =>
      !this.#isChanged && mayWrite(object, { pods, transferredUid: this.#looking.transferredUid });
    const { namespace, target } = object;
    const answer = await scales.write({ namespace, target, write, mayWrite: isCurrent, signal });
    this.#passes.pass({ kind: "answered", write, answer }, { now: clock.now() });
    this.#foresight.noteAnswer(answer);
    return answer;
  }

  #followClock(): void {
    const stepMs = this.#takeStep();
    if (stepMs === 0) return;
    this.#schedule.step(stepMs);
    this.#passes.step(stepMs);
    this.#foresight.step(stepMs);
    if (this.#retryAt < Infinity) this.#retryAt += stepMs;
  }
}
