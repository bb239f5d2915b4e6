/**
 * One pod of the load image on the cluster of KUBECONFIG, whose load steps up and down while somebody follows it. A step
 * is over when the kubelet reports a size that fits: at least 90 % of the demand, on the way down at most twice as much.
 */
import { parseAmount } from "../../../lib/units/quantity.ts";
import { backend } from "../../e2e/support/backend.ts";
import { applyManifests, createNamespace, type PodRef, readPod, setLoad } from "../../e2e/support/cluster.ts";
import type { PodJson, ResourceLists } from "../../e2e/support/objects.ts";
import { findPod } from "../../e2e/support/pods.ts";
import { startPodfit } from "../../e2e/support/podfit.ts";
import { autoscaler, deployment, ON_CGROUP2 } from "../../e2e/support/workloads.ts";
import type { StepResult, Subject } from "./reaction_table.ts";

const [LOW, HIGH] = [50, 600];
/** What the load image uses for itself, millicores: a system call costs more on a node that runs as one process. */
const IDLE = ON_CGROUP2 ? 35 : 0;
const FIT_UP = 0.9;
const FIT_DOWN = 2;
/** At 60 %, 50m. */
const FIRST_REQUEST = "84m";
const STEP_MS = 180_000;
/** Longer than the longest time between two looks of a kubelet, so that a second resize is seen. */
const REST_MS = 22_000;
/** From step to step, so that they fall into different phases of who measures. */
const SHIFT_MS = 3_700;

/** A pod whose load can be followed. */
export interface Stage {
  readonly namespace: string;
  readonly pod: PodRef;
  readonly nodeName: string;
}

/** Starts somebody who follows it, until it is disposed of. */
export type Follow = (stage: Stage) => Promise<AsyncDisposable>;

/** podfit with a policy written for its source. A second of the cgroups holds a step only in part, so two are asked for. */
export function followByPodfit(subject: Exclude<Subject, "VPA">): Follow {
  return async ({ namespace, nodeName }) => {
    const stack = new AsyncDisposableStack();
    const policy = {
      pollInterval: "1s",
      consecutiveSamples: subject === "cgroup" ? 2 : 1,
      cooldown: "5s",
      delay: "0s",
      cpu: { requests: { scaleUpThreshold: 90, scaleDownThreshold: 50, targetUtilization: 60 } },
    };
    const target = { kind: "deployment", name: "load" };
    await applyManifests(namespace, [autoscaler("load", { target, containerName: "main", policy })]);
    const args = subject === "kubelet" ? [] : [
      "--stats-source",
      "cgroup",
      "--node",
      nodeName,
      "--cgroup-root",
      stack.use(await backend().mountCgroups()).root,
    ];
    stack.use(await startPodfit({ namespaces: [namespace], args }));
    return stack;
  };
}

/** So many steps up, each with one down. */
export async function measureReaction(
  follow: Follow,
  { steps, say }: { readonly steps: number; readonly say: (text: string) => void },
): Promise<readonly StepResult[]> {
  await using namespace = await createNamespace("reaction");
  const container = { cpuMillicores: LOW, requests: { cpu: FIRST_REQUEST, memory: "32Mi" } };
  await applyManifests(namespace.name, [deployment("load", { containers: [container] })]);
  const pod = await findPod(namespace.name, "load");
  const { spec: { nodeName = "" } } = await readPod(pod);
  await using _follower = await follow({ namespace: namespace.name, pod, nodeName });
  await using sizes = watchSizes(pod);
  await sleep(REST_MS);
  const results: StepResult[] = [];
  for (let step = 0; step < steps; step++) {
    for (const direction of ["up", "down"] as const) {
      const result = await takeStep(pod, direction, sizes);
      say(
        `${direction}: ${
          result.fitMs === null ? "never" : `${Math.round(result.fitMs)} ms`
        }, ${result.resizes} resizes`,
      );
      results.push(result);
      await sleep(SHIFT_MS * step);
    }
  }
  return results;
}

async function takeStep(pod: PodRef, direction: "up" | "down", sizes: Sizes): Promise<StepResult> {
  const from = sizes.seen.length;
  const before = sizes.seen.at(-1)?.spec ?? null;
  const startedMs = performance.now();
  await setLoad(pod, { cpuMillicores: direction === "up" ? HIGH : LOW });
  const fits = (actual: number | null) =>
    actual !== null && (direction === "up" ? actual >= FIT_UP * HIGH : actual <= FIT_DOWN * (LOW + IDLE));
  const find = () => sizes.seen.slice(from).find(({ actual }) => fits(actual))?.atMs ?? null;
  while (find() === null && performance.now() - startedMs < STEP_MS) await sleep(200);
  await sleep(REST_MS);
  const specs = [before, ...sizes.seen.slice(from).map(({ spec }) => spec)];
  const fitAt = find();
  return {
    direction,
    fitMs: fitAt === null ? null : fitAt - startedMs,
    resizes: specs.filter((spec, index) => index > 0 && spec !== specs[index - 1]).length,
  };
}

interface Sizes extends AsyncDisposable {
  /** One for each change of the pod, by the clock of performance.now(). */
  readonly seen: readonly Size[];
}

interface Size {
  readonly atMs: number;
  /** CPU request, millicores. */
  readonly spec: number | null;
  readonly actual: number | null;
}

function watchSizes({ namespace, name }: PodRef): Sizes {
  const seen: Size[] = [];
  const query = new URLSearchParams({ watch: "1", fieldSelector: `metadata.name=${name}` });
  const watching = backend().watch(`/api/v1/namespaces/${namespace}/pods?${query}`);
  const reading = read();

  async function read(): Promise<void> {
    for await (const line of watching.lines) {
      const { spec, status } = (JSON.parse(line) as { readonly object: PodJson }).object;
      const atMs = performance.now();
      seen.push({
        atMs,
        spec: readRequest(spec.containers[0]?.resources),
        actual: readRequest(status.containerStatuses?.[0]?.resources),
      });
    }
  }

  return {
    seen,
    async [Symbol.asyncDispose]() {
      await watching[Symbol.asyncDispose]();
      await reading;
    },
  };
}

function readRequest(resources: ResourceLists | undefined): number | null {
  const parsed = parseAmount(resources?.requests?.cpu ?? "", "cpu");
  return parsed.ok ? parsed.amount : null;
}

function sleep(ms: number): Promise<void> {
  return backend().clock.sleep(ms);
}
