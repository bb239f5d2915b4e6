/**
 * podfit is killed (`kill -9`) at each request of the life of one ScaledObject, and another podfit goes on.
 *
 * What a dead podfit has left behind are its requests alone. So to end it between any two requests is to end it at the
 * first of them before it arrives, or at the last one after it arrived and before its answer was seen. The life is run
 * again for each request and for both cases. A GET changes nothing, so there both cases are the same.
 * Clauses: R6, R46, R52, R53, R57, R58, R76.
 */
import { assert, assertEquals } from "#assert";
import { WHOLE_CLUSTER } from "../../../lib/daemon/cluster/facts.ts";
import { deployment } from "../../e2e/support/workloads.ts";
import { ClusterRun, type PodfitRun } from "../../support/cluster_run.ts";
import type { Json } from "../../support/api_objects.ts";
import { hpa, replicasBy, scaledObject } from "../../support/replicas_run.ts";

interface Phase {
  /** What the trigger says; `null` = the object is deleted. */
  readonly value: number | null;
  /** The replicas that the phase ends with. */
  readonly replicas: number;
}

/** An object, what its trigger says over time, and what must come of it. */
interface Scene {
  readonly objects: readonly Json[];
  /** The status of the ScaledObject before podfit starts. */
  readonly status?: Json;
  readonly phases: readonly Phase[];
  /** Each number that is written, in order. */
  readonly writes: readonly number[];
  /** A life has at least so many kills. */
  readonly minKills: number;
}

const TRIGGER = { type: "prometheus", metadata: { serverAddress: "http://prometheus", query: "up", threshold: "1" } };
const WEB = { containers: [{ requests: { cpu: "100m" } }] };

/** Scales down at once, and restores. */
function toSpec(min: number, config: Json = {}): Json {
  const behavior = { scaleDown: { stabilizationWindowSeconds: 0 } };
  return {
    minReplicaCount: min,
    maxReplicaCount: 5,
    pollingInterval: 5,
    cooldownPeriod: 5,
    advanced: { restoreToOriginalReplicaCount: true, horizontalPodAutoscalerConfig: { behavior, ...config } },
  };
}

const OBJECT = scaledObject("web", [TRIGGER], { spec: toSpec(0) });

/** From zero, out, in, to zero, from zero, and back to the replicas from before podfit. The step to 1 is KEDA's. */
const PLAIN: Scene = {
  objects: [deployment("web", { ...WEB, replicas: 0 }), OBJECT],
  phases: [
    { value: 3, replicas: 3 },
    { value: 5, replicas: 5 },
    { value: 2, replicas: 2 },
    { value: 0, replicas: 0 },
    { value: 3, replicas: 3 },
    { value: null, replicas: 0 },
  ],
  writes: [1, 3, 5, 2, 0, 1, 3, 0],
  minKills: 80,
};

const HPA = "keda-hpa-web";
const STATUS_PATH = "/apis/keda.sh/v1alpha1/namespaces/default/scaledobjects/web/status";

/**
 * KEDA has scaled the workload from 1 to 2 and is gone. Its HPA and the status of its ScaledObject are still there.
 * podfit deletes the HPA, scales on, and in the end restores the replicas from before KEDA.
 */
const TAKEN_OVER: Scene = {
  objects: [
    deployment("web", { ...WEB, replicas: 2 }),
    hpa(HPA),
    scaledObject("web", [TRIGGER], {
      annotations: { "scaledobject.keda.sh/transfer-hpa-ownership": "true" },
      spec: toSpec(1, { name: HPA }),
    }),
  ],
  status: {
    originalReplicaCount: 1,
    hpaName: HPA,
    scaleTargetKind: "apps/v1.Deployment",
    externalMetricNames: ["s0-prometheus"],
  },
  phases: [{ value: 4, replicas: 4 }, { value: 2, replicas: 2 }, { value: null, replicas: 1 }],
  writes: [4, 2, 1],
  minKills: 50,
};

/** No phase takes longer, s: three rounds of the scaling loop, and one more for the next podfit. */
const MAX_PHASE = 60;

/** From the last write of a phase to the next phase, s, where nobody is killed: its status and its events come. */
const SETTLE = 3;

/** How long no podfit runs, s. */
const GAP = 2;

interface Kill {
  /** The number of the request, from 0. */
  readonly at: number;
  readonly when: "before it arrives" | "after it arrived";
}

interface Life {
  /** Of the podfit that is killed, as they were sent. */
  readonly requests: readonly string[];
  /** The replicas of each PUT that was accepted, with the value of the trigger then. */
  readonly writes: readonly (readonly [replicas: number, value: number | null])[];
  /** What the cluster has after each phase. */
  readonly ends: readonly Json[];
}

/** Runs the life; `null` = nobody is killed. A phase lasts until the cluster has what it has in the `whole` life. */
async function live({ objects, status, phases }: Scene, kill: Kill | null, whole: Life | null = null): Promise<Life> {
  await using cluster = await ClusterRun.start({ nodes: [] });
  await cluster.defineKeda();
  await cluster.create(...objects);
  if (status !== undefined) await cluster.cluster.client.patch(STATUS_PATH, "merge", { status });
  await cluster.advance(1);
  let value: number | null = null;
  const replicas = replicasBy(() => Promise.resolve({ kind: "value", value: value ?? 0, isEmpty: false }));
  const requests: string[] = [];
  const writes: (readonly [number, number | null])[] = [];
  let isDead = false;
  const end = (podfit: PodfitRun) => {
    podfit.process.pause();
    podfit.cut();
    isDead = true;
  };
  // The first podfit, which is killed.
  const first = cluster.startPodfit(WHOLE_CLUSTER, {
    replicas,
    answer: (request) => {
      recordWrite(request);
      if (kill?.when === "after it arrived" && requests.length - 1 === kill.at) end(first);
      return null;
    },
  });
  first.process.onSend = ({ method, url }) => {
    if (isDead) return;
    requests.push(`${method} ${new URL(url).pathname}`);
    if (kill?.when === "before it arrives" && requests.length - 1 === kill.at) end(first);
  };
  await using others = new AsyncDisposableStack();
  others.use(first);
  const recordWrite = (request: Request) => {
    if (request.method !== "PUT" || !request.url.includes("/scale")) return;
    void request.clone().json().then((body) => writes.push([body.spec.replicas, value]));
  };
  let hasNext = false;
  const step = async () => {
    if (isDead && !hasNext) {
      hasNext = true;
      await cluster.advance(GAP);
      others.use(cluster.startPodfit(WHOLE_CLUSTER, {
        replicas,
        answer: (request) => {
          recordWrite(request);
          return null;
        },
      }));
    }
    await cluster.advance(1);
  };
  const ends: Json[] = [];
  for (const [index, phase] of phases.entries()) {
    value = phase.value;
    if (value === null) await cluster.delete("scaledobjects/web");
    const isOver = async () =>
      (await cluster.get("deployments/web")).spec.replicas === phase.replicas &&
      (value !== null || await cluster.find("scaledobjects/web") === null);
    let seconds = 0;
    for (; seconds < MAX_PHASE && !await isOver(); seconds++) await step();
    assert(await isOver(), `after ${MAX_PHASE} s replicas are not ${phase.replicas} at value ${value}`);
    const expected = whole === null ? null : JSON.stringify(whole.ends[index]);
    for (let more = 0; more < (expected === null ? SETTLE : MAX_PHASE); more++) {
      if (expected !== null && JSON.stringify(await describeEnd(cluster)) === expected) break;
      await step();
    }
    ends.push(await describeEnd(cluster));
  }
  return { requests, writes, ends };
}

/** Conditions that say what the last scaling check did. */
const PASSING = ["AbleToScale", "HPAActive", "ScalingLimited"];

/** What podfit leaves, without times and versions. */
async function describeEnd(cluster: ClusterRun): Promise<Json> {
  const object = await cluster.find("scaledobjects/web");
  const { lastActiveTime: _, conditions = [], ...status } = object?.status ?? {};
  return {
    replicas: (await cluster.get("deployments/web")).spec.replicas,
    hpas: (await cluster.list("horizontalpodautoscalers")).map(({ metadata }) => metadata.name),
    object: object && {
      spec: object.spec,
      finalizers: object.metadata.finalizers ?? [],
      status: {
        ...status,
        conditions: conditions.filter(({ type }: Json) => !PASSING.includes(type))
          .map(({ lastTransitionTime: _, ...rest }: Json) => rest),
      },
    },
  };
}

const CHANGES = /^(?:PUT|PATCH|POST|DELETE) /;

/** Runs the life once for each kill; returns what went wrong. */
async function listFaults(scene: Scene): Promise<readonly string[]> {
  const whole = await live(scene, null);
  assertEquals(whole.writes.map(([replicas]) => replicas), scene.writes, "the life without a kill");
  const faults: string[] = [];
  let kills = 0;
  for (const [at, request] of whole.requests.entries()) {
    for (const when of CHANGES.test(request) ? CASES : CASES.slice(0, 1)) {
      kills++;
      const fault = await live(scene, { at, when }, whole).then((life) => findFault(life, whole), String);
      if (fault !== null) faults.push(`${at} ${request}, killed ${when}: ${fault}`);
    }
  }
  assert(kills > scene.minKills, `${kills} kills are not a whole life`);
  return faults;
}

const CASES = ["before it arrives", "after it arrived"] as const;

/** Returns what differs from the life in which nobody was killed; `null` = nothing. */
function findFault({ writes, ends }: Life, whole: Life): string | null {
  const [own, expected] = [writes, whole.writes].map((all) => String(all.map(([replicas]) => replicas)));
  if (own !== expected) return `writes are ${own}`;
  const low = writes.find(([replicas, value]) => replicas < 1 && value !== null && value > 0);
  if (low !== undefined) return `${low[0]} replicas at value ${low[1]}`;
  const phase = ends.findIndex((end, index) => JSON.stringify(end) !== JSON.stringify(whole.ends[index]));
  return phase < 0
    ? null
    : `after phase ${phase}: ${JSON.stringify(ends[phase])}, and not ${JSON.stringify(whole.ends[phase])}`;
}

Deno.test("podfit may be killed at any request: each number is written once, none is below what is active, and the end is the same (R6, R46, R52, R53, R57, R58)", async () => {
  assertEquals(await listFaults(PLAIN), []);
});

Deno.test("podfit may be killed at any request while it takes over an HPA that KEDA left: the HPA is deleted once, and the end is the same (R6, R57, R76)", async () => {
  const { requests, ends } = await live(TAKEN_OVER, null);
  assertEquals(ends.map(({ hpas }) => hpas), [[], [], []]);
  assertEquals(requests.filter((one) => one.startsWith("DELETE ")).length, 1);
  assertEquals(await listFaults(TAKEN_OVER), []);
});

Deno.test("an object whose status cannot be written waits for it for a minute, and is then scaled all the same (R6)", async () => {
  await using cluster = await ClusterRun.start({ nodes: [] });
  await cluster.defineKeda();
  await cluster.create(...PLAIN.objects);
  const fault = { path: /scaledobjects.*status/, effect: { kind: "refuse", code: 403, message: "no right" } } as const;
  using _refusal = cluster.cluster.api.faults.add(fault);
  const replicas = replicasBy(() => Promise.resolve({ kind: "value", value: 3, isEmpty: false }));
  await using _podfit = cluster.startPodfit(WHOLE_CLUSTER, { replicas });
  const countReplicas = async () => (await cluster.get("deployments/web")).spec.replicas;
  await cluster.advance(55);
  assertEquals(await countReplicas(), 0);
  await cluster.advance(50);
  assertEquals(await countReplicas(), 3);
});
