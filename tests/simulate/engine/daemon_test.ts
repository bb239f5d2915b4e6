import { assert } from "#assert";
import { type ContainerRun, simulate } from "../../../lib/simulate/simulate.ts";
import type { Load } from "../../../lib/simulate/load.ts";
import { container, MI, pod, resources } from "../../support/builders.ts";
import { type Curve, listAmounts } from "../../verify/quality/curve.ts";
import { runDaemon } from "../../verify/quality/daemon_run.ts";
import { type Score, scoreRun } from "../../verify/quality/score.ts";
import { autoscalerOf } from "../runs.ts";

/**
 * How far means of some pods may lie apart, as their samples fall on other seconds: costs by a share, resizes by number.
 * Means of 40 pods and 200 seeds were within 1.5 % and 0.02.
 */
const TOLERANCE = { cost: 0.1, resizes: 1 } as const;
const PODS = 8;
const SEEDS = 60;
const MINUTE = 60;

Deno.test("simulate() comes to what the whole daemon comes to on the embedded cluster, under the same curve", async () => {
  for (const spec of [{ profile: "balanced" }, { policy: EXAMPLE }]) {
    const curves = Array.from({ length: PODS }, (_, index) => ({ ...CURVE, name: `steps-${index}` }));
    const runs = await runDaemon({ controller: "podfit", curves, spec, seed: "1", onHours() {}, complain() {} });
    const daemon = runs.map((one, index) => scoreRun(curves[index] ?? CURVE, one));
    const simulated = Array.from({ length: SEEDS }, (_, seed) => simulateCurve(spec, String(seed)));
    const [expected, resizes] = [meanOf(daemon.map(countOf)), meanOf(simulated.map(({ resizes }) => resizes.length))];
    assert(expected >= 3 && Math.abs(resizes - expected) <= TOLERANCE.resizes, `${resizes} resizes, not ${expected}`);
    for (const figure of ["cost", "slack", "request"] as const) {
      const [theirs, ours] = [
        meanOf(daemon.map((one) => one[figure])),
        meanOf(simulated.map(({ cpu }) => cpu[figure])),
      ];
      assert(Math.abs(ours - theirs) <= TOLERANCE.cost * theirs, `${figure}: ${ours}, not ${theirs}`);
    }
  }
});

/** CPU alone moves in it. */
function simulateCurve(spec: Readonly<Record<string, unknown>>, seed: string): ContainerRun {
  const { containers: [run] } = simulate({
    autoscalers: [autoscalerOf(spec, "app")],
    pod: pod({ name: "web", containers: [container({ name: "app", spec: TEMPLATE })] }),
    loads: { app: toLoad(CURVE) },
    seed,
    seconds: CURVE.seconds,
  });
  if (run === undefined) throw new Error("no container");
  return run;
}

function countOf({ resizesPerHour }: Score): number {
  return resizesPerHour * CURVE.seconds / 3600;
}

function meanOf(figures: readonly number[]): number {
  return figures.reduce((sum, one) => sum + one, 0) / figures.length;
}

const EXAMPLE = {
  pollInterval: "5s",
  consecutiveSamples: 3,
  cooldown: "2m",
  cpu: {
    requests: { scaleUpThreshold: 75, scaleDownThreshold: 60, targetUtilization: 70 },
    limits: { scaleUpThreshold: 85, scaleDownThreshold: 70, targetUtilization: 75 },
  },
};

/** What `runDaemon` gives each pod. */
const TEMPLATE = resources({
  "cpu.requests": 500,
  "cpu.limits": 1000,
  "memory.requests": 256 * MI,
  "memory.limits": 512 * MI,
});

const CURVE: Curve = {
  name: "steps",
  kind: "cpu",
  isReal: false,
  seconds: 100 * MINUTE,
  cpu: {
    kind: "points",
    value: 0,
    points: [[0, 150], [30, 160], [33, 900], [50, 1100], [53, 400], [70, 350], [73, 150], [100, 140]]
      .map(([minute = 0, amount = 0]) => [minute * MINUTE * 1000, amount] as const),
  },
  memory: { kind: "constant", value: 200 * MI },
  cache: { kind: "constant", value: 0 },
  startsBelow: 0,
  steps: null,
};

function toLoad({ cpu, memory, seconds }: Curve): Load {
  const amounts = listAmounts(cpu, seconds);
  return { seconds, at: (second) => ({ cpuMillicores: amounts[second] ?? 0, workingSetBytes: memory.value }) };
}
