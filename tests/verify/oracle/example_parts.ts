/** What the worked examples are put together of: pods that are old and ready unless said otherwise, and request 1000m. */
import type { Course, CoursePod, CourseTick, HpaMetric, HpaRules, HpaSpec, Sample } from "./course.ts";

export interface Example {
  readonly course: Course;
  /** Replicas after each tick, by the contract. */
  readonly after: readonly number[];
}

export interface ExamplePod {
  /** Millicores; `null` = it has no metric. */
  readonly used: number | null;
  readonly request?: number;
  readonly isUnready?: true;
  readonly phase?: CoursePod["phase"];
  /** Has a container b beside a. */
  readonly hasB?: true;
}

export interface ExampleTick {
  readonly pods?: readonly ExamplePod[];
  /** Of the external metric x, whole; absent = it fails. */
  readonly value?: number;
  /** Of the external metric y, likewise. */
  readonly other?: number;
  readonly status?: number;
}

interface ExampleSetting {
  readonly id: string;
  readonly spec: Partial<HpaSpec> & Pick<HpaSpec, "metrics">;
  readonly replicas: number;
  readonly ticks: readonly ExampleTick[];
  /** 15 unless given. */
  readonly everySeconds?: number;
  readonly after: readonly number[];
}

export function toExample({ id, spec, replicas, ticks, everySeconds = 15, after }: ExampleSetting): Example {
  const at = (index: number) => index * everySeconds * 1000;
  const course = {
    id,
    spec: { minReplicas: 1, maxReplicas: 100, ...spec },
    replicas,
    ticks: ticks.map((tick, index) => toTick(tick, at(index))),
  };
  return { course, after };
}

export function cpu(averageUtilization: number): HpaMetric {
  return { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization } } };
}

export function average(value: number, name = "x"): HpaMetric {
  return {
    type: "External",
    external: { metric: { name }, target: { type: "AverageValue", averageValue: `${value}` } },
  };
}

export function whole(value: number): HpaMetric {
  return { type: "External", external: { metric: { name: "x" }, target: { type: "Value", value: `${value}` } } };
}

export function down(rules: HpaRules): Pick<HpaSpec, "behavior"> {
  return { behavior: { scaleDown: { stabilizationWindowSeconds: 0, ...rules } } };
}

export function repeat<T>(count: number, item: T): readonly T[] {
  return Array<T>(count).fill(item);
}

function toTick({ pods = [], value, other, status }: ExampleTick, at: number): CourseTick {
  const named = pods.map((pod, index) => ({ ...pod, name: `p${index}` }));
  const samples: Record<string, Sample> = {};
  for (const { name, used } of named) if (used !== null) samples[name] = { value: used, at, window: 15_000 };
  return {
    at,
    ...(status === undefined ? {} : { status }),
    pods: named.map((pod) => toPod(pod, at)),
    usage: { cpu: samples, "cpu/b": samples },
    external: {
      ...(value === undefined ? {} : { x: [value * 1000] }),
      ...(other === undefined ? {} : { y: [other * 1000] }),
    },
  };
}

function toPod(
  { name, request = 1000, isUnready, phase = "Running", hasB }: ExamplePod & { name: string },
  at: number,
): CoursePod {
  const start = at - 3_600_000;
  const names = hasB ? ["a", "b"] : ["a"];
  const resources = { requests: { cpu: `${request}m` } };
  const ready = isUnready ? "False" : "True";
  const containers = names.map((one) => ({ name: one, image: "i" as const, resources }));
  return { name, phase, start, ready, readyAt: start + 1000, containers };
}
