/** A container behind a CPU limit of which the model measures how long it waits: how often is it resized (L21)? */
import { assert } from "#assert";
import type { Json } from "../support/api_objects.ts";
import { ClusterRun } from "../support/cluster_run.ts";

/** It uses 50m, and 2000m from the third minute of its pod on. */
const POD = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: {
    name: "web",
    labels: { app: "web" },
    annotations: {
      "sim.podfit.dev/load": JSON.stringify({
        main: {
          cpuMillicores: { kind: "step", before: 50, after: 2000, atMs: 180_000, clock: "pod" },
          workingSetBytes: 64 * 2 ** 20,
          threads: 2,
        },
      }),
    },
  },
  spec: {
    containers: [{
      name: "main",
      image: "example/web:1",
      resources: { requests: { cpu: "50m", memory: "64Mi" }, limits: { cpu: "100m", memory: "128Mi" } },
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
    policy: {
      pollInterval: "5s",
      consecutiveSamples: 2,
      cooldown: "30s",
      delay: "0s",
      cpu: {
        limits: { scaleUpThreshold: 80, scaleDownThreshold: 10, targetUtilization: 55 },
        requests: { scaleUpThreshold: 95, scaleDownThreshold: 10, targetUtilization: 90 },
      },
    },
  },
};

/** The CPU limits that it was given after the step, and how long after it that was. */
async function play(
  { hasPsi }: { readonly hasPsi: boolean },
): Promise<{ readonly limits: readonly string[]; readonly seconds: number }> {
  await using run = await ClusterRun.start({ nodes: [{ cpuMillicores: 8000, hasPsi }] });
  await run.create(POD, AUTOSCALER);
  await using _podfit = run.startPodfit();
  await run.advance(170);
  const limits: string[] = [await readLimit(run)];
  let seconds = 0;
  for (let second = 10; second < 900; second += 5) {
    await run.advance(5);
    const limit = await readLimit(run);
    if (limit === limits.at(-1)) continue;
    limits.push(limit);
    seconds = second - 10;
  }
  return { limits: limits.slice(1), seconds };
}

async function readLimit(run: ClusterRun): Promise<string> {
  return (await run.get("pods/web")).spec.containers[0].resources.limits.cpu;
}

function toMillicores(quantity: string | undefined): number {
  const text = quantity ?? "0";
  return text.endsWith("m") ? Number(text.slice(0, -1)) : Number(text) * 1000;
}

Deno.test("behind a limit 50m -> 2000m takes at most three resizes where the node measures pressure (L20, L21, L22)", async () => {
  const { limits, seconds } = await play({ hasPsi: true });
  assert(limits.length >= 1 && limits.length <= 3, limits.join(", "));
  assert(toMillicores(limits.at(-1)) >= 2000 / 0.56 && toMillicores(limits.at(-1)) <= 4200, limits.join(", "));
  assert(seconds <= 120, `${seconds} s`);
});

Deno.test("without a measure the same step is climbed by the letter (L21)", async () => {
  const measured = await play({ hasPsi: true });
  const blind = await play({ hasPsi: false });
  assert(blind.limits.length >= 2 * measured.limits.length, blind.limits.join(", "));
  assert(blind.seconds > 2 * measured.seconds, `${blind.seconds} s`);
});
