/**
 * Whose turn is it to send a resize? At most so many are under way at once and so many begin per second, in order of
 * arrival; and nobody's while the API server has said that it is busy. A wait for one's turn is no failure.
 */
import type { Brake, Pass } from "../../runtime/brake.ts";
import type { Clock } from "../../runtime/clock.ts";
import { Limit } from "../../runtime/limit.ts";
import { Rate } from "../../runtime/rate.ts";

/** Leave to send one resize; disposal makes room for the next. */
export interface Turn extends Pass {
  /** It was so long in coming that what was decided before may be wrong by now. */
  readonly isLate: boolean;
  /** Nothing is sent after all, and the next need not wait for it. */
  giveBack(): void;
}

/** Resolves when it is the caller's turn, or to `null` as soon as the signal aborts. Never rejects. */
export type TakeTurn = (signal: AbortSignal, options: TurnOptions) => Promise<Turn | null>;

/** How a turn is waited for. */
export interface TurnOptions {
  /** Before all who wait. */
  readonly isUrgent: boolean;
}

/** How many resizes may begin, as `--kube-api-qps` and `--kube-api-burst` have it. */
export interface Pace {
  readonly perSecond: number;
  readonly burst: number;
}

/** What turns are made of. */
export interface TurnsOptions {
  readonly clock: Clock;
  readonly pace: Pace;
  readonly brake: Brake;
}

/** Each PATCH costs the API server an admission. */
const AT_ONCE = 32;
/** Usage is sampled about as often. */
const LATE_MS = 5_000;

/** Turns of one process. */
export function createTurns({ clock, pace, brake }: TurnsOptions): TakeTurn {
  const limit = new Limit(AT_ONCE);
  const rate = new Rate({ ...pace, clock });
  return async (signal, urgency) => {
    const askedMs = clock.monotonic();
    using stack = new DisposableStack();
    try {
      stack.use(await limit.acquire(signal, urgency));
      await rate.take(signal, urgency);
      const pass = stack.use(await brake.pass(signal));
      const turn = stack.move();
      return {
        isLate: clock.monotonic() - askedMs > LATE_MS,
        note(busy) {
          if (busy !== null) rate.drain();
          pass.note(busy);
        },
        giveBack: () => rate.giveBack(),
        [Symbol.dispose]: () => turn.dispose(),
      };
    } catch (error) {
      if (signal.aborted) return null;
      throw error;
    }
  };
}
