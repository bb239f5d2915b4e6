/**
 * podfit is killed (`kill -9`) at each request of the life of one ScaledObject, and another podfit goes on.
 *
 * What a dead podfit has left behind are its requests alone. So to end it between any two requests is to end it at the
 * first of them before it arrives, or at the last one after it arrived and before its answer was seen. The life is run
 * again for each request and for both cases. A GET changes nothing, so there both cases are the same.
 * Clauses: R6, R46, R52, R53, R57, R58.
 */
import { assert, assertEquals } from "#assert";
import { WHOLE_CLUSTER } from "../../../lib/daemon/cluster/facts.ts";
import { deployment } from "../../e2e/support/workloads.ts";
import { ClusterRun, type PodfitRun } from "../../support/cluster_run.ts";
import { replicasBy, scaledObject } from "../../support/replicas_run.ts";

interface Phase {
  /** What the trigger says; `null` = the object is deleted. */
  readonly value: number | null;
  /** The replicas that the phase ends with. */
  readonly replicas: number;
}

/** From zero, out, in, to zero, from zero, and back to the replicas from before podfit. */
const LIFE: readonly Phase[] = [
  { value: 3, replicas: 3 },
  { value: 5, replicas: 5 },
  { value: 2, replicas: 2 },
  { value: 0, replicas: 0 },
  { value: 3, replicas: 3 },
  { value: null, replicas: 0 },
];

/** Each number that is written, in order. The step to 1 is KEDA's activation. */
const WRITES = [1, 3, 5, 2, 0, 1, 3, 0];

const OBJECT = scaledObject("web", [
  { type: "prometheus", metadata: { serverAddress: "http://prometheus", query: "up", threshold: "1" } },
], {
  spec: {
    minReplicaCount: 0,
    maxReplicaCount: 5,
    pollingInterval: 5,
    cooldownPeriod: 5,
    advanced: {
      restoreToOriginalReplicaCount: true,
      horizontalPodAutoscalerConfig: { behavior: { scaleDown: { stabilizationWindowSeconds: 0 } } },
    },
  },
});

/** No phase takes longer, s: three rounds of the scaling loop, and one more for the next podfit. */
const MAX_PHASE = 60;

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
}

/** Runs the life; `null` = nobody is killed. */
async function live(kill: Kill | null): Promise<Life> {
  await using cluster = await ClusterRun.start({ nodes: [] });
  await cluster.defineKeda();
  await cluster.create(deployment("web", { containers: [{ requests: { cpu: "100m" } }], replicas: 0 }), OBJECT);
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
  for (const phase of LIFE) {
    value = phase.value;
    if (value === null) await cluster.delete("scaledobjects/web");
    const isOver = async () =>
      (await cluster.get("deployments/web")).spec.replicas === phase.replicas &&
      (value !== null || await cluster.find("scaledobjects/web") === null);
    let seconds = 0;
    for (; seconds < MAX_PHASE && !await isOver(); seconds++) await step();
    assert(await isOver(), `after ${MAX_PHASE} s replicas are not ${phase.replicas} at value ${value}`);
    // What follows a write: its status and its events.
    for (let more = 0; more < 3; more++) await step();
  }
  return { requests, writes };
}

const CHANGES = /^(?:PUT|PATCH|POST|DELETE) /;

Deno.test("podfit may be killed at any request: each number is written once, none is below what is active, and the end is the same (R6, R46, R52, R53, R57, R58)", async () => {
  const whole = await live(null);
  assertEquals(whole.writes.map(([replicas]) => replicas), WRITES, "the life without a kill");
  const faults: string[] = [];
  let kills = 0;
  for (const [at, request] of whole.requests.entries()) {
    for (const when of CHANGES.test(request) ? CASES : CASES.slice(0, 1)) {
      kills++;
      const fault = await live({ at, when }).then(findFault, String);
      if (fault !== null) faults.push(`${at} ${request}, killed ${when}: ${fault}`);
    }
  }
  assert(kills > 80, `${kills} kills are not a whole life`);
  assertEquals(faults, []);
});

const CASES = ["before it arrives", "after it arrived"] as const;

/** Returns what is wrong with the life of an object whose podfit was killed; `null` = nothing. */
function findFault({ writes }: Life): string | null {
  const replicas = writes.map(([replicas]) => replicas);
  if (String(replicas) !== String(WRITES)) return `writes are ${replicas}`;
  const low = writes.find(([replicas, value]) => replicas < 1 && value !== null && value > 0);
  return low === undefined ? null : `${low[0]} replicas at value ${low[1]}`;
}

Deno.test("an object whose status cannot be written waits for it for a minute, and is then scaled all the same (R6)", async () => {
  await using cluster = await ClusterRun.start({ nodes: [] });
  await cluster.defineKeda();
  await cluster.create(deployment("web", { containers: [{ requests: { cpu: "100m" } }], replicas: 0 }), OBJECT);
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
