/** Records of a whole podfit on the embedded cluster are read over HTTP. The same decisions follow from them again. */
import { assert, assertEquals } from "#assert";
import { checkLine, createOtherPolicy } from "../../lib/cli/replay/replay.ts";
import { createHandler, debugRoutes } from "../../lib/daemon/server/routes.ts";
import { serve } from "../../lib/daemon/server/serve.ts";
import { createFlightRecorder, type FlightRecorder } from "../../lib/daemon/recorder.ts";
import type { PodLine, RecordLine } from "../../lib/record/record.ts";
import { parseLine } from "../../lib/record/parse.ts";
import { settleEventLoop } from "../support/virtual_clock.ts";
import type { Json } from "../support/api_objects.ts";
import { ClusterRun } from "../support/cluster_run.ts";
import { ReplicasRun, scaledObject, workloadTrigger } from "../support/replicas_run.ts";
import { WHOLE_CLUSTER } from "../../lib/daemon/cluster/facts.ts";

const MI = 2 ** 20;

/** Its CPU use rises after 3 minutes. After 10 minutes its memory exceeds the limit: it is killed and starts again. */
const POD: Json = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: {
    name: "web",
    labels: { app: "web" },
    annotations: {
      "sim.podfit.dev/load": JSON.stringify({
        main: {
          cpuMillicores: { kind: "step", before: 50, after: 400, atMs: 180_000, clock: "pod" },
          workingSetBytes: { kind: "step", before: 64 * MI, after: 160 * MI, atMs: 600_000, clock: "pod" },
        },
      }),
    },
  },
  spec: {
    containers: [{
      name: "main",
      image: "example/web:1",
      resources: { requests: { cpu: "50m", memory: "96Mi" }, limits: { cpu: "500m", memory: "128Mi" } },
    }],
  },
};

const AUTOSCALER: Json = {
  apiVersion: "keda.kedify.io/v1alpha1",
  kind: "PodResourceAutoscaler",
  metadata: { name: "web" },
  spec: {
    selector: { matchLabels: { app: "web" } },
    containerName: "main",
    profile: "balanced",
    bounds: { cpu: { requests: { min: "10m", max: "2" } }, memory: { limits: { min: "64Mi", max: "1Gi" } } },
  },
};

/** Over a real connection. */
async function fetchLines(records: FlightRecorder, query: string): Promise<readonly RecordLine[]> {
  await using http = serve(createHandler([debugRoutes(records, null)]), { hostname: "127.0.0.1", port: 0 });
  const response = await fetch(`http://127.0.0.1:${http.port}/debug/records${query}`);
  assertEquals(response.status, 200);
  return (await response.text()).trimEnd().split("\n").map(toLine);
}

function toLine(text: string): RecordLine {
  const parsed = parseLine(text);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.value;
}

function listKinds(lines: readonly RecordLine[]): ReadonlySet<string> {
  return new Set(lines.flatMap((line) => {
    if (line.kind !== "pod") return [`observed ${line.record.input.observation.kind}`];
    const { input, outcome } = line.record;
    const restarts = input.pod.containers.some(({ terminations }) => terminations.length > 0) ? ["restarted"] : [];
    const enacted = outcome.enacted === null ? [] : ["enacted"];
    return [
      `observed ${input.observation.kind}`,
      ...outcome.decisions.map(({ decision }) => decision.kind),
      ...restarts,
      ...enacted,
    ];
  }));
}

Deno.test("records read over HTTP replay to the same decisions, also after a resize, its answer and a restart", async () => {
  await using run = await ClusterRun.start();
  const flightRecorder = createFlightRecorder(run.clock);
  await run.create(POD, AUTOSCALER);
  await using _podfit = run.startPodfit(WHOLE_CLUSTER, { flightRecorder });
  await run.advance(1_200);
  const lines = await fetchLines(flightRecorder, "?namespace=default&pod=web");
  assertEquals(lines.flatMap(checkLine), []);
  const kinds = listKinds(lines);
  const expected = ["observed usage", "observed answered", "hold", "resize", "enacted", "restarted"];
  assertEquals(expected.filter((kind) => !kinds.has(kind)), [], [...kinds].join());
  const evaluations = lines.reduce((sum, { count }) => sum + count, 0);
  assert(evaluations > 2 * lines.length, `${evaluations} evaluations in ${lines.length} lines`);
  const times = lines.map(({ record }) => record.input.now);
  assertEquals(times, times.toSorted((a, b) => a - b));
  const latest = await fetchLines(flightRecorder, "?latest=true");
  assertEquals(latest, lines.slice(-1));
});

Deno.test("createDaemon() goes on when the flight recorder fails, and logs it once", async () => {
  await using run = await ClusterRun.start();
  await run.create(POD, AUTOSCALER);
  let starts = 0;
  const flightRecorder: FlightRecorder = {
    ...createFlightRecorder(run.clock),
    run() {
      starts++;
      return Promise.reject(new RangeError("Array buffer allocation failed"));
    },
  };
  await using podfit = run.startPodfit(WHOLE_CLUSTER, { flightRecorder });
  await run.advance(300);
  assert(podfit.isReady().ok && starts > 3, `${starts} starts`);
  const resizes = podfit.requests.filter((request) => request.startsWith("PATCH") && request.includes("/resize"));
  assert(resizes.length > 0, "pods are resized");
  const warnings = podfit.log.filter(({ level, message }) =>
    level === "WARN" && message.startsWith("Flight recorder failed, starting it again")
  );
  assertEquals(warnings.map(({ error }) => error.message), ["Array buffer allocation failed"]);
});

Deno.test("a trace that was followed has every evaluation, one after the other, and another policy goes along with it", async () => {
  await using run = await ClusterRun.start();
  const flightRecorder = createFlightRecorder(run.clock);
  await run.create(POD, AUTOSCALER);
  await using _podfit = run.startPodfit(WHOLE_CLUSTER, { flightRecorder });
  await run.advance(20);
  const handler = createHandler([debugRoutes(flightRecorder, null)]);
  const response = await handler(new Request("http://x/debug/records?namespace=default&pod=web&watch=true&past=false"));
  const text = response.text();
  await run.advance(700);
  await run.delete("pods/web");
  await run.advance(60);
  const lines = (await text).trimEnd().split("\n").map(toLine).filter((line): line is PodLine => line.kind === "pod");
  assertEquals([lines.flatMap(checkLine), lines.every(({ count }) => count === 1)], [[], true]);
  assertEquals(lines.slice(1).filter(({ record }, at) => record.before.at !== lines[at]?.record.outcome.state.at), []);
  const [contender] = lines[0]?.record.input.contenders ?? [];
  assert(contender !== undefined);
  // The same policy asks for the same sizes. Only the delays of the cluster are shorter.
  const other = createOtherPolicy(contender);
  const would = lines.flatMap((line) => other(line)?.decisions ?? []).filter(({ decision }) =>
    decision.kind === "blocked" && decision.reason === "DryRun"
  );
  assert(would.length > 0 && lines.some(({ record }) => record.outcome.scaled !== null));
  await settleEventLoop();
});

Deno.test("records of a ScaledObject read over HTTP replay to the same decisions", async () => {
  const web = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web" },
    spec: {
      replicas: 1,
      selector: { matchLabels: { app: "web" } },
      template: {
        metadata: { labels: { app: "web" } },
        spec: { containers: [{ name: "main", image: "example/web:1", resources: { requests: { cpu: "100m" } } }] },
      },
    },
  };
  const object = scaledObject("web", [workloadTrigger("app=web", "1")], {
    spec: { minReplicaCount: 1, maxReplicaCount: 4 },
  });
  await using run = await ReplicasRun.start([web, object], { isRecorded: true });
  await run.advance(300);
  const { flightRecorder } = run;
  assert(flightRecorder !== null);
  const lines = await fetchLines(flightRecorder, "?namespace=default&scaledObject=web");
  assertEquals(lines.flatMap(checkLine), []);
  const kinds = listKinds(lines);
  assert(kinds.isSupersetOf(new Set(["observed poll", "observed tick"])), [...kinds].join());
  assert(lines.reduce((sum, { count }) => sum + count, 0) > lines.length);
});
