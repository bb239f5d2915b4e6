/**
 * What podfit's control has to be worth (section 8 of the law), beside the field's recommender on the same curves: each
 * bar with its figure, and whether it is met.
 */
import type { Score } from "./score.ts";

/** One demand. */
export interface Bar {
  readonly name: string;
  readonly isMet: boolean;
  /** What was measured, beside what it is held against. */
  readonly figure: string;
}

/** Controllers by their part here. */
export const CONTROLLERS = {
  example: "podfit-example",
  balanced: "podfit-balanced",
  latency: "podfit-latency",
  thrifty: "podfit-thrifty",
  vpa: "vpa",
  slowVpa: "vpa-30m",
  fastVpa: "vpa-fast",
} as const;

const RIVALS = ["vpa", "vpa-warm", "vpa-30m", "vpa-fast"];
const STEP_SECONDS = 30;
const CALM_PER_HOUR = 0.5;

/** What has a mean. */
type Figure = { [Key in keyof Score]: Score[Key] extends number ? Key : never }[keyof Score];

/** NaN where there are no scores, and then no bar is met. */
export function meanOf(scores: readonly Score[], figure: Figure): number {
  return scores.reduce((sum, score) => sum + score[figure], 0) / scores.length;
}

/** All bars, in the order of the law. */
export function judge(scores: readonly Score[]): readonly Bar[] {
  const { example, balanced, latency, thrifty } = CONTROLLERS;
  const profiles = [balanced, latency, thrifty];
  return [
    ...judgeBalanced(scores),
    ...judgeLatency(scores),
    ...judgeThrifty(scores),
    ...[example, ...profiles].flatMap((name) => judgeMemory(scores, name)),
    ...profiles.map((name) => judgeCalm(scores, name)),
  ];
}

function judgeBalanced(scores: readonly Score[]): readonly Bar[] {
  const own = onReal(scores, CONTROLLERS.balanced);
  const slow = onReal(scores, CONTROLLERS.slowVpa);
  const rivals = RIVALS.filter((rival) => onReal(scores, rival).length > 0);
  const ratio = meanOf(own, "limit") / meanOf(own, "request");
  return [
    atMost("balanced: cost, to 0.6 of the 30-minute VPA's", meanOf(own, "cost"), 0.6 * meanOf(slow, "cost")),
    atMost("balanced: resizes an hour", meanOf(own, "resizesPerHour"), 3),
    atMost("balanced: % of time under, to the 30-minute VPA's", meanOf(own, "underTime"), meanOf(slow, "underTime")),
    atMost("balanced: mean CPU limit to mean request", ratio, 3),
    ...rivals.map((rival) => judgeRival(own, onReal(scores, rival), rival)),
  ];
}

/** A rival that is better in both leaves no reason to take podfit. */
function judgeRival(own: readonly Score[], other: readonly Score[], rival: string): Bar {
  const [cost, resizes] = [meanOf(own, "cost"), meanOf(own, "resizesPerHour")];
  const [theirCost, theirResizes] = [meanOf(other, "cost"), meanOf(other, "resizesPerHour")];
  return {
    name: `balanced: ${rival} is not better in both cost and resizes`,
    isMet: cost < theirCost || resizes < theirResizes,
    figure: `${write(cost)} at ${write(resizes)}/h beside ${write(theirCost)} at ${write(theirResizes)}/h`,
  };
}

function judgeLatency(scores: readonly Score[]): readonly Bar[] {
  const own = onReal(scores, CONTROLLERS.latency);
  const fast = onReal(scores, CONTROLLERS.fastVpa);
  const slow = onReal(scores, CONTROLLERS.slowVpa);
  const short = (list: readonly Score[]) => meanOf(list, "underTime") + meanOf(list, "throttledTime");
  return [
    atMost("latency: % of time under and throttled, to a third of the fastest VPA's", short(own), short(fast) / 3),
    atMost("latency: slack, to the 30-minute VPA's", meanOf(own, "slack"), meanOf(slow, "slack")),
    atMost("latency: resizes an hour", meanOf(own, "resizesPerHour"), 6),
    judgeSteps(scores.filter(({ controller, kind }) => controller === CONTROLLERS.latency && kind === "phase")),
  ];
}

/** Nine of ten: the slowest tenth may be slower. */
function judgeSteps(phases: readonly Score[]): Bar {
  const seconds = phases.map(({ settlesUp }) => settlesUp ?? Infinity).sort((a, b) => a - b);
  const slowest = seconds[Math.ceil(seconds.length * 0.9) - 1] ?? NaN;
  return atMost(`latency: seconds to fit a step of ten, in 9 of 10 of ${phases.length} phases`, slowest, STEP_SECONDS);
}

function judgeThrifty(scores: readonly Score[]): readonly Bar[] {
  const own = onReal(scores, CONTROLLERS.thrifty);
  const fast = onReal(scores, CONTROLLERS.fastVpa);
  const resizes = meanOf(fast, "resizesPerHour") / 4;
  return [
    atMost("thrifty: cost, to the fastest VPA's", meanOf(own, "cost"), meanOf(fast, "cost")),
    atMost("thrifty: resizes an hour, to a quarter of the fastest VPA's", meanOf(own, "resizesPerHour"), resizes),
    atMost("thrifty: % of time under", meanOf(own, "underTime"), 4),
  ];
}

function judgeMemory(scores: readonly Score[], controller: string): readonly Bar[] {
  const own = scores.filter((score) => score.controller === controller && score.kind === "memory");
  const vpa = scores.filter((score) => score.controller === CONTROLLERS.vpa && score.kind === "memory");
  const name = controller.replace("podfit-", "");
  const most = (figure: Figure) => own.reduce((most, score) => Math.max(most, score[figure]), own.length > 0 ? 0 : NaN);
  return [
    atMost(`${name}: most OOM kills of a curve after two hours`, most("killsLate"), 0),
    atMost(`${name}: most OOM kills of a curve before`, most("killsEarly"), 2),
    atMost(`${name}: slack of memory in MiB, to VPA's by default`, meanOf(own, "slack"), meanOf(vpa, "slack")),
  ];
}

function judgeCalm(scores: readonly Score[], controller: string): Bar {
  const own = scores.filter((score) => score.controller === controller && score.curve === "constant");
  const name = controller.replace("podfit-", "");
  return atMost(
    `${name}: resizes an hour of a constant load with 10 % noise`,
    meanOf(own, "resizesPerHour"),
    CALM_PER_HOUR,
  );
}

function onReal(scores: readonly Score[], controller: string): readonly Score[] {
  return scores.filter((score) => score.controller === controller && score.kind === "cpu" && score.isReal);
}

/** NaN is not at most anything. */
function atMost(name: string, value: number, most: number): Bar {
  return { name, isMet: value <= most, figure: `${write(value)}, at most ${write(most)}` };
}

/** Three digits that count. */
function write(value: number): string {
  if (Number.isNaN(value)) return "not measured";
  return value.toFixed(Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2).replace(/\.0+$/, "");
}
