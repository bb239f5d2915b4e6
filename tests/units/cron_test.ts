/** Which cron expressions are taken, and when are they due? */
import { assert, assertEquals, assertStringIncludes } from "#assert";
import { type CronSchedule, isTimezone, isWithinCron, nextCronTime, parseCron } from "../../lib/units/cron.ts";

const BERLIN = "Europe/Berlin";

Deno.test("parseCron() takes lists, ranges, steps and names, and 5/10 to the field's end (R11)", () => {
  assertEquals([...parse("5/10,,1 0 1 1 0").minutes], [5, 15, 25, 35, 45, 55, 1]);
  assertEquals([...parse("1-7/3 0 1 1 0").minutes], [1, 4, 7]);
  assertEquals([...parse("0 */6 1 JAN-mar,12 Mon-fri").hours], [0, 6, 12, 18]);
  assertEquals([...parse("0 0 1 JAN-mar,12 0").months], [1, 2, 3, 12]);
  assertEquals([...parse("0 0 1 1 Mon-fri").weekdays], [1, 2, 3, 4, 5]);
});

Deno.test("parseCron() takes day or weekday if both are restricted, and */1 and ?/1 restrict nothing (R11)", () => {
  const cases: Readonly<Record<string, boolean>> = {
    "0 0 1 * 1": true,
    "0 0 * * 1": false,
    "0 0 ? * 1": false,
    "0 0 */1 * 1": false,
    "0 0 ?/1 * 1": false,
    "0 0 */2 * 1": true,
    "0 0 1 * *": false,
  };
  for (const [text, isEitherDay] of Object.entries(cases)) assertEquals(parse(text).isEitherDay, isEitherDay, text);
});

Deno.test("parseCron() refuses what is no schedule, what names a zone, and what never comes (R11)", () => {
  const cases: Readonly<Record<string, string>> = {
    "0 0 * *": "has 4 fields and not 5: minute hour day month weekday",
    "": "has 0 fields and not 5",
    "60 0 * * *": '"60" is not within 0-59',
    "0 0 0 * *": '"0" is not within 1-31',
    "0 0 * * 7": '"7" is not within 0-6',
    "0 0 * * fri-mon": '"fri-mon" is not within 0-6',
    "0 0 * * xyz": '"xyz" is neither number nor name of this field',
    "*/0 0 * * *": 'the step of "*/0" is 0: write at least 1',
    "1-2-3 0 * * *": '"1-2-3" is not a range: write from-to/step',
    "TZ=UTC 0 8 * * *": "a time zone in front is not supported: write it as timezone",
    "CRON_TZ=UTC 0 8 * * *": "a time zone in front is not supported: write it as timezone",
    "@daily": "a name is not supported: write five fields, as in 0 8 * * *",
    "0 0 30 2 *": "no time matches it",
    "0 0 31 4,6 *": "no time matches it",
    ", 0 * * *": "no time matches it",
  };
  for (const [text, cause] of Object.entries(cases)) {
    const parsed = parseCron(text);
    assert(!parsed.ok, text);
    assertStringIncludes(parsed.message, cause);
  }
  assert(parseCron("0 0 29 2 *").ok);
  assert(parseCron("0 0 31 4 1").ok);
});

Deno.test("nextCronTime() is strictly later, to the minute, in the zone's own time (R11)", () => {
  const eight = Date.parse("2026-01-15T08:00:00+01:00");
  const next = (after: number) => nextCronTime(parse("0 8 * * *"), { after, timezone: BERLIN });
  assertEquals([next(eight - 1), next(eight), next(eight + 1)], [eight, eight + 86_400_000, eight + 86_400_000]);
  assertEquals(nextCronTime(parse("* * * * *"), { after: eight + 30_500, timezone: BERLIN }), eight + 60_000);
  const leap = nextCronTime(parse("0 0 29 2 *"), { after: eight, timezone: "UTC" });
  assertEquals(leap, Date.parse("2028-02-29T00:00:00Z"));
});

Deno.test("nextCronTime() leaves a time out that clocks skip, and takes one that comes twice at its first coming (R11)", () => {
  const half = parse("30 2 * * *");
  const spring = nextCronTime(half, { after: Date.parse("2026-03-29T00:00:00+01:00"), timezone: BERLIN });
  assertEquals(spring, Date.parse("2026-03-30T02:30:00+02:00"));
  const autumn = nextCronTime(half, { after: Date.parse("2026-10-25T00:00:00+02:00"), timezone: BERLIN });
  assertEquals(autumn, Date.parse("2026-10-25T02:30:00+02:00"));
});

Deno.test("nextCronTime() ends also where a zone has lost a whole day, and where no year within five has the day (R11)", () => {
  const samoa = { after: Date.parse("2011-12-28T00:00:00Z"), timezone: "Pacific/Apia" };
  assertEquals(nextCronTime(parse("0 0 16 * *"), samoa), null);
  assertEquals(nextCronTime(parse("0 0 29 2 *"), { after: Date.parse("2096-03-01T00:00:00Z"), timezone: "UTC" }), null);
});

Deno.test("isWithinCron() is inside from the start, and outside from the end on, also over midnight (R11)", () => {
  const day = { start: parse("0 8 * * *"), end: parse("0 18 * * *") };
  const night = { start: parse("0 22 * * *"), end: parse("0 6 * * *") };
  const ask = (interval: typeof day, time: string) =>
    isWithinCron(interval, { now: Date.parse(`2026-01-15T${time}+01:00`), timezone: BERLIN });
  assertEquals(["07:59:59.999", "08:00:00", "17:59:59.999", "18:00:00"].map((time) => ask(day, time)), [
    false,
    true,
    true,
    false,
  ]);
  assertEquals(["21:59:59", "22:00:00", "05:59:59", "06:00:00"].map((time) => ask(night, time)), [
    false,
    true,
    true,
    false,
  ]);
  // Both at one time: that is inside.
  assert(ask({ start: parse("0 8 * * *"), end: parse("0 8 * * ?") }, "12:00:00"));
});

Deno.test("isTimezone() knows IANA names, and no offsets (R11)", () => {
  const names = ["Europe/Berlin", "UTC", "America/Argentina/Buenos_Aires", "Mars/Base", "", "Local", "+01:00"];
  assertEquals(names.map(isTimezone), [true, true, true, false, false, false, false]);
});

function parse(text: string): CronSchedule {
  const parsed = parseCron(text);
  assert(parsed.ok, parsed.ok ? "" : parsed.message);
  return parsed.schedule;
}
