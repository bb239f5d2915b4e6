/** What is due of one object: its poll half and its tick half, each by a grid of its own (R7), and a look again where one failed. */
import { TICK_MS } from "../../core/replicas/early_tick.ts";
import type { ScaledObjectFacts } from "../../scaled_object/scaled_object.ts";
import { type Grid, readLastDue, readNextDue, stepGrid } from "./grid.ts";

/** A half and when it was due, epoch ms. */
export interface DueHalf {
  readonly half: "poll" | "tick";
  readonly at: number;
}

interface Half {
  readonly grid: Grid;
  /** The due time that was served last. */
  readonly servedAt: number;
}

/** Of one object, in wall time. Halves of a paused or invalid object are never due. */
export class Schedule {
  #poll: Half | null = null;
  #tick: Half | null = null;

  /** The object appeared or has changed: a new generation is polled at once, a first valid sight is ticked 15 s later. */
  follow(before: ScaledObjectFacts | null, facts: ScaledObjectFacts, now: number): void {
    const { scaledObject } = facts;
    // Unpaused is as new (R55).
    if (facts.isPaused) this.#tick = null;
    if (facts.isPaused || scaledObject === null) {
      this.#poll = null;
      return;
    }
    this.#tick ??= newHalf(now + TICK_MS, TICK_MS);
    if (this.#poll === null || before?.generation !== facts.generation) {
      this.#poll = newHalf(now, scaledObject.pollIntervalMs);
    }
  }

  /** Halves that are due, the earlier one first, and the poll half first of both at once. */
  take(now: number): readonly DueHalf[] {
    const [poll, tick] = [readDue(this.#poll, now), readDue(this.#tick, now)];
    const due: DueHalf[] = [];
    if (poll !== null && this.#poll !== null) {
      this.#poll = { ...this.#poll, servedAt: poll };
      due.push({ half: "poll", at: poll });
    }
    if (tick !== null && this.#tick !== null) {
      this.#tick = { ...this.#tick, servedAt: tick };
      due.push({ half: "tick", at: tick });
    }
    return due.toSorted((a, b) => a.at - b.at);
  }

  /** A half that was taken and did not run is due once more. */
  giveBack({ half, at }: DueHalf): void {
    if (half === "poll") this.#poll = this.#poll && giveBack(this.#poll, at);
    else this.#tick = this.#tick && giveBack(this.#tick, at);
  }

  /** Begins the polls anew at `at`, unless one is due by then. */
  pollBy(at: number, now: number): void {
    this.#poll = this.#poll && beginBy(this.#poll, { at, now });
  }

  /** Begins the ticks anew now, unless one is due: from here on they are 15 s apart again. */
  tickNow(now: number): void {
    this.#tick = this.#tick && beginBy(this.#tick, { at: now, now });
  }

  /** When a half is due next; Infinity = never. */
  readNext(now: number): number {
    const next = [this.#poll, this.#tick].map((half) => {
      if (half === null) return Infinity;
      return readDue(half, now) ?? readNextDue(half.grid, now);
    });
    return Math.min(...next);
  }

  /** The clock was set by `stepMs`. */
  step(stepMs: number): void {
    this.#poll = this.#poll && stepHalf(this.#poll, stepMs);
    this.#tick = this.#tick && stepHalf(this.#tick, stepMs);
  }
}

function newHalf(startAt: number, periodMs: number): Half {
  return { grid: { startAt, periodMs }, servedAt: -Infinity };
}

/** Of several that have passed the last one: the others are not made up. */
function readDue(half: Half | null, now: number): number | null {
  const last = half === null ? null : readLastDue(half.grid, now);
  return half !== null && last !== null && last > half.servedAt ? last : null;
}

function beginBy(half: Half, { at, now }: { readonly at: number; readonly now: number }): Half {
  const next = readDue(half, now) ?? readNextDue(half.grid, now);
  return next > at ? newHalf(at, half.grid.periodMs) : half;
}

function giveBack(half: Half, at: number): Half {
  return half.servedAt === at ? { ...half, servedAt: at - 1 } : half;
}

function stepHalf({ grid, servedAt }: Half, stepMs: number): Half {
  return { grid: stepGrid(grid, stepMs), servedAt: servedAt + stepMs };
}
