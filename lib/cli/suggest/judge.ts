/** How well a policy does on what was seen, in figures and in one number to rank by. */
import type { PodFacts } from "../../core/pod/pod_facts.ts";
import type { Load } from "../../simulate/engine/load.ts";
import { WEIGHTS } from "../../simulate/engine/figures.ts";
import { type ContainerRun, simulate } from "../../simulate/engine/simulate.ts";
import type { Resource } from "../../units/resources.ts";
import { type Spec, toAutoscaler } from "./candidate.ts";

/** One container, and what was seen of it. */
export interface Subject {
  readonly container: string;
  /** A pod as its workload makes it, with this container alone. */
  readonly pod: PodFacts;
  /** Of one pod each. */
  readonly loads: readonly Load[];
  /** What of the loads was measured, and is no guess. */
  readonly seen: readonly Resource[];
}

/** Means over the loads: millicores, and MiB of memory. Seconds and kills are sums. */
export interface Verdict {
  readonly slack: number;
  readonly under: number;
  readonly throttled: number;
  readonly throttledSeconds: number;
  readonly memorySlack: number;
  readonly oomKills: number;
  readonly resizes: number;
  readonly resizesPerHour: number;
}

/** Of the spec as it stands; without one the pod keeps its size. `null` where the spec is not valid. */
export function judge(subject: Subject, spec: Spec | null): Verdict | null {
  const autoscaler = spec === null ? null : toAutoscaler(spec, subject.container);
  if (spec !== null && autoscaler === null) return null;
  const autoscalers = autoscaler === null ? [] : [autoscaler];
  const runs = subject.loads.flatMap((load, index) => {
    const { pod, container } = subject;
    const options = {
      autoscalers,
      pod,
      loads: { [container]: load },
      seed: `${index}`,
      seconds: Math.floor(load.seconds),
    };
    return simulate(options).containers.map((run) => ({ run, seconds: load.seconds }));
  });
  return toVerdict(runs);
}

interface Weighted {
  readonly run: ContainerRun;
  readonly seconds: number;
}

function toVerdict(runs: readonly Weighted[]): Verdict {
  const total = runs.reduce((sum, { seconds }) => sum + seconds, 0);
  const mean = (read: (run: ContainerRun) => number) =>
    total === 0 ? 0 : runs.reduce((sum, { run, seconds }) => sum + read(run) * seconds, 0) / total;
  const sum = (read: (run: ContainerRun) => number) => runs.reduce((all, { run }) => all + read(run), 0);
  return {
    slack: mean(({ cpu }) => cpu.slack),
    under: mean(({ cpu }) => cpu.under),
    throttled: mean(({ cpu }) => cpu.throttled),
    throttledSeconds: sum(({ cpu }) => cpu.throttledSeconds),
    memorySlack: mean(({ memory }) => memory.slack),
    oomKills: sum(({ oomKills }) => oomKills.length),
    resizes: sum(({ resizes }) => resizes.length),
    resizesPerHour: mean((run) => run.resizesPerHour),
  };
}

/** What a MiB costs beside a millicore: nodes have about 4 GiB to a core. */
const MILLICORES_PER_MIB = 0.25;
/** One resize an hour is worth this share of the cost: each is a disturbance. */
const RESIZE_SHARE = 0.03;
/** What does worse than the measure in one figure is no answer to who has that already, however much it gains elsewhere. */
const WORSE = 4;
/** A figure has to be lower than the measure's by this share, as other days differ. */
const MARGIN = 0.1;
/** Differences below these are nothing: millicores, seconds, resizes. */
const NOTHING = { slack: 1, throttledSeconds: 1, resizes: 1 } as const;

/** What a verdict is held against. */
export interface ScoreOptions {
  /** What it has to beat in slack, throttling and resizes, at least as it stands. */
  readonly measure: Verdict;
  /** What counts. */
  readonly seen: readonly Resource[];
}

/** To rank by, less is better. */
export function toScore(verdict: Verdict, { measure, seen }: ScoreOptions): number {
  const { slack, under, throttled, memorySlack, resizesPerHour } = verdict;
  const cost = [
    ...seen.includes("cpu") ? [slack + WEIGHTS.under * under + WEIGHTS.throttled * throttled] : [],
    ...seen.includes("memory") ? [MILLICORES_PER_MIB * memorySlack] : [],
  ].reduce((sum, one) => sum + one, 0);
  const worse = (["slack", "throttledSeconds", "resizes"] as const).map((figure) => {
    const excess = verdict[figure] - Math.max(toAim(measure, figure), NOTHING[figure]);
    return excess <= 0 ? 0 : Math.min(1, excess / Math.max(measure[figure], NOTHING[figure]));
  });
  return cost * (1 + RESIZE_SHARE * resizesPerHour) * (1 + WORSE * worse.reduce((sum, one) => sum + one, 0));
}

/** A few resizes are as many as by chance: the next time it may be more by the root of their number. */
function toAim(measure: Verdict, figure: keyof typeof NOTHING): number {
  const most = measure[figure] * (1 - MARGIN);
  return figure === "resizes" ? Math.min(most, measure.resizes - Math.sqrt(measure.resizes)) : most;
}

/** Kills go before everything: what avoids them is better, whatever it costs. */
export function isBetter(a: Ranked, b: Ranked, { by = 0 }: { readonly by?: number } = {}): boolean {
  if (a.verdict.oomKills !== b.verdict.oomKills) return a.verdict.oomKills < b.verdict.oomKills;
  return a.score < b.score * (1 - by);
}

export interface Ranked {
  readonly verdict: Verdict;
  readonly score: number;
}
