// deno-lint-ignore-file no-console
/**
 * `deno task bench:scale-out [--trials 5]`: how long from a step of load to the second Ready pod, for podfit and for the real
 * HPA controller with metrics-server, on twins under the same load at the same time, on the cluster of KUBECONFIG. Exit code 1
 * when podfit was not ahead in every trial.
 */
import { parseArgs } from "node:util";
import { systemClock } from "../../../lib/runtime/clock.ts";
import { withBackend } from "../../e2e/support/backend.ts";
import { applyManifests, createNamespace, setLoad, waitFor, waitForPods } from "../../e2e/support/cluster.ts";
import { startPodfit } from "../../e2e/support/podfit.ts";
import { openRealCluster } from "../../e2e/support/real_cluster.ts";
import {
  cpuUtilization,
  hpa,
  listReady,
  readReplicas,
  REPLICAS_ON,
  scaledObject,
} from "../../e2e/support/scaled_objects.ts";
import { deployment } from "../../e2e/support/workloads.ts";
import { type Trial, writeTrials } from "./scale_out_table.ts";

const { values } = parseArgs({ args: Deno.args, options: { trials: { type: "string", default: "5" } } });
const trials = Number(values.trials);
if (!(Number.isInteger(trials) && trials > 0)) {
  throw new Error(`Cannot read --trials "${values.trials}": no whole number`);
}

/** Requests are 50m and the target is 60 %: one pod bears the first load, also that of two, and not the second. */
const [LOW, HIGH] = [4, 150];
const TARGET = 60;
const SUBJECTS = ["podfit", "hpa"] as const;
const DOWN = { scaleDown: { stabilizationWindowSeconds: 0 } };
/** The step falls anywhere within the periods of both. */
const PERIOD_MS = 15_000;
const LATE_MS = 180_000;

await using cluster = await openRealCluster();
await withBackend(cluster, async () => {
  await using namespace = await createNamespace("scale-out");
  const { name } = namespace;
  for (const subject of SUBJECTS) {
    await applyManifests(name, [
      deployment(subject, { containers: [{ cpuMillicores: LOW, requests: { cpu: "50m" } }] }),
    ]);
  }
  await applyManifests(name, [hpa("hpa", { behavior: DOWN, metrics: [cpuUtilization(TARGET)] }), podfits("podfit")]);
  for (const subject of SUBJECTS) await waitForPods(name, `app=${subject}`);
  await using podfit = await startPodfit({ namespaces: [name], env: REPLICAS_ON });
  // Both have seen usage before the first step counts.
  await systemClock.sleep(60_000);
  const measured: Trial[] = [];
  for (let index = 0; index < trials; index++) {
    const trial = await runTrial(name, index);
    console.error(`trial ${index + 1}: ${JSON.stringify(trial)}`);
    measured.push(trial);
  }
  await podfit.stop();
  const { text, isMissed } = writeTrials(measured);
  console.log(text);
  if (isMissed) Deno.exitCode = 1;
});

function podfits(name: string) {
  return scaledObject(name, {
    minReplicaCount: 1,
    maxReplicaCount: 2,
    advanced: { horizontalPodAutoscalerConfig: { behavior: DOWN } },
    triggers: [{ type: "cpu", metricType: "Utilization", metadata: { value: String(TARGET) } }],
  });
}

/** From one pod each, at rest, to two; and back. */
async function runTrial(namespace: string, index: number): Promise<Trial> {
  await systemClock.sleep(PERIOD_MS * ((index * 0.381966) % 1));
  const startedMs = systemClock.monotonic();
  await Promise.all(SUBJECTS.map((subject) => setAll(namespace, subject, HIGH)));
  const [ours, theirs] = await Promise.all(SUBJECTS.map((subject) => waitForSecond(namespace, { subject, startedMs })));
  await Promise.all(SUBJECTS.map((subject) => waitForOne(namespace, subject)));
  // Usage of before has left the windows of both.
  await systemClock.sleep(45_000);
  return { podfitMs: ours ?? null, hpaMs: theirs ?? null };
}

async function setAll(namespace: string, app: string, cpuMillicores: number): Promise<void> {
  for (const { metadata: { name } } of await listReady(namespace, app)) {
    await setLoad({ namespace, name }, { cpuMillicores });
  }
}

async function waitForSecond(
  namespace: string,
  { subject, startedMs }: { readonly subject: string; readonly startedMs: number },
): Promise<number | null> {
  const wait = waitFor(
    `the second pod of "${subject}"`,
    async () => (await listReady(namespace, subject)).length >= 2,
    {
      timeoutMs: LATE_MS,
      everyMs: 200,
    },
  );
  return await wait.then(() => Math.round(systemClock.monotonic() - startedMs), () => null);
}

async function waitForOne(namespace: string, subject: string): Promise<void> {
  await waitFor(`one pod of "${subject}"`, async () => {
    await setAll(namespace, subject, LOW);
    return await readReplicas(namespace, subject) === 1 && (await listReady(namespace, subject)).length === 1;
  }, { timeoutMs: LATE_MS, everyMs: 2_000 });
}
