/** Where podfit's ticks are not the controller's. */
import type { CourseResult, TickResult } from "./course.ts";

/** A sentence per difference, with the course's id; none where all is the same. */
export function compare(real: CourseResult, ours: CourseResult): readonly string[] {
  if (real.id !== ours.id || real.ticks.length !== ours.ticks.length) {
    return [`${ours.id}: ${ours.ticks.length} ticks, the controller has ${real.ticks.length} of ${real.id}`];
  }
  return real.ticks.flatMap((tick, at) => {
    const one = ours.ticks[at];
    if (one === undefined) return [];
    const differences = compareTicks(tick, one);
    return differences.length === 0 ? [] : [`${ours.id} tick ${at}: ${differences.join(", ")}`];
  });
}

function compareTicks(real: TickResult, ours: TickResult): readonly string[] {
  const [expected, actual] = [flatten(real), flatten(ours)];
  const names = [...new Set([...Object.keys(expected), ...Object.keys(actual)])];
  return names.filter((name) => expected[name] !== actual[name])
    .map((name) => `${name} ${actual[name] ?? "absent"}, the controller has ${expected[name] ?? "none"}`);
}

function flatten({ after, wrote, conditions }: TickResult): Readonly<Record<string, string>> {
  const { ScaledToZero: zero, ...others } = conditions;
  // The controller of 1.37 says at each write that it was not to zero. No course has a minimum of 0.
  const isPlain = zero === undefined || zero === "False/NotScaledToZero";
  return { after: `${after}`, wrote: `${wrote}`, ...(isPlain ? others : conditions) };
}
