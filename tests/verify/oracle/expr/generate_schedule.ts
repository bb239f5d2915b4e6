/** Makes cron schedules up, and asks about times around changes of the clocks. */
import type { Random } from "../random.ts";
import type { Question } from "./question.ts";

/** With clocks that change at 1:00 UTC, at 2:00 or at midnight local time, by half an hour, twice a year against Ramadan, never. */
const ZONES = [
  ...["UTC", "Europe/Berlin", "America/New_York", "America/Santiago", "Africa/Cairo", "Australia/Lord_Howe"],
  ...["Asia/Kolkata", "Asia/Beirut", "America/Havana", "Pacific/Auckland", "Atlantic/Azores", "America/Asuncion"],
];
/** Sao Paulo lost midnights until 2018, Caracas moved by half an hour. */
const OLD_ZONES = ["America/Sao_Paulo", "America/Caracas", "Africa/Casablanca", "America/St_Johns"];
const DAY_MS = 86_400_000;

export function generateSchedule(random: Random): Question {
  const isOld = random.chance(0.25);
  const timezone = random.pick(isOld ? OLD_ZONES : ZONES);
  const times = Array.from({ length: 4 }, () => pickTime(random, isOld ? [2010, 2018] : [2024, 2030]));
  if (random.chance(0.7)) return { cron: writeCron(random), timezone, times };
  return { start: writeCron(random), end: writeCron(random), timezone, times };
}

function pickTime(random: Random, [first, last]: readonly [number, number]): number {
  const day = Date.UTC(
    random.whole(first, last),
    random.pick([0, 2, 2, 3, 3, 4, 8, 9, 9, 10, 10, 11]),
    random.whole(1, 31),
  );
  const offset = random.pick([
    random.whole(0, DAY_MS),
    random.whole(0, 24) * 3_600_000,
    random.whole(0, 1440) * 60_000,
  ]);
  return day + offset + random.pick([0, 0, 0, 999, 1, 30_000]);
}

function writeCron(random: Random): string {
  const text = [
    writeField(random, { min: 0, max: 59, names: [], often: "0" }),
    writeField(random, { min: 0, max: 23, names: [], often: random.pick(["0", "2", "1", "3", "8"]) }),
    writeField(random, { min: 1, max: 31, names: [], often: "*" }),
    writeField(random, { min: 1, max: 12, names: ["jan", "Feb", "MAR", "oct", "dec"], often: "*" }),
    writeField(random, { min: 0, max: 6, names: ["sun", "Mon", "FRI", "sat"], often: "*" }),
  ].join(random.pick([" ", " ", "  "]));
  return random.chance(0.03) ? text + random.pick([" *", "x", "/2", "-", "/0", "@"]) : text;
}

interface Field {
  readonly min: number;
  readonly max: number;
  readonly names: readonly string[];
  readonly often: string;
}

function writeField(random: Random, field: Field): string {
  if (random.chance(0.5)) return field.often;
  const items = Array.from({ length: random.pick([1, 1, 1, 2, 3]) }, () => writeItem(random, field));
  return items.join(random.pick([",", ",", ",,"]));
}

function writeItem(random: Random, { min, max, names }: Field): string {
  const number = () => random.chance(0.01) ? max + 1 : random.whole(min, max);
  const [low, high] = [number(), number()].sort((a, b) => a - b);
  const name = names.length > 0 ? random.pick(names) : `${low}`;
  return random.pick([
    "*",
    "?",
    `${low}`,
    `${low}`,
    name,
    `${low}-${high}`,
    `*/${random.whole(1, 12)}`,
    `?/${random.whole(1, 3)}`,
    `${low}/${random.whole(1, 12)}`,
    `${low}-${high}/${random.whole(1, 5)}`,
    `${high}-${low}`,
  ]);
}
