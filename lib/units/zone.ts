/** Time zones by their IANA names, and the time on a wall there (R11). */

/** Is it an IANA name that this runtime knows? Offsets such as +01:00 are none. */
export function isTimezone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(name);
    return true;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

/** How far the wall is ahead of UTC, in milliseconds. */
export type ReadOffset = (epochMs: number) => number;

/** Throws RangeError for a name that isTimezone() refuses. */
export function createOffsetReader(timezone: string): ReadOffset {
  const read = (epochMs: number) =>
    Temporal.Instant.fromEpochMilliseconds(epochMs).toZonedDateTimeISO(timezone).offsetNanoseconds / 1_000_000;
  const known = new Map<number, number>();
  const readBeginOf = (hour: number) => {
    const offset = known.get(hour) ?? read(hour * HOUR_MS);
    known.set(hour, offset);
    return offset;
  };
  // Minutes are asked one by one. No zone changes its clocks there and back within an hour.
  return (epochMs) => {
    const hour = Math.floor(epochMs / HOUR_MS);
    const offset = readBeginOf(hour);
    return offset === readBeginOf(hour + 1) ? offset : read(epochMs);
  };
}

/** What a wall shows, as the parts that make() takes. */
export interface WallTime {
  readonly year: number;
  /** 1 to 12. */
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  /** 0 is Sunday. */
  readonly weekday: number;
}

export function readWall(epochMs: number, readOffset: ReadOffset): WallTime {
  const wall = new Date(epochMs + readOffset(epochMs));
  return {
    year: wall.getUTCFullYear(),
    month: wall.getUTCMonth() + 1,
    day: wall.getUTCDate(),
    hour: wall.getUTCHours(),
    minute: wall.getUTCMinutes(),
    weekday: wall.getUTCDay(),
  };
}

/**
 * When a wall shows this time, parts beyond their range carrying over. Of a time that comes twice or never it gives what Go's
 * time.Date() gives, which is one of the two that the clocks before and after the change would have.
 */
export function findWall(wall: Omit<WallTime, "weekday">, readOffset: ReadOffset): number {
  const asUtc = Date.UTC(wall.year, wall.month - 1, wall.day, wall.hour, wall.minute);
  return asUtc - readOffset(asUtc - readOffset(asUtc));
}

const HOUR_MS = 3_600_000;
