/** Runs a chunk of courses by the real controller and by podfit's tick half, both at once, and holds one against the other. */
import { compare } from "./compare.ts";
import { askedOf, type Course, targetOf } from "./course.ts";
import { generateCourse } from "./generate.ts";
import { askOracle } from "./go_oracle.ts";
import { replay } from "./replay.ts";

/** Courses `from` to `from + count - 1` of a seed. */
export interface Chunk {
  readonly program: string;
  readonly seed: number;
  readonly from: number;
  readonly count: number;
}

export interface ChunkResult {
  readonly courses: number;
  readonly ticks: number;
  readonly writes: number;
  readonly differences: readonly string[];
  /** How many courses have a metric of each type, and how many answers the contract refuses. */
  readonly counts: Readonly<Record<string, number>>;
}

/** Holds few courses at a time: a pipe is as long as the controller is behind. */
export async function runChunk({ program, seed, from, count }: Chunk): Promise<ChunkResult> {
  const waiting: Course[] = [];
  const differences: string[] = [];
  const counts: Record<string, number> = {};
  let [courses, ticks, writes] = [0, 0, 0];
  for await (const real of askOracle(program, generateAll(waiting, { seed, from, count }))) {
    const course = waiting.shift();
    if (course === undefined) throw new Error(`Cannot compare ${real.id}: nobody asked for it`);
    differences.push(...compare(real, await replay(course)));
    for (const what of listCounted(course)) counts[what] = (counts[what] ?? 0) + 1;
    courses += 1;
    ticks += real.ticks.length;
    writes += real.ticks.filter(({ wrote }) => wrote).length;
  }
  return { courses, ticks, writes, differences, counts };
}

function listCounted({ spec: { metrics }, ticks }: Course): readonly string[] {
  const types = metrics.map((metric) => {
    const hasValue = metric.type === "External" && askedOf(metric) === null;
    return `${metric.type} ${targetOf(metric).type}${hasValue ? ", value of the course" : ""}`;
  });
  const refused = ticks.flatMap(({ refusedAnswers = {} }) => Object.keys(refusedAnswers));
  const mixed = new Set(metrics.map(({ type }) => type)).size > 1 ? ["metrics of several types"] : [];
  return [...new Set(types), ...mixed, ...refused.map(() => "answers that M23 refuses")];
}

function* generateAll(waiting: Course[], { seed, from, count }: Omit<Chunk, "program">): Generator<Course> {
  for (let index = from; index < from + count; index++) {
    const course = generateCourse(seed, index);
    waiting.push(course);
    yield course;
  }
}
