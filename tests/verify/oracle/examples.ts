/**
 * The worked examples of docs/contracts/replicas.md (section 12) as courses for the real controller. E15 and E16 stand here with one yardstick at a
 * time as the request, E18 with what a fallback makes of its value; E19 is about values, not about replicas.
 * Those of docs/contracts/metrics.md follow.
 */
import { METRIC_EXAMPLES } from "./metric_examples.ts";
import { average, cpu, down, type Example, type ExamplePod, repeat, toExample, whole } from "./example_parts.ts";

const NOW = down({});
/** Neither direction is slowed down. */
const FREE = {
  behavior: {
    ...NOW.behavior,
    scaleUp: { policies: [{ type: "Percent", value: 900, periodSeconds: 15 }] },
  },
} as const;

function slow(value: number) {
  return down({ policies: [{ type: "Percent", value, periodSeconds: 60 }] });
}

const pods = (count: number, used: number | null, more: Partial<ExamplePod> = {}) => repeat(count, { used, ...more });

function ofPods(id: string, target: number, all: readonly ExamplePod[], after: number, replicas = all.length): Example {
  return toExample({ id, spec: { metrics: [cpu(target)], ...FREE }, replicas, ticks: [{ pods: all }], after: [after] });
}

export const EXAMPLES: readonly Example[] = [
  ofPods("E1 550m", 50, pods(10, 550), 10),
  ofPods("E1 560m", 50, pods(10, 560), 12),
  ofPods("E1 450m", 50, pods(10, 450), 10),
  ofPods("E1 440m", 50, pods(10, 440), 9),
  ofPods("E2 1119m", 50, [...pods(3, 280, { request: 500 }), { used: 279, request: 500 }], 4),
  ofPods("E2 1120m", 50, pods(4, 280, { request: 500 }), 5),
  ofPods("E3", 60, [...pods(3, 200), { used: null }], 3),
  ofPods("E4", 150, [...pods(3, 200), { used: null }], 2),
  ofPods("E5", 50, [...pods(3, 1000), ...pods(2, 700, { isUnready: true, phase: "Pending" })], 6),
  ofPods("E6", 60, [...pods(5, 300), ...pods(5, null, { phase: "Pending" })], 3),
  toExample({
    id: "E7 no behavior",
    spec: { metrics: [average(1)] },
    replicas: 1,
    ticks: repeat(3, { value: 10 }),
    after: [4, 8, 10],
  }),
  toExample({
    id: "E7 behavior: {}",
    spec: { metrics: [average(1)], behavior: {} },
    replicas: 1,
    ticks: repeat(2, { value: 10 }),
    after: [5, 10],
  }),
  toExample({
    id: "E8",
    spec: {
      metrics: [average(1)],
      maxReplicas: 1000,
      behavior: { scaleUp: { policies: [{ type: "Percent", value: 10, periodSeconds: 60 }] } },
    },
    replicas: 100,
    ticks: repeat(5, { value: 500 }),
    after: [...repeat(4, 111), 123],
  }),
  toExample({
    id: "E9 10 %",
    spec: { metrics: [average(1)], ...slow(10) },
    replicas: 80,
    ticks: repeat(3, { value: 10 }),
    everySeconds: 60,
    after: [72, 64, 57],
  }),
  toExample({
    id: "E9 90 %",
    spec: { metrics: [average(1)], ...slow(90) },
    replicas: 10,
    ticks: [{ value: 0 }],
    after: [1],
  }),
  toExample({
    id: "E10 no behavior",
    spec: { metrics: [average(1)] },
    replicas: 10,
    ticks: repeat(22, { value: 5 }),
    after: [...repeat(21, 10), 5],
  }),
  toExample({
    id: "E10 behavior: {}",
    spec: { metrics: [average(1)], behavior: {} },
    replicas: 10,
    ticks: repeat(22, { value: 5 }),
    after: [...repeat(20, 10), 5, 5],
  }),
  ...[3, 5, 8].map((other) =>
    toExample({
      id: `E11 ${other}`,
      spec: { metrics: [average(1), average(1, "y")], ...NOW },
      replicas: 5,
      ticks: [{ other }],
      after: [Math.max(5, other)],
    })
  ),
  toExample({
    id: "E12 status 9 of 10",
    spec: { metrics: [average(10)], ...NOW },
    replicas: 10,
    ticks: [{ value: 100, status: 9 }],
    after: [10],
  }),
  toExample({
    id: "E12 status 8 of 12",
    spec: { metrics: [average(10)], ...NOW },
    replicas: 12,
    ticks: [{ value: 88, status: 8 }],
    after: [8],
  }),
  ...[4, 2].map((ready) =>
    toExample({
      id: `E13 ${ready} ready`,
      spec: { metrics: [whole(100)], ...NOW },
      replicas: 6,
      ticks: [{ value: 150, pods: [...pods(ready, 0), ...pods(6 - ready, 0, { isUnready: true })] }],
      after: [ready * 1.5],
    })
  ),
  ...([[5, 5], [20, 10]] as const).map(([maxReplicas, after]) =>
    toExample({
      id: `E14 max ${maxReplicas}`,
      spec: { metrics: [average(1)], maxReplicas, ...down({ selectPolicy: "Disabled" }) },
      replicas: 10,
      ticks: [{ value: 2 }],
      after: [after],
    })
  ),
  ofPods("E15 900m, full", 70, pods(4, 900, { request: 2000 }), 3),
  ofPods("E15 900m, born", 70, pods(4, 900, { request: 500 }), 11),
  ofPods("E15 1700m, full", 70, pods(4, 1700, { request: 2000 }), 5),
  ofPods("E15 1700m, born", 70, pods(4, 1700, { request: 500 }), 20),
  ofPods("E15 200m, full", 70, pods(6, 200, { request: 2000 }), 1),
  ofPods("E15 200m, born", 70, pods(6, 200, { request: 500 }), 4),
  ofPods("E16 saturated", 70, [...pods(2, 1700, { request: 2000 }), ...pods(2, 800, { request: 800 })], 6),
  ofPods("E16 unsaturated", 70, [...pods(2, 1700, { request: 2000 }), ...pods(2, 800, { request: 2000 })], 4),
  toExample({
    id: "E17",
    spec: {
      metrics: [{
        type: "ContainerResource",
        containerResource: { name: "cpu", container: "b", target: { type: "Utilization", averageUtilization: 50 } },
      }],
    },
    replicas: 2,
    ticks: [{ pods: [{ used: 1000, hasB: true }, { used: 1000 }] }],
    after: [2],
  }),
  toExample({
    id: "E18",
    spec: { metrics: [average(10)] },
    replicas: 2,
    ticks: [...repeat(3, {}), ...repeat(2, { value: 60 })],
    after: [2, 2, 2, 4, 6],
  }),
  ofPods("E20", 100, pods(12, 880), 11, 10),
  ...METRIC_EXAMPLES,
];
