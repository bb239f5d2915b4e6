/**
 * Two podfits that set replicas: only the leader writes, and the next leader goes on from the status.
 * Clauses: C55.
 */
import { assert, assertEquals } from "#assert";
import { deployment } from "../../e2e/support/workloads.ts";
import type { AskTrigger } from "../../../lib/triggers/value.ts";
import type { Json } from "../../support/api_objects.ts";
import type { PodfitRun } from "../../support/cluster_run.ts";
import { replicasBy, ReplicasRun, scaledObject, workloadTrigger } from "../../support/replicas_run.ts";
import { WHOLE_CLUSTER } from "../../../lib/daemon/cluster/facts.ts";

const SIZE = { containers: [{ requests: { cpu: "100m" } }] };
const WATCHED = workloadTrigger("app=jobs");
const PROMETHEUS = {
  type: "prometheus",
  metadata: { serverAddress: "http://prometheus", query: "up", threshold: "1" },
};

/** "a" leads, "b" is the standby. Replicas follow the pods of `jobs` by default. */
class Pair implements AsyncDisposable {
  readonly run: ReplicasRun;
  readonly a: PodfitRun;
  readonly b: PodfitRun;

  private constructor(run: ReplicasRun, b: PodfitRun) {
    this.run = run;
    this.a = run.podfit;
    this.b = b;
  }

  static async open(
    { jobs, triggers = [WATCHED], spec = {}, ask }: {
      readonly jobs: number;
      readonly triggers?: readonly Json[];
      readonly spec?: Json;
      readonly ask?: AskTrigger;
    },
  ): Promise<Pair> {
    const objects = [
      deployment("web", { ...SIZE, replicas: jobs }),
      deployment("jobs", { ...SIZE, replicas: jobs }),
      scaledObject("web", triggers, { spec: { minReplicaCount: 1, ...spec } }),
    ];
    const asking = ask ?? (() => Promise.reject(new Error("asked")));
    const run = await ReplicasRun.start(objects, { identity: "a", ask: asking });
    await run.advance(3);
    const replicas = replicasBy(asking);
    return new Pair(run, run.cluster.startPodfit(WHOLE_CLUSTER, { identity: "b", replicas }));
  }

  async setJobs(replicas: number): Promise<void> {
    await this.run.cluster.patch("deployments/jobs", { spec: { replicas } });
  }

  /** Seconds until the condition holds. */
  async until(isSo: () => boolean | Promise<boolean>): Promise<number> {
    for (let second = 0; second < 600; second++) {
      if (await isSo()) return second;
      await this.run.advance(1);
    }
    throw new Error("Cannot wait longer: it does not come to pass");
  }

  /** The PUT requests of scales that each has sent. */
  get writes(): readonly [a: number, b: number] {
    return [countWrites(this.a), countWrites(this.b)];
  }

  async status(): Promise<Json> {
    return (await this.run.cluster.get("scaledobjects/web")).status ?? {};
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.b[Symbol.asyncDispose]();
    await this.run[Symbol.asyncDispose]();
  }
}

function countWrites({ requests }: PodfitRun): number {
  return requests.filter((one) => one.startsWith("PUT ") && one.includes("/scale")).length;
}

async function isLeading(podfit: PodfitRun): Promise<boolean> {
  const [line = ""] = await podfit.series("leader_election_master_status");
  return line.endsWith(" 1");
}

Deno.test("of two podfits the leader alone reads and writes scales, and asks triggers (R46, C55)", async () => {
  await using pair = await Pair.open({ jobs: 1 });
  await pair.setJobs(4);
  await pair.run.advance(60);
  assertEquals([await pair.run.replicas(), pair.writes], [4, [1, 0]]);
  assertEquals(pair.b.requests.filter((one) => one.includes("/scale") && !one.includes("scaledobjects")), []);
});

Deno.test("a leader that was stopped between reading and writing a scale writes nothing when it wakes, and the next one once (R46, C55)", async () => {
  await using pair = await Pair.open({ jobs: 1 });
  const { a, b, run } = pair;
  await run.advance(30);
  a.process.onSend = ({ method, url }) => {
    if (method === "PUT" && url.includes("/scale")) a.process.pause();
  };
  await pair.setJobs(4);
  await pair.until(() => a.process.isPaused);
  await pair.until(() => isLeading(b));
  await run.advance(40);
  assertEquals([await run.replicas(), pair.writes], [4, [0, 1]]);
  a.process.resume();
  await run.advance(60);
  assertEquals([await run.replicas(), pair.writes], [4, [0, 1]]);
  assertEquals([await isLeading(a), await isLeading(b)], [false, true]);
  const told = (await run.cluster.events("web")).filter((reason) => /FailedRescale|UpdateFailed/.test(reason));
  assertEquals(told, [], "what was not sent is no failure");
});

Deno.test("a new leader scales in one down window after it has begun, though the one before was about to (R31, C55)", async () => {
  await using pair = await Pair.open({ jobs: 5 });
  const { a, b, run } = pair;
  await run.advance(60);
  await pair.setJobs(2);
  await run.advance(280);
  assertEquals(await run.replicas(), 5);
  a.cut();
  await pair.until(() => isLeading(b));
  const waited = await pair.until(async () => await run.replicas() !== 5);
  // Its first need is 15 s old by then: its first scaling loop is that long after it has seen the object.
  assert(waited > 300 && waited <= 332, `${waited} s`);
  await run.advance(60);
  assertEquals([await run.replicas(), pair.writes], [2, [0, 1]]);
});

Deno.test("failures that have led to fallback go on from the status with a new leader (R70, R90, C55)", async () => {
  const spec = { fallback: { failureThreshold: 3, replicas: 6 }, pollingInterval: 20 };
  const ask: AskTrigger = () => Promise.resolve({ kind: "failed", message: "nobody is there", isEmpty: false });
  await using pair = await Pair.open({ jobs: 1, triggers: [PROMETHEUS], spec, ask });
  const { a, b, run } = pair;
  await run.advance(100);
  const failures = async () => (await pair.status()).health["s0-prometheus"].numberOfFailures;
  const before = await failures();
  assert(before > 4, String(before));
  a.cut();
  const seen: number[] = [before];
  await pair.until(() => isLeading(b));
  for (let second = 0; second < 60; second += 5) {
    await run.advance(5);
    seen.push(await failures());
  }
  assertEquals(seen, seen.toSorted((one, other) => one - other));
  assert((seen.at(-1) ?? 0) > before);
  assertEquals([await run.condition("web", "Fallback"), await run.replicas()], ["True FallbackExists", 6]);
});

Deno.test("the time of last activity outlives a leader: replicas go to zero once that time has cooled (R53, R90, C55)", async () => {
  let isActive = true;
  const ask: AskTrigger = () => Promise.resolve({ kind: "value", value: isActive ? 1 : 0, isEmpty: false });
  const spec = { minReplicaCount: 0, cooldownPeriod: 120, pollingInterval: 10 };
  await using pair = await Pair.open({ jobs: 1, triggers: [PROMETHEUS], spec, ask });
  const { a, b, run } = pair;
  await run.advance(45);
  isActive = false;
  await run.advance(30);
  const { lastActiveTime } = await pair.status();
  a.cut();
  await pair.until(() => isLeading(b));
  await run.advance(15);
  assertEquals((await pair.status()).lastActiveTime, lastActiveTime);
  await pair.until(async () => await run.replicas() === 0);
  const cooledMs = run.cluster.clock.now() - Date.parse(lastActiveTime);
  assert(cooledMs >= 120_000 && cooledMs < 135_000, `${cooledMs} ms`);
  assertEquals(pair.writes, [0, 1]);
});
