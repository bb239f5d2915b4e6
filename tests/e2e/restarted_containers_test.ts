/**
 * Containers that restart on a real kubelet: for a resize, as their resizePolicy says (C43), or by themselves, up to a
 * crash-loop's back-off (C22, C46). Each story is about a pod of its own, all under one podfit.
 */
import { assertEquals } from "#assert";
import { QUICK_TIMES } from "./support/autoscalers.ts";
import { countErrors } from "./support/accounts.ts";
import { applyManifests } from "./support/cluster.ts";
import { scenario } from "./support/needs.ts";
import { waitForRun } from "./support/pods.ts";
import { playTogether, type Story } from "./support/stories.ts";
import { autoscaler, pod, type PodOptions } from "./support/workloads.ts";
import { playBeside, playCrashing, playDoomed } from "./stories/crashes.ts";
import { playRenewed, playSpared } from "./stories/renewals.ts";

const STEEP = { scaleUpThreshold: 60, scaleDownThreshold: 0, targetUtilization: 10 };
/** What looks idle for a single sample comes down at once. */
const NERVOUS = { scaleUpThreshold: 60, scaleDownThreshold: 20, targetUtilization: 50 };
const CLIMBING = { cpu: { requests: { step: "5m" } } };
const RESTARTING = { resizePolicy: [{ resourceName: "memory", restartPolicy: "RestartContainer" }] };
const FRAGILE = {
  cpuMillicores: 60,
  requests: { cpu: "10m", memory: "16Mi" },
  limits: { memory: "64Mi" },
};

const CASES = {
  renewed: {
    pod: {
      containers: [{
        memoryMiB: 100,
        requests: { memory: "64Mi" },
        fields: { ...RESTARTING, lifecycle: { preStop: { sleep: { seconds: 4 } } } },
      }],
      fields: { terminationGracePeriodSeconds: 10 },
    },
    policy: {
      memory: { requests: { scaleUpThreshold: 80, scaleDownThreshold: 0, targetUtilization: 60 } },
      consecutiveSamples: 2,
      // The second sample after a restart comes within the cooldown, and the cooldown ends within the delay.
      cooldown: "45s",
      delay: "60s",
    },
    bounds: { memory: { requests: { step: "16Mi", max: "96Mi" } } },
    play: (stage) => playRenewed(stage, { cooldownMs: 45_000, delayMs: 60_000 }),
  },
  spared: {
    pod: { containers: [{ cpuMillicores: 60, requests: { cpu: "10m", memory: "16Mi" }, fields: RESTARTING }] },
    policy: { cpu: { requests: STEEP } },
    bounds: { cpu: { requests: { max: "30m" } } },
    play: playSpared,
  },
  crashing: {
    pod: { containers: [FRAGILE] },
    policy: { cpu: { requests: NERVOUS }, after: "running", pollInterval: "2s" },
    bounds: CLIMBING,
    play: (stage) => playCrashing(stage, { container: "main", port: 8080 }),
  },
  sidecar: {
    pod: { sidecars: [{ ...FRAGILE, name: "proxy", port: 8081 }] },
    containerName: "proxy",
    policy: { cpu: { requests: NERVOUS }, after: "running", pollInterval: "2s" },
    bounds: CLIMBING,
    play: (stage) => playCrashing(stage, { container: "proxy", port: 8081 }),
  },
  doomed: {
    pod: { containers: [{ memoryMiB: 100, requests: { memory: "16Mi" }, limits: { memory: "32Mi" } }] },
    policy: { memory: { limits: STEEP } },
    play: playDoomed,
  },
  beside: {
    pod: {
      containers: [
        { cpuMillicores: 60, memoryMiB: 55, requests: { cpu: "10m", memory: "16Mi" }, limits: { memory: "64Mi" } },
        // It ends at once: this is no number of millicores.
        { name: "broken", limits: { cpu: "10m", memory: "24Mi" }, fields: { env: [{ name: "CPU", value: "none" }] } },
      ],
    },
    policy: { cpu: { requests: STEEP }, memory: { limits: { ...STEEP, targetUtilization: 30 } } },
    bounds: { cpu: { requests: { max: "30m" } }, memory: { limits: { max: "160Mi" } } },
    play: playBeside,
  },
} satisfies Readonly<Record<string, Case>>;

interface Case {
  readonly pod: PodOptions;
  readonly containerName?: string;
  readonly policy: Readonly<Record<string, unknown>>;
  readonly bounds?: Readonly<Record<string, unknown>>;
  readonly play: Story;
}

const { doomed, ...living } = CASES;

scenario("C22 C43 C46 C50 C53 a container that restarts warms up anew, and one that does not run is left alone", {
  needs: { images: "load", kubelet: "signed", pods: 5, freeMillicores: 400 },
  run: ({ namespace }) => playCases(living, { namespace }),
});

scenario("C22 L11 L13 a container that is killed before it is measured gets room, or word that there is none", {
  // Whether its limit has reached the pod is read in `status.resources`.
  needs: { images: "load", kubelet: "signed", pods: 1, sinceMinor: "1.36" },
  run: ({ namespace }) => playCases({ doomed }, { namespace }),
});

async function playCases(
  chosen: Readonly<Record<string, Case>>,
  { namespace }: { readonly namespace: string },
): Promise<void> {
  const cases = Object.entries(chosen);
  await applyManifests(namespace, cases.map(([name, one]) => pod(name, one.pod)));
  const running = cases.filter(([name]) => name !== "doomed");
  await Promise.all(running.map(([name, one]) => waitForRun({ namespace, name }, one.containerName)));
  await applyManifests(
    namespace,
    cases.map(([name, { containerName = "main", policy, bounds }]) => {
      const selector = { matchLabels: { app: name } };
      return autoscaler(name, { selector, containerName, policy: { ...QUICK_TIMES, ...policy }, bounds });
    }),
  );
  await using stack = new AsyncDisposableStack();
  const stories = Object.fromEntries(cases.map(([name, { play }]) => [name, play]));
  const podfit = await playTogether(stories, { namespace, stack });
  assertEquals(countErrors(await podfit.metrics(), namespace), {});
  await podfit.stop();
}
