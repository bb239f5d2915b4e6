/**
 * Cron schedules in a time zone, as robfig/cron 3.0.1, which KEDA uses.
 *
 * An expression is parsed to sets of values. The next time is searched field by field, and the search starts again when
 * a field wraps around, as robfig/cron does. docs/adr/0011-cron.md says why croner is not used.
 */
import { type Parsed, quote } from "./untrusted.ts";

/** A parsed expression: its minutes, hours and days. */
export interface CronSchedule {
  readonly text: string;
  readonly minutes: ReadonlySet<number>;
  readonly hours: ReadonlySet<number>;
  readonly days: ReadonlySet<number>;
  /** 1 to 12. */
  readonly months: ReadonlySet<number>;
  /** 0 is Sunday. */
  readonly weekdays: ReadonlySet<number>;
  /** Both days and weekdays are restricted: one of them is enough. */
  readonly isEitherDay: boolean;
}

type ParsedCron = Parsed<{ schedule: CronSchedule }>;

/**
 * Parses minute, hour, day of month, month and day of week. Refuses an expression that matches no time. Never throws.
 * https://pkg.go.dev/github.com/robfig/cron/v3
 * Clauses: R11.
 */
export function parseCron(text: string): ParsedCron {
  const refuse = (cause: string): ParsedCron => ({
    ok: false,
    message: `Cannot parse schedule ${quote(text)}: ${cause}`,
  });
  if (text.length > MAX_LENGTH) return refuse(`longer than ${MAX_LENGTH} characters`);
  if (/^(?:CRON_)?TZ=/.test(text)) return refuse("a time zone in front is not supported: write it as timezone");
  if (text.startsWith("@")) return refuse("a name is not supported: write five fields, as in 0 8 * * *");
  const parts = text.split(/[\t-\r ]+/).filter((part) => part !== "");
  if (parts.length !== FIELDS.length) {
    return refuse(`has ${parts.length} fields and not 5: minute hour day month weekday`);
  }
  const fields = FIELDS.map((field, index) => parseField(parts[index] ?? "", field));
  for (const field of fields) if (typeof field === "string") return refuse(field);
  const [minutes, hours, days, months, weekdays] = fields.filter((field) => typeof field !== "string");
  if (!minutes || !hours || !days || !months || !weekdays) return refuse("a field is missing");
  const schedule: CronSchedule = {
    text,
    minutes: minutes.values,
    hours: hours.values,
    days: days.values,
    months: months.values,
    weekdays: weekdays.values,
    isEitherDay: !days.isOpen && !weekdays.isOpen,
  };
  return hasDate(schedule) ? { ok: true, schedule } : refuse("no time matches it");
}

interface FieldRange {
  readonly min: number;
  readonly max: number;
  /** The names of the values from `min` on. */
  readonly names: readonly string[];
}

const MAX_LENGTH = 1024;

const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

const WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

const FIELDS: readonly FieldRange[] = [
  { min: 0, max: 59, names: [] },
  { min: 0, max: 23, names: [] },
  { min: 1, max: 31, names: [] },
  { min: 1, max: 12, names: MONTHS },
  { min: 0, max: 6, names: WEEKDAYS },
];

/** The longest length of each month. */
const MONTH_DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

interface Field {
  readonly values: ReadonlySet<number>;
  /** Has a * or ? without a step: does not restrict the day. */
  readonly isOpen: boolean;
}

/** Returns the values of a list of ranges, in which empty items are ignored; or what is wrong with it. */
function parseField(text: string, field: FieldRange): Field | string {
  const values = new Set<number>();
  let isOpen = false;
  for (const item of text.split(",").filter((part) => part !== "")) {
    const range = parseRange(item, field);
    if (typeof range === "string") return range;
    for (let value = range.from; value <= range.to; value += range.step) values.add(value);
    isOpen ||= range.isOpen;
  }
  return { values, isOpen };
}

interface Range {
  readonly from: number;
  readonly to: number;
  readonly step: number;
  readonly isOpen: boolean;
}

/** `5`, `1-5`, `1-5/2`, `5/10` to the end of the field, and * or ? as the first part. */
function parseRange(text: string, field: FieldRange): Range | string {
  const [span = "", stepText, ...moreSteps] = text.split("/");
  const [first = "", second, ...more] = span.split("-");
  const isAll = first === "*" || first === "?";
  if ((more.length > 0 && !isAll) || moreSteps.length > 0) return `${quote(text)} is not a range: write from-to/step`;
  const from = isAll ? field.min : parseValue(first, field);
  const last = isAll ? field.max : second === undefined ? from : parseValue(second, field);
  const step = stepText === undefined ? 1 : parseWhole(stepText);
  if (from === null || last === null || step === null) return `${quote(text)} is neither number nor name of this field`;
  const to = stepText !== undefined && second === undefined ? field.max : last;
  if (step === 0) return `the step of ${quote(text)} is 0: write at least 1`;
  if (from < field.min || to > field.max || from > to) {
    return `${quote(text)} is not within ${field.min}-${field.max}`;
  }
  return { from, to, step, isOpen: isAll && step === 1 };
}

function parseValue(text: string, { min, names }: FieldRange): number | null {
  const index = names.indexOf(text.toLowerCase());
  return index < 0 ? parseWhole(text) : min + index;
}

/** As strconv.Atoi, without negative ones. */
function parseWhole(text: string): number | null {
  const value = /^[+-]?[0-9]+$/.test(text) ? Number(text) : null;
  return value !== null && value >= 0 && value < 2 ** 63 ? Math.abs(value) : null;
}

/** Returns whether a day can match. Weekdays occur on any date. */
function hasDate({ minutes, hours, days, months, weekdays, isEitherDay }: CronSchedule): boolean {
  if (minutes.size === 0 || hours.size === 0 || months.size === 0) return false;
  const hasDate = [...months].some((month) => [...days].some((day) => day <= (MONTH_DAYS[month - 1] ?? 0)));
  return isEitherDay ? hasDate || weekdays.size > 0 : hasDate && weekdays.size > 0;
}

interface NextCronOptions {
  /** Epoch milliseconds. */
  readonly after: number;
  /** An IANA name that isTimezone() accepts; another one makes it throw RangeError. */
  readonly timezone: string;
}

/**
 * Returns the first match strictly later than `after`, in epoch milliseconds; `null` if there is none within five
 * years.
 * https://github.com/robfig/cron/blob/v3.0.1/spec.go
 * Clauses: R11.
 */
export function nextCronTime(schedule: CronSchedule, { after, timezone }: NextCronOptions): number | null {
  return findNext(schedule, after, createOffsetAt(timezone));
}

interface CronInterval {
  readonly start: CronSchedule;
  readonly end: CronSchedule;
}

interface WithinOptions {
  /** Epoch milliseconds. */
  readonly now: number;
  /** As for nextCronTime(). */
  readonly timezone: string;
}

/**
 * Returns whether `now` is at or after a start, and before the end that follows it. If no start follows any more, it is
 * inside, as in KEDA.
 */
export function isWithinCron({ start, end }: CronInterval, { now, timezone }: WithinOptions): boolean {
  const offsetAt = createOffsetAt(timezone);
  const nextStart = findNext(start, now, offsetAt);
  const nextEnd = findNext(end, now, offsetAt);
  if (nextEnd === null) return false;
  return nextStart === null || nextEnd <= nextStart;
}

const MINUTE_MS = 60_000;

const HOUR_MS = 3_600_000;

const MAX_YEARS = 5;

/**
 * Each step is a month, a day, an hour or a minute. The search would not pass a day that a zone has lost (nor would
 * robfig's).
 */
const MAX_MOVES = 10_000;

/** `at` is the time so far; `hasMoved` = smaller fields are already at their start. */
interface Search {
  readonly schedule: CronSchedule;
  readonly offsetAt: OffsetAt;
  at: number;
  hasMoved: boolean;
  moves: number;
}

function findNext(schedule: CronSchedule, after: number, offsetAt: OffsetAt): number | null {
  const search: Search = {
    schedule,
    offsetAt,
    at: (Math.floor(after / 1000) + 1) * 1000,
    hasMoved: false,
    moves: 0,
  };
  const lastYear = toSearchWall(search).year + MAX_YEARS;
  while (toSearchWall(search).year <= lastYear && search.moves < MAX_MOVES) {
    if (goToMonth(search) && goToDay(search) && goToHour(search) && goToMinute(search) && goToSecond(search)) {
      return search.at;
    }
  }
  return null;
}

function toSearchWall({ at, offsetAt }: Search) {
  return toWallTime(at, offsetAt);
}

/**
 * This and the functions below move to the next match of their field. They return false if a greater field changed, so
 * the search starts again.
 */
function goToMonth(search: Search): boolean {
  const { schedule, offsetAt } = search;
  for (let wall = toSearchWall(search); !schedule.months.has(wall.month); wall = toSearchWall(search)) {
    if (!search.hasMoved) search.at = fromWallTime({ ...wall, day: 1, hour: 0, minute: 0 }, offsetAt);
    if (isSpent(search)) return false;
    search.at = addDate(search, { months: 1, days: 0 });
    if (toSearchWall(search).month === 1) return false;
  }
  return true;
}

function goToDay(search: Search): boolean {
  const { schedule, offsetAt } = search;
  for (let wall = toSearchWall(search); !isDay(schedule, wall); wall = toSearchWall(search)) {
    if (!search.hasMoved) search.at = fromWallTime({ ...wall, hour: 0, minute: 0 }, offsetAt);
    if (isSpent(search)) return false;
    search.at = addDate(search, { months: 0, days: 1 });
    // If clocks change at midnight, there may be no midnight.
    const { hour } = toSearchWall(search);
    if (hour !== 0) search.at += (hour > 12 ? 24 - hour : -hour) * HOUR_MS;
    if (toSearchWall(search).day === 1) return false;
  }
  return true;
}

function goToHour(search: Search): boolean {
  const { schedule, offsetAt } = search;
  for (let wall = toSearchWall(search); !schedule.hours.has(wall.hour); wall = toSearchWall(search)) {
    if (!search.hasMoved) search.at = fromWallTime({ ...wall, minute: 0 }, offsetAt);
    if (isSpent(search)) return false;
    search.at += HOUR_MS;
    if (toSearchWall(search).hour === 0) return false;
  }
  return true;
}

function goToMinute(search: Search): boolean {
  const { schedule } = search;
  for (let wall = toSearchWall(search); !schedule.minutes.has(wall.minute); wall = toSearchWall(search)) {
    if (!search.hasMoved) search.at = Math.floor(search.at / MINUTE_MS) * MINUTE_MS;
    if (isSpent(search)) return false;
    search.at += MINUTE_MS;
    if (toSearchWall(search).minute === 0) return false;
  }
  return true;
}

/** Moves to the whole minute: five fields have no seconds. */
function goToSecond(search: Search): boolean {
  const rest = search.at % MINUTE_MS;
  if (rest === 0) return true;
  search.at += MINUTE_MS - rest;
  search.hasMoved = true;
  return false;
}

/** Counts a step. Returns true if there were too many. */
function isSpent(search: Search): boolean {
  search.hasMoved = true;
  search.moves++;
  return search.moves >= MAX_MOVES;
}

/** Returns the same time of day after these months and days. */
function addDate(search: Search, { months, days }: { readonly months: number; readonly days: number }): number {
  const wall = toSearchWall(search);
  return fromWallTime({ ...wall, month: wall.month + months, day: wall.day + days }, search.offsetAt);
}

function isDay(
  { days, weekdays, isEitherDay }: CronSchedule,
  wall: { readonly day: number; readonly weekday: number },
): boolean {
  const [isDate, isWeekday] = [days.has(wall.day), weekdays.has(wall.weekday)];
  return isEitherDay ? isDate || isWeekday : isDate && isWeekday;
}

/** Returns whether it is an IANA name that this runtime knows. Offsets such as +01:00 are not. Clauses: R11. */
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

/** Local time minus UTC, in milliseconds. */
type OffsetAt = (epochMs: number) => number;

/** Throws RangeError for a name that isTimezone() refuses. */
function createOffsetAt(timezone: string): OffsetAt {
  const compute = (epochMs: number) =>
    Temporal.Instant.fromEpochMilliseconds(epochMs).toZonedDateTimeISO(timezone).offsetNanoseconds / 1_000_000;
  const known = new Map<number, number>();
  const offsetOfHour = (hour: number) => {
    const offset = known.get(hour) ?? compute(hour * OFFSET_STEP_MS);
    known.set(hour, offset);
    return offset;
  };
  // The search steps by minutes. No zone changes its clocks twice within an hour.
  return (epochMs) => {
    const hour = Math.floor(epochMs / OFFSET_STEP_MS);
    const offset = offsetOfHour(hour);
    return offset === offsetOfHour(hour + 1) ? offset : compute(epochMs);
  };
}

/** A local time, as the parts that fromWallTime() takes. */
interface WallTime {
  readonly year: number;
  /** 1 to 12. */
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  /** 0 is Sunday. */
  readonly weekday: number;
}

function toWallTime(epochMs: number, offsetAt: OffsetAt): WallTime {
  const wall = new Date(epochMs + offsetAt(epochMs));
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
 * Returns when local clocks show this time; parts beyond their range carry over. For a time that occurs twice or never
 * it returns what Go's time.Date() returns: the offset before or after the change.
 */
function fromWallTime(wall: Omit<WallTime, "weekday">, offsetAt: OffsetAt): number {
  const asUtc = Date.UTC(wall.year, wall.month - 1, wall.day, wall.hour, wall.minute);
  return asUtc - offsetAt(asUtc - offsetAt(asUtc));
}

const OFFSET_STEP_MS = 3_600_000;
