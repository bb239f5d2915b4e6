/** Cron expressions of five fields, as robfig/cron 3.0.1 reads them (R11). https://pkg.go.dev/github.com/robfig/cron/v3 */
import { quote } from "./untrusted.ts";

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

export type ParsedCron =
  | { readonly ok: true; readonly schedule: CronSchedule }
  | { readonly ok: false; readonly message: string };

/** Parses minute, hour, day of month, month and day of week. Refuses what never comes. Never throws. */
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
  return doesCome(schedule) ? { ok: true, schedule } : refuse("there is no such time");
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
  if ((more.length > 0 && !isAll) || moreSteps.length > 0) return `${quote(text)} is no range: write from-to/step`;
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
function doesCome({ minutes, hours, days, months, weekdays, isEitherDay }: CronSchedule): boolean {
  if (minutes.size === 0 || hours.size === 0 || months.size === 0) return false;
  const hasDate = [...months].some((month) => [...days].some((day) => day <= (MONTH_DAYS[month - 1] ?? 0)));
  return isEitherDay ? hasDate || weekdays.size > 0 : hasDate && weekdays.size > 0;
}
