/**
 * When a cron schedule is due next, in a time zone and across its clock changes, as robfig/cron 3.0.1 has it (R11): it goes
 * from field to field and back to the first one where one wraps around, and so do the functions below.
 * https://github.com/robfig/cron/blob/v3.0.1/spec.go
 */
import type { CronSchedule } from "./cron.ts";
import { createOffsetReader, findWall, type ReadOffset, readWall } from "./zone.ts";

export interface NextCronOptions {
  /** Epoch milliseconds. */
  readonly after: number;
  /** An IANA name that isTimezone() knows; another makes it throw RangeError. */
  readonly timezone: string;
}

/** The first match strictly later than `after`, in epoch milliseconds; `null` if none comes within five years. */
export function nextCronTime(schedule: CronSchedule, { after, timezone }: NextCronOptions): number | null {
  return findNext(schedule, after, createOffsetReader(timezone));
}

export interface CronInterval {
  readonly start: CronSchedule;
  readonly end: CronSchedule;
}

export interface WithinOptions {
  /** Epoch milliseconds. */
  readonly now: number;
  /** As for nextCronTime(). */
  readonly timezone: string;
}

/** Is `now` at or after a start, and before the end that follows it? A start that does not come any more leaves it inside, as in KEDA. */
export function isWithinCron({ start, end }: CronInterval, { now, timezone }: WithinOptions): boolean {
  const readOffset = createOffsetReader(timezone);
  const nextStart = findNext(start, now, readOffset);
  const nextEnd = findNext(end, now, readOffset);
  if (nextEnd === null) return false;
  return nextStart === null || nextEnd <= nextStart;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const MAX_YEARS = 5;
/** Each of them is a month, a day, an hour or a minute. Where a zone has lost a whole day the search would not get past it (nor does robfig's). */
const MAX_MOVES = 10_000;

/** `at` as far as it has come; `hasMoved` = smaller fields are at their beginning already. */
interface Search {
  readonly schedule: CronSchedule;
  readonly readOffset: ReadOffset;
  at: number;
  hasMoved: boolean;
  moves: number;
}

function findNext(schedule: CronSchedule, after: number, readOffset: ReadOffset): number | null {
  const search: Search = { schedule, readOffset, at: (Math.floor(after / 1000) + 1) * 1000, hasMoved: false, moves: 0 };
  const lastYear = read(search).year + MAX_YEARS;
  while (read(search).year <= lastYear && search.moves < MAX_MOVES) {
    if (goToMonth(search) && goToDay(search) && goToHour(search) && goToMinute(search) && goToSecond(search)) {
      return search.at;
    }
  }
  return null;
}

function read({ at, readOffset }: Search) {
  return readWall(at, readOffset);
}

/** This and the functions below move on to where their field fits. False: a greater field has changed, so begin anew. */
function goToMonth(search: Search): boolean {
  const { schedule, readOffset } = search;
  for (let wall = read(search); !schedule.months.has(wall.month); wall = read(search)) {
    if (!search.hasMoved) search.at = findWall({ ...wall, day: 1, hour: 0, minute: 0 }, readOffset);
    if (isSpent(search)) return false;
    search.at = addDate(search, { months: 1, days: 0 });
    if (read(search).month === 1) return false;
  }
  return true;
}

function goToDay(search: Search): boolean {
  const { schedule, readOffset } = search;
  for (let wall = read(search); !isDay(schedule, wall); wall = read(search)) {
    if (!search.hasMoved) search.at = findWall({ ...wall, hour: 0, minute: 0 }, readOffset);
    if (isSpent(search)) return false;
    search.at = addDate(search, { months: 0, days: 1 });
    // Where clocks change at midnight there may be none.
    const { hour } = read(search);
    if (hour !== 0) search.at += (hour > 12 ? 24 - hour : -hour) * HOUR_MS;
    if (read(search).day === 1) return false;
  }
  return true;
}

function goToHour(search: Search): boolean {
  const { schedule, readOffset } = search;
  for (let wall = read(search); !schedule.hours.has(wall.hour); wall = read(search)) {
    if (!search.hasMoved) search.at = findWall({ ...wall, minute: 0 }, readOffset);
    if (isSpent(search)) return false;
    search.at += HOUR_MS;
    if (read(search).hour === 0) return false;
  }
  return true;
}

function goToMinute(search: Search): boolean {
  const { schedule } = search;
  for (let wall = read(search); !schedule.minutes.has(wall.minute); wall = read(search)) {
    if (!search.hasMoved) search.at = Math.floor(search.at / MINUTE_MS) * MINUTE_MS;
    if (isSpent(search)) return false;
    search.at += MINUTE_MS;
    if (read(search).minute === 0) return false;
  }
  return true;
}

/** The whole minute: five fields have no seconds. */
function goToSecond(search: Search): boolean {
  const rest = search.at % MINUTE_MS;
  if (rest === 0) return true;
  search.at += MINUTE_MS - rest;
  search.hasMoved = true;
  return false;
}

/** Notes a move. True: there were too many. */
function isSpent(search: Search): boolean {
  search.hasMoved = true;
  search.moves++;
  return search.moves >= MAX_MOVES;
}

/** The same time of day so many months and days later. */
function addDate(search: Search, { months, days }: { readonly months: number; readonly days: number }): number {
  const wall = read(search);
  return findWall({ ...wall, month: wall.month + months, day: wall.day + days }, search.readOffset);
}

function isDay(
  { days, weekdays, isEitherDay }: CronSchedule,
  wall: { readonly day: number; readonly weekday: number },
): boolean {
  const [isDate, isWeekday] = [days.has(wall.day), weekdays.has(wall.weekday)];
  return isEitherDay ? isDate || isWeekday : isDate && isWeekday;
}
