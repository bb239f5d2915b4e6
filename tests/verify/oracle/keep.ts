// deno-lint-ignore-file no-console
/**
 * `deno run -P=dev tests/verify/oracle/keep.ts`: writes the worked examples and 40 dense courses, each with what the real controller does, to
 * tests/testdata/replicas, for tests that need no Go. A course is kept that shows a situation which none before it has shown.
 */
import type { Course, CourseResult } from "./course.ts";
import { EXAMPLES } from "./examples.ts";
import { generateCourse } from "./generate.ts";
import { askOracle, buildOracle } from "./go_oracle.ts";

const FILE = new URL("../../testdata/replicas/courses.ndjson.gz", import.meta.url);
const SEED = 15;
const MOST = 40;
const LOOKED_AT = 4000;
/** Longer ones are mostly pods. */
const MOST_TEXT = 60_000;

const program = await buildOracle();
const dense = await chooseDense();
const examples = await askAll(EXAMPLES.map(({ course }) => course));
const text = [...examples, ...dense].map((line) => `${JSON.stringify(line)}\n`).join("");
await Deno.writeFile(FILE, new Blob([text]).stream().pipeThrough(new CompressionStream("gzip")));
console.log(`${examples.length} examples, ${dense.length} courses, ${text.length} characters`);

interface Line {
  readonly course: Course;
  readonly result: CourseResult;
}

async function chooseDense(): Promise<readonly Line[]> {
  const courses = Array.from({ length: LOOKED_AT }, (_, index) => generateCourse(SEED, index));
  const fitting = courses.filter((course) => course.ticks.length > 5 && JSON.stringify(course).length < MOST_TEXT);
  const left = new Map((await askAll(fitting)).map((line) => [line, listSituations(line)]));
  const [seen, chosen] = [new Set<string>(), [] as Line[]];
  while (chosen.length < MOST) {
    const news = [...left].map(([line, all]) => ({ line, all, count: all.filter((one) => !seen.has(one)).length }));
    const best = news.reduce((most, one) => one.count > most.count ? one : most);
    if (best.count === 0) seen.clear();
    for (const one of best.all) seen.add(one);
    chosen.push(best.line);
    left.delete(best.line);
  }
  return chosen;
}

/** What the conditions say together, by which metrics, and how a write came about. */
function listSituations({ course, result }: Line): readonly string[] {
  const kinds = course.spec.metrics.map((metric) => metric.type).sort().join();
  const rules = course.spec.behavior === undefined ? "none" : JSON.stringify(Object.keys(course.spec.behavior));
  const situations = result.ticks.flatMap(({ wrote, conditions }) => {
    const said = JSON.stringify(conditions);
    return [`${said} ${wrote}`, `${said} ${rules}`, `${conditions["ScalingLimited"]} ${wrote} ${kinds}`];
  });
  return [...new Set(situations)];
}

async function askAll(courses: readonly Course[]): Promise<readonly Line[]> {
  const lines: Line[] = [];
  for await (const result of askOracle(program, courses)) {
    const course = courses[lines.length];
    if (course?.id !== result.id) throw new Error(`Cannot keep ${result.id}: it is not the one that was asked for`);
    lines.push({ course, result });
  }
  return lines;
}
