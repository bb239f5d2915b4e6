/** Runs a chunk of courses by the real controller and by podfit's tick half, both at once, and holds one against the other. */
import { compare } from "./compare.ts";
import type { Course } from "./course.ts";
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
}

/** Holds few courses at a time: a pipe is as long as the controller is behind. */
export async function runChunk({ program, seed, from, count }: Chunk): Promise<ChunkResult> {
  const waiting: Course[] = [];
  const differences: string[] = [];
  let [courses, ticks, writes] = [0, 0, 0];
  for await (const real of askOracle(program, generateAll(waiting, { seed, from, count }))) {
    const course = waiting.shift();
    if (course === undefined) throw new Error(`Cannot compare ${real.id}: nobody asked for it`);
    differences.push(...compare(real, replay(course)));
    courses += 1;
    ticks += real.ticks.length;
    writes += real.ticks.filter(({ wrote }) => wrote).length;
  }
  return { courses, ticks, writes, differences };
}

function* generateAll(waiting: Course[], { seed, from, count }: Omit<Chunk, "program">): Generator<Course> {
  for (let index = from; index < from + count; index++) {
    const course = generateCourse(seed, index);
    waiting.push(course);
    yield course;
  }
}
