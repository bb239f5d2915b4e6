/** What explain says where no podfit runs: it looks itself at the embedded cluster, and only reads. */
import { assert, assertEquals } from "#assert";
import {
  collectRecords,
  createRecordsSource,
  hasEnoughRecords,
  UNKNOWN_WITHOUT_DAEMON,
} from "../../../lib/cli/explain/without_daemon.ts";
import type { Explanation } from "../../../lib/cli/explanation/explanation.ts";
import { explainFromSources } from "../../../lib/cli/explain/explain.ts";
import type { Subject } from "../../../lib/cli/command/parse_values.ts";
import { watchKubelets } from "../../../lib/usage/kubelet/watch.ts";
import { autoscaler, deployment, pod } from "../../e2e/support/workloads.ts";
import { ClusterRun } from "../../support/cluster_run.ts";
import { POLICY } from "../../support/explain_run.ts";
import { CPU_50, scaledObject } from "../../support/replicas_run.ts";

const { signal } = new AbortController();

/** What was explained, what was asked of the API server, and how long it took. */
async function look(run: ClusterRun, subject: Subject) {
  const { clock, cluster } = run;
  const asked: string[] = [];
  const plain = cluster.connect();
  const server = {
    ...plain,
    transport: (request: Request) => {
      asked.push(request.method);
      return plain.transport(request);
    },
  };
  const startedAt = clock.now();
  const looking = collectRecords({
    server,
    watchUsage: watchKubelets(cluster.openSource(plain), { clock, random: () => 0.5 }),
    clock,
    namespace: "default",
    isEnough: (lines) => hasEnoughRecords(lines, subject),
    onLine() {},
    subject,
    signal,
  });
  // Modules are loaded in real time, in which virtual time must not pass.
  const started = subject.kind === "pod" ? 1 : 2;
  for (let turn = 0; asked.length < started && turn < 10_000; turn++) {
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  let isOver = false;
  void looking.finally(() => isOver = true).catch(() => {});
  for (let second = 0; second < 200 && !isOver; second++) await run.advance(1);
  const lines = await looking;
  const options = { namespace: "default", signal, now: () => clock.now(), unknown: UNKNOWN_WITHOUT_DAEMON };
  const explained = (): Promise<Explanation> => explainFromSources([createRecordsSource(lines)], subject, options);
  return { explained, asked, seconds: (clock.now() - startedAt) / 1000 };
}

Deno.test("without a podfit, explain answers from two samples, reads only, and says what it cannot know", async () => {
  await using run = await ClusterRun.start();
  const containers = [{ requests: { cpu: "100m" }, limits: { cpu: "2" }, cpuMillicores: 300 }];
  await run.create(
    pod("web", { containers, fields: { nodeName: "node-1" } }),
    autoscaler("web", { selector: { matchLabels: { app: "web" } }, containerName: "main", policy: POLICY }),
  );
  await run.advance(60);
  const { explained, asked, seconds } = await look(run, { kind: "pod", name: "web" });
  const one = await explained();
  const { answer, unknown } = one;
  assertEquals(answer, "web has cpu.requests 100m. podfit wants 516m. A running podfit would resize it now.");
  assertEquals(one.origin, "It has the size of its template, or one that it was given before.");
  assertEquals(one.kind === "pod" && one.containers[0]?.next, { needs: [], earliest: one.at });
  assertEquals([unknown, new Set(asked)], [UNKNOWN_WITHOUT_DAEMON, new Set(["GET"])]);
  assert(seconds < 90, `${seconds} s`);
  const { spec } = await run.get("pods/web");
  assertEquals(spec.containers[0].resources.requests.cpu, "100m");
});

Deno.test("without a podfit, explain of a Deployment finds its ScaledObject, and writes no scale", async () => {
  await using run = await ClusterRun.start();
  await run.defineKeda();
  const containers = [{ requests: { cpu: "100m" }, limits: { cpu: "2" }, cpuMillicores: 90 }];
  await run.create(
    deployment("web", { replicas: 2, containers }),
    scaledObject("scaled", [CPU_50], { spec: { minReplicaCount: 1, maxReplicaCount: 3 } }),
  );
  await run.advance(60);
  const { explained } = await look(run, { kind: "deployment", name: "web" });
  const one = await explained();
  assertEquals([one.kind, one.name], ["scaledObject", "scaled"]);
  assertEquals(
    one.answer,
    "deployment/web has 2 replicas. podfit wants 3: the triggers ask for more (ScaledOut); the triggers ask for 4.",
  );
  assertEquals((await run.get("deployments/web")).spec.replicas, 2);
});

Deno.test("without a podfit, explain of an adopted object does not take KEDA's pause for a pause (M3)", async () => {
  await using run = await ClusterRun.start();
  await run.defineKeda();
  const annotations = { "podfit.dev/scale": "true", "autoscaling.keda.sh/paused": "true" };
  await run.create(
    deployment("web", { replicas: 2, containers: [{ requests: { cpu: "100m" }, cpuMillicores: 90 }] }),
    scaledObject("scaled", [CPU_50], { annotations, spec: { minReplicaCount: 1, maxReplicaCount: 3 } }),
  );
  await run.advance(60);
  for (const subject of [{ kind: "deployment", name: "web" }, { kind: "scaledobject", name: "scaled" }] as const) {
    const one = await (await look(run, subject)).explained();
    assertEquals(
      one.answer,
      "deployment/web has 2 replicas. podfit wants 3: the triggers ask for more (ScaledOut); the triggers ask for 4.",
    );
    assertEquals(one.kind === "scaledObject" && one.keda?.record, "not needed");
  }
});

Deno.test("without a podfit, explain gives up after 90 s on a pod that no autoscaler is about", async () => {
  await using run = await ClusterRun.start();
  await run.create(pod("web", { fields: { nodeName: "node-1" } }));
  await run.advance(10);
  const { explained, seconds } = await look(run, { kind: "pod", name: "web" });
  const said = await explained().then(() => "", ({ message }: Error) => message);
  assertEquals(
    said,
    'Cannot explain "web": no PodResourceAutoscaler or ScaledObject is about it, or no usage of it came',
  );
  assert(seconds >= 90 && seconds < 110, `${seconds} s`);
});
