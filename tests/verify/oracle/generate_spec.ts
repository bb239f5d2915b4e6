/** Makes up the spec of an HPA. */
import type { AskedMetric, HpaMetric, HpaPolicy, HpaRules, HpaSpec } from "./course.ts";
import { OBJECTS, SELECTORS } from "./generate_answers.ts";
import type { Random } from "./random.ts";

export function generateSpec(random: Random): HpaSpec {
  const metrics = Array.from({ length: random.pick([1, 1, 2, 3]) }, (_, at) => generateMetric(random, at));
  const minReplicas = random.pick([undefined, 1, 1, 2, 5]);
  const maxReplicas = Math.max(random.pick([1, 5, 10, 20, 100, 100, 1000]), minReplicas ?? 1);
  const min = minReplicas === undefined ? {} : { minReplicas };
  return { ...min, maxReplicas, metrics, ...(random.chance(0.6) ? { behavior: generateBehavior(random) } : {}) };
}

function generateBehavior(random: Random): NonNullable<HpaSpec["behavior"]> {
  return {
    ...(random.chance(0.7) ? { scaleUp: generateRules(random) } : {}),
    ...(random.chance(0.7) ? { scaleDown: generateRules(random) } : {}),
  };
}

function generateRules(random: Random): HpaRules {
  return {
    ...(random.chance(0.6) ? { stabilizationWindowSeconds: random.pick([0, 0, 0, 15, 30, 60, 300, 600]) } : {}),
    ...(random.chance(0.6)
      ? { policies: Array.from({ length: random.whole(1, 3) }, () => generatePolicy(random)) }
      : {}),
    ...(random.chance(0.5) ? { selectPolicy: random.pick(["Max", "Min", "Min", "Disabled"] as const) } : {}),
    ...(random.chance(0.3) ? { tolerance: random.pick(["0", "0.05", "0.2", "0.5", "50m", "1"]) } : {}),
  };
}

function generatePolicy(random: Random): HpaPolicy {
  return {
    type: random.pick(["Pods", "Percent"] as const),
    value: random.pick([1, 2, 3, 4, 5, 10, 25, 33, 50, 90, 100, 200]),
    periodSeconds: random.pick([1, 15, 30, 60, 120, 1800]),
  };
}

const KINDS = [
  ...["cpu", "cpu", "memory", "cpuValue", "memoryValue", "container", "whole", "average"] as const,
  ...["pods", "pods", "object", "objectAverage", "external", "externalAverage"] as const,
];

function generateMetric(random: Random, at: number): HpaMetric {
  const kind = random.pick(KINDS);
  const averageUtilization = random.pick([10, 50, 60, 70, 80, 100, 150, 200]);
  const utilization = { type: "Utilization", averageUtilization } as const;
  const value = random.pick(["1", "5", "2500m", "100", "1m"]);
  const metric = { name: `x${at}` };
  switch (kind) {
    case "cpu":
    case "memory":
      return { type: "Resource", resource: { name: kind, target: utilization } };
    case "container":
      return {
        type: "ContainerResource",
        containerResource: { name: "cpu", container: random.pick(["a", "b", "s"]), target: utilization },
      };
    case "cpuValue":
    case "memoryValue": {
      const name = kind === "cpuValue" ? "cpu" : "memory";
      const averageValue = name === "cpu"
        ? `${random.pick([1, 50, 100, 333, 500])}m`
        : `${random.pick([10, 100, 300])}Mi`;
      return { type: "Resource", resource: { name, target: { type: "AverageValue", averageValue } } };
    }
    case "whole":
      return { type: "External", external: { metric, target: { type: "Value", value } } };
    case "average":
      return { type: "External", external: { metric, target: { type: "AverageValue", averageValue: value } } };
    case "pods":
    case "object":
    case "objectAverage":
    case "external":
    case "externalAverage":
      return generateAsked(random, kind, at);
  }
}

type AskedKind = "pods" | "object" | "objectAverage" | "external" | "externalAverage";

/** A metric of an API, with what is usual in targets and what is odd. */
function generateAsked(random: Random, kind: AskedKind, at: number): AskedMetric {
  const { selector, text } = random.pick(SELECTORS);
  const name = random.pick(["m", "queue.depth_", "http:rate5m:", "a|b-"]) + at;
  const metric = { name, ...(selector !== undefined && { selector }), text };
  const usual = ["1", "5", "2500m", "100", "1m", "1e3", "1.5Gi", "333u", "0.7", "10Ti"];
  const value = random.pick(kind === "pods" ? usual : [...usual, "700T", "2P"]);
  const whole = { type: "Value", value } as const;
  const average = { type: "AverageValue", averageValue: value } as const;
  const describedObject = random.pick(OBJECTS).object;
  switch (kind) {
    case "pods":
      return { type: "Pods", pods: { metric, target: average } };
    case "object":
    case "objectAverage":
      return { type: "Object", object: { metric, describedObject, target: kind === "object" ? whole : average } };
    case "external":
    case "externalAverage":
      return { type: "External", external: { metric, target: kind === "external" ? whole : average } };
  }
}
