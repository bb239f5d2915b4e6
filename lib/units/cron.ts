/** Cron schedules in a time zone, as robfig/cron, which KEDA uses: parsed, and when the next time is. */
import { type Parsed, quote } from "./untrusted.ts";

/** A parsed expression: which minutes, hours and days it names. */
export interface CronSchedule {
  readonly text: string;
  readonly minutes: ReadonlySet<number>;
  readonly hours: ReadonlySet<number>;
  readonly days: ReadonlySet<number>;
  /** 1 to 12. */
  readonly months: ReadonlySet<number>;
  /** 0 is Sunday. */
  readonly weekdays: ReadonlySet<number>;
  /** Both days and weekdays are restricted: either is enough. */
  readonly isEitherDay: boolean;
}

type ParsedCron = Parsed<{ schedule: CronSchedule }>;

/**
 * Parses minute, hour, day of month, month and day of week. Refuses what never comes. Never throws.
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
  /** Names of the values from `min` on. */
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

/** The longest that a month can be. */
const MONTH_DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

interface Field {
  readonly values: ReadonlySet<number>;
  /** Has a * or ? with no step: does not restrict the day. */
  readonly isOpen: boolean;
}

/** A list of ranges, of which empty ones count for nothing; or the cause why it is none. */
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

/** `5`, `1-5`, `1-5/2`, `5/10` to the field's end, and with * or ? in the first place. */
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

/** Is there a day that has all that it takes? Weekdays come on any date. */
function hasDate({ minutes, hours, days, months, weekdays, isEitherDay }: CronSchedule): boolean {
  if (minutes.size === 0 || hours.size === 0 || months.size === 0) return false;
  const hasDate = [...months].some((month) => [...days].some((day) => day <= (MONTH_DAYS[month - 1] ?? 0)));
  return isEitherDay ? hasDate || weekdays.size > 0 : hasDate && weekdays.size > 0;
}

interface NextCronOptions {
  /** Epoch milliseconds. */
  readonly after: number;
  /** An IANA name that isTimezone() knows; another makes it throw RangeError. */
  readonly timezone: string;
}

/**
 * The first match strictly later than `after`, in epoch milliseconds; `null` if none comes within five years.
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
 * Is `now` at or after a start, and before the end that follows it? A start that does not come any more leaves it
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
 * Each of them is a month, a day, an hour or a minute. Where a zone has lost a whole day the search would not get past
 * it (nor does robfig's).
 */
const MAX_MOVES = 10_000;

/** `at` as far as it has come; `hasMoved` = smaller fields are at their beginning already. */
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
 * This and the functions below move on to where their field fits. False: a greater field has changed, so begin anew.
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
    // Where clocks change at midnight there may be none.
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

/**
 * Is it an IANA name that this runtime knows? Offsets such as +01:00 are none.
 * Clauses: R11.
 */
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
  // Minutes are asked one by one. No zone changes its clocks there and back within an hour.
  return (epochMs) => {
    const hour = Math.floor(epochMs / OFFSET_STEP_MS);
    const offset = offsetOfHour(hour);
    return offset === offsetOfHour(hour + 1) ? offset : compute(epochMs);
  };
}

/** What a wall shows, as the parts that make() takes. */
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
 * When a wall shows this time, parts beyond their range carrying over. Of a time that comes twice or never it gives
 * what Go's time.Date() gives, which is one of the two that the clocks before and after the change would have.
 */
function fromWallTime(wall: Omit<WallTime, "weekday">, offsetAt: OffsetAt): number {
  const asUtc = Date.UTC(wall.year, wall.month - 1, wall.day, wall.hour, wall.minute);
  return asUtc - offsetAt(asUtc - offsetAt(asUtc));
}

const OFFSET_STEP_MS = 3_600_000;
