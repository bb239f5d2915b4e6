/** Worked examples of clause M17: a metric of pods, of an object, and an external one, each with the answer of its API. */
import type { AskedMetric, CoursePod, HpaMetric, HpaMetricName, HpaTarget } from "./course.ts";
import type { Example } from "./example_parts.ts";
import { type AnsweredItem, listQuestions, toBody } from "./generate_answers.ts";

const METRIC: HpaMetricName = { name: "rps", selector: { matchLabels: { verb: "GET" } }, text: "verb=GET" };
const SERVICE = { apiVersion: "v1", kind: "Service", name: "s" } as const;

const ofPods = (averageValue: string): AskedMetric => (
  { type: "Pods", pods: { metric: METRIC, target: { type: "AverageValue", averageValue } } }
);
const ofObject = (target: HpaTarget): AskedMetric => (
  { type: "Object", object: { metric: METRIC, describedObject: SERVICE, target } }
);
const external = (target: HpaTarget): AskedMetric => ({ type: "External", external: { metric: METRIC, target } });
const average = (averageValue: string): HpaTarget => ({ type: "AverageValue", averageValue });
const whole = (value: string): HpaTarget => ({ type: "Value", value });

interface MetricExample {
  readonly metric: AskedMetric;
  /** By pod; of another metric all in one list. `null` = the pod has none. */
  readonly values: readonly (string | null)[];
  readonly pods?: readonly Partial<CoursePod>[];
  readonly replicas: number;
  /** Metrics of other triggers, which fail. */
  readonly others?: readonly HpaMetric[];
  readonly after: number;
}

const READY: readonly Partial<CoursePod>[] = [{}, {}, {}, {}];
const FOUR_OF_SIX = [...READY, { ready: "False" }, { ready: "False" }] as const;

const CASES: Readonly<Record<string, MetricExample>> = {
  "pods by their average": { metric: ofPods("10"), values: ["20", "20000m", "2e1"], replicas: 3, after: 6 },
  "within the tolerance": { metric: ofPods("10"), values: ["11", "11"], replicas: 2, after: 2 },
  "a pod without a value, above the target": {
    metric: ofPods("10"),
    values: ["20", "20", null],
    replicas: 3,
    after: 4,
  },
  "a pod without a value, below it": { metric: ofPods("10"), values: ["1", "1", null], replicas: 3, after: 2 },
  "a pending pod": {
    metric: ofPods("10"),
    values: ["19", null],
    pods: [{}, { phase: "Pending" }],
    replicas: 2,
    after: 2,
  },
  "an unready pod counts": {
    metric: ofPods("10"),
    values: ["30", "10"],
    pods: [{}, { ready: "False" }],
    replicas: 2,
    after: 4,
  },
  "an object by value": { metric: ofObject(whole("500m")), values: ["1"], pods: FOUR_OF_SIX, replicas: 6, after: 8 },
  "an object by pod": { metric: ofObject(average("10")), values: ["35"], replicas: 3, after: 4 },
  "an object by pod, beyond doubles": { metric: ofObject(average("700T")), values: ["4900T"], replicas: 3, after: 7 },
  "external items are added up": { metric: external(average("10")), values: ["20", "35.5"], replicas: 3, after: 6 },
  "an external metric by value": {
    metric: external(whole("100")),
    values: ["150"],
    pods: FOUR_OF_SIX,
    replicas: 5,
    after: 6,
  },
  "the smallest amount": { metric: external(average("1m")), values: ["4001u"], replicas: 3, after: 5 },
  "no item": { metric: external(average("10")), values: [], replicas: 3, after: 3 },
  "another metric fails, and this one asks for less": {
    metric: ofObject(average("10")),
    values: ["10"],
    replicas: 3,
    others: [{ type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 50 } } }],
    after: 3,
  },
  "another metric fails, and this one asks for more": {
    metric: ofObject(average("10")),
    values: ["50"],
    replicas: 3,
    others: [{ type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 50 } } }],
    after: 5,
  },
};

/** Neither direction is slowed down. */
const FREE = {
  scaleUp: { policies: [{ type: "Percent", value: 900, periodSeconds: 15 }] },
  scaleDown: { stabilizationWindowSeconds: 0 },
} as const;

export const METRIC_EXAMPLES: readonly Example[] = Object.entries(CASES).map(([what, example]) => ({
  course: toCourse(`M17 ${what}`, example),
  after: [example.after],
}));

function toCourse(id: string, { metric, values, pods, replicas, others = [] }: MetricExample): Example["course"] {
  const listed = pods ?? (metric.type === "Pods" ? values.map(() => ({})) : READY);
  const items = values.flatMap((value, at): readonly AnsweredItem[] => value === null ? [] : [{ of: `p${at}`, value }]);
  const body = toBody(metric, items);
  const answers = Object.fromEntries(listQuestions(metric).map((question) => [question, body]));
  return {
    id,
    spec: { minReplicas: 1, maxReplicas: 100, metrics: [metric, ...others], behavior: FREE },
    replicas,
    ticks: [{ at: 0, pods: listed.map(toPod), usage: {}, external: {}, answers }],
  };
}

function toPod(given: Partial<CoursePod>, at: number): CoursePod {
  const start = -3_600_000;
  const common = { name: `p${at}`, phase: "Running", start, ready: "True", readyAt: start + 1000 } as const;
  return { ...common, containers: [{ name: "a", image: "i", resources: { requests: {} } }], ...given };
}
