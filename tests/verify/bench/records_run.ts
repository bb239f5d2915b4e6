// deno-lint-ignore-file no-console
/**
 * An hour of one pod on the embedded cluster, then the same hour for many pods through the fold, with a flight recorder and without: the heap
 * of both, as JSON on stdout.
 */
import { decideSize } from "../../../lib/vertical/decide.ts";
import { NEW_POD_STATE, type PodState } from "../../../lib/model/state.ts";
import { WHOLE_CLUSTER } from "../../../lib/daemon/cluster/facts.ts";
import { createFlightRecorder, type FlightRecorder } from "../../../lib/daemon/recorder.ts";
import type { Evaluation } from "../../../lib/daemon/pods/controller.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";
import type { Json } from "../../support/api_objects.ts";
import { ClusterRun } from "../../support/cluster_run.ts";
import type { RecordsCost } from "./records.ts";

const PODS = 200;
const HOUR_SECONDS = 3_600;
/** Up and down every ten minutes, by far more than any threshold. */
const LOADS: Readonly<Record<RecordsCost["hour"], Json>> = {
  quiet: { kind: "constant", value: 45 },
  busy: { kind: "sine", mean: 300, amplitude: 280, periodMs: 600_000 },
};

async function recordHour(hour: RecordsCost["hour"]): Promise<readonly Evaluation[]> {
  const evaluations: Evaluation[] = [];
  await using run = await ClusterRun.start();
  await run.create(...toObjects(LOADS[hour]));
  await using _podfit = run.startPodfit(WHOLE_CLUSTER, { sinks: [(one) => evaluations.push(one)] });
  await run.advance(HOUR_SECONDS);
  return evaluations.slice();
}

function toObjects(cpuMillicores: Json): readonly Json[] {
  const load = { main: { cpuMillicores, workingSetBytes: 100 * 2 ** 20 } };
  const resources = { requests: { cpu: "50m", memory: "128Mi" }, limits: { cpu: "100m", memory: "256Mi" } };
  const annotations = { "sim.podfit.dev/load": JSON.stringify(load) };
  const sides = (min: string, max: string) => ({ requests: { min, max }, limits: { min, max } });
  return [{
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web", labels: { app: "web" }, annotations },
    spec: { containers: [{ name: "main", image: "example/web:1", resources }] },
  }, {
    apiVersion: "keda.kedify.io/v1alpha1",
    kind: "PodResourceAutoscaler",
    metadata: { name: "web" },
    spec: {
      selector: { matchLabels: { app: "web" } },
      containerName: "main",
      profile: "balanced",
      bounds: { cpu: sides("10m", "4"), memory: sides("10Mi", "4Gi") },
    },
  }];
}

interface Pods {
  readonly heapBytes: number;
  readonly tookMs: number;
}

/** Pods are copies of the first, as a watch brings them; contenders are shared, as they are there. */
async function play(hour: readonly Evaluation[], recorder: FlightRecorder | null, clock: VirtualClock): Promise<Pods> {
  const states: PodState[] = Array(PODS).fill(NEW_POD_STATE);
  const pods: Evaluation["input"]["pod"][] = Array(PODS);
  const ending = new AbortController();
  const running = recorder?.run(ending.signal);
  let before: Evaluation["input"]["pod"] | null = null;
  const startedMs = performance.now();
  for (const { input } of hour) {
    for (let at = 0; at < PODS; at++) {
      const pod = before === input.pod
        ? pods[at]
        : { ...structuredClone(input.pod), uid: `uid-${at}`, name: `web-${at}` };
      if (pod === undefined) continue;
      pods[at] = pod;
      const own = { ...input, pod, observation: structuredClone(input.observation) };
      const given = states[at] ?? NEW_POD_STATE;
      const outcome = decideSize(given, own);
      states[at] = outcome.state;
      recorder?.sink({ before: given, input: own, outcome, tookMs: 0 });
    }
    before = input.pod;
    clock.setNow(input.now);
    await clock.advance(1_000);
  }
  const tookMs = performance.now() - startedMs;
  const heapBytes = await readHeap();
  ending.abort();
  await running;
  if (states.length + pods.length !== 2 * PODS) throw new Error("Cannot measure: pods were lost");
  return { heapBytes, tookMs };
}

async function readHeap(): Promise<number> {
  const { gc } = globalThis as { gc?: () => void };
  if (gc === undefined) throw new Error("Cannot measure: start it with --v8-flags=--expose-gc");
  // In one turn of the event loop V8 keeps what was cloned: 107 MB of 200 pods without a recorder, which waits for nothing.
  await new Promise((resolve) => setTimeout(resolve));
  gc();
  gc();
  return Deno.memoryUsage().heapUsed;
}

async function measure(hour: RecordsCost["hour"]): Promise<RecordsCost> {
  const evaluations = await recordHour(hour);
  // What is compiled on the way is not the recorder's.
  await play(evaluations, createFlightRecorder(new VirtualClock()), new VirtualClock());
  const without = await play(evaluations, null, new VirtualClock());
  const clock = new VirtualClock();
  const recorder = createFlightRecorder(clock);
  const recorded = await play(evaluations, recorder, clock);
  const text = [...recorder.get({ kind: "pod", namespace: "default", name: "web-7" }) ?? []].join("");
  const lines = text.trimEnd().split("\n").map((line) => JSON.parse(line));
  return {
    hour,
    kiB: (recorded.heapBytes - without.heapBytes) / PODS / 1024,
    evaluations: evaluations.length,
    lines: lines.length,
    minutes: ((evaluations.at(-1)?.input.now ?? 0) - lines[0].since) / 60_000,
    microseconds: (recorded.tookMs - without.tookMs) * 1000 / evaluations.length / PODS,
  };
}

console.log(JSON.stringify(await measure(Deno.args[0] === "busy" ? "busy" : "quiet")));
