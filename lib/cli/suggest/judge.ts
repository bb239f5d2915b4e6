/**
 * How good is a policy on the observed usage? A simulation gives its figures, and one score ranks them.
 *
 * A policy is a profile and the numbers that differ from it.
 */
import type { Autoscaler, ProfileName } from "../../model/autoscaler.ts";
import type { PodFacts } from "../../model/pod.ts";
import { parseAutoscaler } from "../../resources/pod_resource_autoscaler/parse.ts";
import { adviseOnCooldown } from "../../resources/pod_resource_autoscaler/warnings.ts";
import { WEIGHTS } from "../../simulate/figures.ts";
import type { Load } from "../../simulate/load.ts";
import { type ContainerRun, simulate } from "../../simulate/simulate.ts";
import { type Resource, RESOURCES } from "../../units/resources.ts";
import { maskUnknown, withoutUnknown } from "../loads/loads.ts";

/** One container with its observed usage. */
export interface Subject {
  readonly container: string;
  /** The pod of the workload, with this container only. */
  readonly pod: PodFacts;
  /** Of one pod each. */
  readonly loads: readonly Load[];
  /** The resources of the loads that were measured. */
  readonly seen: readonly Resource[];
}

/**
 * Means over the loads: millicores, and MiB of memory. Seconds and kills are sums. Figures of a resource that was not
 * seen are 0, and resizes are only those of seen ones.
 */
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

/** The verdict on the spec; without a spec the pod keeps its size. `null` where the spec is invalid. */
export function judge(subject: Subject, spec: Spec | null): Verdict | null {
  const autoscaler = spec === null ? null : toAutoscaler(spec, subject.container);
  if (spec !== null && autoscaler === null) return null;
  const { pod, container, seen } = subject;
  // An invented amount would cost, and could kill, what no policy can be blamed for.
  const unknown = { [container]: RESOURCES.filter((one) => !seen.includes(one)) };
  const autoscalers = withoutUnknown(autoscaler === null ? [] : [autoscaler], unknown);
  const runs = subject.loads.flatMap((load, index) => {
    const options = {
      autoscalers,
      pod,
      loads: { [container]: maskUnknown({ load, seen }) },
      seed: `${index}`,
      seconds: Math.floor(load.seconds),
    };
    return simulate(options).containers.map((run) => ({ run, seconds: load.seconds }));
  });
  return computeVerdict(runs, seen);
}

interface Weighted {
  readonly run: ContainerRun;
  readonly seconds: number;
}

function computeVerdict(runs: readonly Weighted[], seen: readonly Resource[]): Verdict {
  const total = runs.reduce((sum, { seconds }) => sum + seconds, 0);
  const mean = (read: (run: ContainerRun) => number) =>
    total === 0 ? 0 : runs.reduce((sum, { run, seconds }) => sum + read(run) * seconds, 0) / total;
  const sum = (read: (run: ContainerRun) => number) => runs.reduce((all, { run }) => all + read(run), 0);
  const ifSeen = (resource: Resource, figure: number) => seen.includes(resource) ? figure : 0;
  return {
    slack: ifSeen("cpu", mean(({ cpu }) => cpu.slack)),
    under: ifSeen("cpu", mean(({ cpu }) => cpu.under)),
    throttled: ifSeen("cpu", mean(({ cpu }) => cpu.throttled)),
    throttledSeconds: ifSeen("cpu", sum(({ cpu }) => cpu.throttledSeconds)),
    memorySlack: ifSeen("memory", mean(({ memory }) => memory.slack)),
    oomKills: sum(({ oomKills }) => oomKills.length),
    resizes: sum(({ resizes }) => resizes.length),
    resizesPerHour: mean((run) => run.resizesPerHour),
  };
}

/** What a MiB costs compared with a millicore: nodes have about 4 GiB per core. */
const MILLICORES_PER_MIB = 0.25;

/** One resize an hour is worth this share of the cost: each is a disturbance. */
const RESIZE_SHARE = 0.03;

/** A policy that is worse than the baseline in one figure does not win, however much it gains elsewhere. */
const WORSE_PENALTY = 4;

/** A figure has to be lower than the baseline's by this share, because other days differ. */
const MARGIN = 0.1;

/** Differences below these do not count: millicores, seconds, resizes. */
const NEGLIGIBLE = { slack: 1, throttledSeconds: 1, resizes: 1 } as const;

/** To rank by, less is better. `measure`: the baseline in slack, throttling and resizes. */
export function computeScore(verdict: Verdict, measure: Verdict): number {
  const { slack, under, throttled, memorySlack, resizesPerHour } = verdict;
  const cost = slack + WEIGHTS.under * under + WEIGHTS.throttled * throttled + MILLICORES_PER_MIB * memorySlack;
  const worse = (["slack", "throttledSeconds", "resizes"] as const).map((figure) => {
    const excess = verdict[figure] - Math.max(computeAim(measure, figure), NEGLIGIBLE[figure]);
    return excess <= 0 ? 0 : Math.min(1, excess / Math.max(measure[figure], NEGLIGIBLE[figure]));
  });
  return cost * (1 + RESIZE_SHARE * resizesPerHour) * (1 + WORSE_PENALTY * worse.reduce((sum, one) => sum + one, 0));
}

/** A small number of resizes is partly chance: next time it may be higher by its square root. */
function computeAim(measure: Verdict, figure: keyof typeof NEGLIGIBLE): number {
  const most = measure[figure] * (1 - MARGIN);
  return figure === "resizes" ? Math.min(most, measure.resizes - Math.sqrt(measure.resizes)) : most;
}

/** Kills count more than everything else: a policy that avoids them is better at any cost. */
export function isBetter(a: Ranked, b: Ranked, { by = 0 }: { readonly by?: number } = {}): boolean {
  if (a.verdict.oomKills !== b.verdict.oomKills) return a.verdict.oomKills < b.verdict.oomKills;
  return a.score < b.score * (1 - by);
}

export interface Ranked {
  readonly verdict: Verdict;
  readonly score: number;
}

/** As a manifest has it. */
export type Value = string | number;

export interface Candidate {
  readonly profile: ProfileName;
  /** By path within the spec: `policy.cpu.requests.scaleDown.window`. */
  readonly numbers: ReadonlyMap<string, Value>;
}

/** Fields of `spec`, nested as a manifest has them. */
export type Spec = { readonly [field: string]: Value | Spec };

/** The spec without its target. */
export function toSpec({ profile, numbers }: Candidate): Spec {
  const spec: Nested = { profile };
  for (const [path, value] of numbers) setPath(spec, path.split("."), value);
  return spec;
}

/** Returns the same with one more number, or another one; `null` removes it. */
export function withNumber(candidate: Candidate, path: string, value: Value | null): Candidate {
  const numbers = new Map(candidate.numbers);
  numbers.delete(path);
  if (value !== null) numbers.set(path, value);
  return { ...candidate, numbers };
}

/** The autoscaler of a spec for one container; `null` where it is not valid. */
function toAutoscaler(spec: Spec, containerName: string): Autoscaler | null {
  const parsed = parse(spec, containerName);
  return parsed.ok ? parsed.autoscaler : null;
}

/** Returns whether `podfit lint` has no finding. */
export function isClean(spec: Spec): boolean {
  const parsed = parse(spec, "app");
  return parsed.ok && parsed.warnings.length === 0 && adviseOnCooldown(parsed.autoscaler).length === 0;
}

function parse(spec: Spec, containerName: string) {
  return parseAutoscaler({
    apiVersion: "keda.kedify.io/v1alpha1",
    kind: "PodResourceAutoscaler",
    metadata: { name: "suggested", namespace: "default", uid: "suggested" },
    spec: { selector: { matchLabels: { app: "suggested" } }, containerName, ...spec },
  });
}

type Nested = { [field: string]: Value | Nested };

function setPath(target: Nested, [field = "", ...rest]: readonly string[], value: Value): void {
  if (rest.length === 0) {
    target[field] = value;
    return;
  }
  const inner = target[field];
  const next: Nested = typeof inner === "object" ? inner : {};
  target[field] = next;
  setPath(next, rest, value);
}

const EXAMPLE_THRESHOLDS: Spec = {
  requests: { scaleUpThreshold: 75, scaleDownThreshold: 60, targetUtilization: 70 },
  limits: { scaleUpThreshold: 85, scaleDownThreshold: 70, targetUtilization: 75 },
};

export const EXAMPLE_SPEC: Spec = {
  policy: {
    pollInterval: "5s",
    consecutiveSamples: 3,
    cooldown: "2m",
    after: "containerReady",
    delay: "10s",
    cpu: EXAMPLE_THRESHOLDS,
    memory: EXAMPLE_THRESHOLDS,
  },
  bounds: {
    cpu: {
      requests: { min: "100m", max: "2", step: "100m", stepPercent: 25 },
      limits: { min: "100m", max: "3", step: "100m", stepPercent: 25 },
    },
    memory: {
      requests: { min: "96Mi", max: "2Gi", step: "64Mi", stepPercent: 25 },
      limits: { min: "300Mi", max: "3Gi", step: "64Mi", stepPercent: 25 },
    },
  },
};

/** Levels of one resource: the amount that it did not exceed in that share of the seconds, and the maximum. */
export interface Levels {
  readonly half: number;
  readonly most95: number;
  readonly most99: number;
  readonly max: number;
}

export interface UsageLevels {
  /** Levels over all loads together. */
  readonly seconds: number;
  readonly pods: number;
  /** Millicores. */
  readonly cpu: Levels;
  /** Bytes. */
  readonly memory: Levels;
}

/** The number of seconds that are sampled, at equal distances. */
const MAX_SECONDS_READ = 200_000;

export function computeUsageLevels(loads: readonly Load[]): UsageLevels {
  const seconds = loads.reduce((sum, load) => sum + load.seconds, 0);
  const stride = Math.max(1, Math.ceil(seconds / MAX_SECONDS_READ));
  const [cpu, memory]: [number[], number[]] = [[], []];
  for (const load of loads) {
    for (let second = 0; second <= load.seconds; second += stride) {
      const { cpuMillicores, workingSetBytes } = load.at(second);
      cpu.push(cpuMillicores);
      memory.push(workingSetBytes);
    }
  }
  return { seconds, pods: loads.length, cpu: toLevels(cpu), memory: toLevels(memory) };
}

function toLevels(amounts: number[]): Levels {
  const sorted = Float64Array.from(amounts).sort();
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  return { half: at(0.5), most95: at(0.95), most99: at(0.99), max: sorted.at(-1) ?? 0 };
}
