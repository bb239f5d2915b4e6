/**
 * A pod that is evaluated twice, by `decideSize` alone and with quiet evaluations: both come to the same state, and what
 * a quiet evaluation has not decided can be replayed.
 */
import { assertEquals, assertThrows } from "#assert";
import type { ContainerDecision, SizeInput, SizeOutcome } from "../../lib/model/decision.ts";
import { type FlatState, flattenState, toPodState } from "../../lib/model/flat_state.ts";
import { NEW_POD_STATE, type PodState } from "../../lib/model/state.ts";
import { isDeepEqual } from "../../lib/units/equality.ts";
import { decideSize } from "../../lib/vertical/decide.ts";
import { findScaleUpLimit } from "../../lib/vertical/outcome.ts";
import type { Step } from "../../lib/vertical/quiet/step.ts";
import { UsageTable } from "../../lib/usage/rows.ts";
import { type DecidedPod, findVerdict, type HeldVerdict } from "../../lib/vertical/quiet/verdict.ts";

export class QuietTwin {
  /** Evaluations that were quiet, and those by reason of the verdict that held; "" = none was due. */
  readonly quiet = new Map<string, number>();
  /** Quiet evaluations with a streak that was not full, which a verdict without replay allows. */
  shortStreaks = 0;
  evaluations = 0;
  state: PodState = NEW_POD_STATE;
  #flat: FlatState | null = null;
  #verdict: HeldVerdict | null = null;
  /** The same without what `replay` needs. */
  #leanFlat: FlatState | null = null;
  #leanVerdict: HeldVerdict | null = null;
  readonly #steps: Step[] = [];

  /** Returns what `decideSize` comes to. Throws where a quiet evaluation comes to something else. */
  evaluate(input: SizeInput): SizeOutcome {
    const before = this.state;
    const outcome = decideSize(before, input);
    this.state = outcome.state;
    this.evaluations++;
    this.#evaluateLean({ before, input, outcome });
    if (this.#verdict !== null && this.#advance(this.#verdict, input)) {
      this.#compare(this.#verdict, { before, input, outcome });
      return outcome;
    }
    this.#flat = flattenState(outcome.state, this.#flat);
    this.#verdict = findVerdict({ before, input, outcome }, this.#flat);
    return outcome;
  }

  #evaluateLean({ before, input, outcome }: DecidedPod): void {
    const verdict = this.#leanVerdict;
    if (verdict === null || this.#leanFlat === null || !this.#advance(verdict, input)) {
      this.#leanFlat = flattenState(outcome.state, this.#leanFlat);
      this.#leanVerdict = findVerdict({ before, input, outcome }, this.#leanFlat, { canReplay: false });
      return;
    }
    assertSame(toPodState(this.#leanFlat), outcome.state);
    assertEquals(toReported(outcome), UNREPORTED);
    const toShort = (one: ContainerDecision) => {
      const verdict = toVerdict(one);
      return verdict.reason === "StreakShort" ? { ...verdict, reason: "InBand" } : verdict;
    };
    const { decisions } = outcome;
    if (decisions.some(({ decision }) => decision.reason === "StreakShort")) this.shortStreaks++;
    assertEquals(decisions.map(toShort), verdict.decisions.map(toVerdict));
    assertEquals(decisions.map((one) => one.isNewSample), verdict.decisions.map((one) => verdict.isNewSample(one)));
    assertThrows(() => verdict.replay);
  }

  #advance(verdict: HeldVerdict, input: SizeInput): boolean {
    const { observation } = input;
    if (observation.kind !== "usage" || input.inFlight) return false;
    const { usage, clockOffsetMs, capacity } = observation;
    const { wallAheadMs, scaleInPending, scaledInAt } = input;
    const findRoom = () => input.room;
    const steps = this.#steps;
    const around = { wallAheadMs, scaleInPending, scaledInAt, findRoom, steps, clockOffsetMs, capacity };
    if (this.evaluations % 2 === 0) return verdict.advance({ ...input, ...around, usage });
    // The same in rows, which are gone when somebody asks what was decided.
    const rows = new UsageTable();
    rows.add(input.pod.uid, usage);
    const isQuiet = verdict.advance({ ...input, ...around, usage: { rows, row: rows.findPod(input.pod.uid) } });
    rows.numbers.fill(NaN);
    return isQuiet;
  }

  #compare(verdict: HeldVerdict, { before, input, outcome }: DecidedPod): void {
    if (this.#flat === null) throw new Error("unreachable");
    assertSame(toPodState(this.#flat), outcome.state);
    const { decisions } = outcome;
    assertEquals(toReported(outcome), UNREPORTED);
    const known = verdict.decisions;
    assertEquals(decisions.map(toVerdict), known.map(toVerdict));
    assertEquals(decisions.map((one) => one.wanted), known.map((one) => verdict.findWanted(one)));
    assertEquals(decisions.map((one) => one.isNewSample), known.map((one) => verdict.isNewSample(one)));
    const replayed = verdict.replay.decideLast();
    assertSame(replayed.before, before);
    assertSame(replayed.outcome, outcome);
    assertSame(replayed.input.observation, input.observation);
    if (decisions.length > 0) assertSame(verdict.replay.decideAgain(), replayed);
    const limits = [before, outcome.state].map(({ views }) =>
      Object.values(views).map((view) => findScaleUpLimit(view))
    );
    assertEquals(limits[1], limits[0]);
    const reasons = [...new Set(known.map(({ decision }) => toReason(decision)))].sort().join(" ");
    this.quiet.set(reasons, (this.quiet.get(reasons) ?? 0) + 1);
  }
}

/** What of an outcome is reported. */
function toReported({ request, notices, scaled, enacted, implausible }: SizeOutcome) {
  return { request, notices, scaled, enacted, implausible };
}

const UNREPORTED = { request: null, notices: [], scaled: null, enacted: null, implausible: 0 };

/** The reason, and of a cooldown the direction. */
function toReason(decision: SizeOutcome["decisions"][number]["decision"]): string {
  return decision.kind === "blocked" && decision.reason === "Cooldown"
    ? `Cooldown:${decision.action}`
    : `${decision.reason}`;
}

/** The words of `assertEquals`, which takes ten times as long, only where they differ. */
function assertSame(actual: unknown, expected: unknown): void {
  if (!isDeepEqual(actual, expected)) assertEquals(actual, expected);
}

function toVerdict({ autoscaler, container, decision, candidates }: SizeOutcome["decisions"][number]) {
  const { kind, reason = null } = decision;
  const [action, until] = ["action" in decision ? decision.action : null, "until" in decision ? decision.until : null];
  return { autoscaler, container, kind, reason, action, until, candidates };
}
