/**
 * Resizes that a real kubelet takes and does not enact: deferred on a full node, or failing for memory in use (C41, C45
 * to C47). Giving up a deferred one takes five minutes, in which all the others play, on one node.
 */
import { assertEquals } from "#assert";
import { QUICK_TIMES } from "./support/autoscalers.ts";
import { countErrors } from "./support/accounts.ts";
import { BACKEND } from "./support/backend.ts";
import { applyManifests } from "./support/cluster.ts";
import { DEBUG } from "./support/explain.ts";
import { scenario } from "./support/needs.ts";
import { GATE, readRun, waitForRun } from "./support/pods.ts";
import { resizeByHand, waitForResizeState } from "./support/resizes.ts";
import { findRoomyNode, waitForRoom } from "./support/room.ts";
import { playTogether, type Story } from "./support/stories.ts";
import { autoscaler, type LoadContainer, pod } from "./support/workloads.ts";
import { playEnacted, playGivenUp, playReplaced } from "./stories/deferred.ts";
import { playExplained } from "./stories/explained.ts";
import { playForeign, playInUse, playReturned } from "./stories/failing.ts";

/** The letter: memory may go down as soon as it is low. */
const TIMES = { ...QUICK_TIMES, scaleDown: { window: "0s" } };
/** Far above what any bound allows, so that the wanted size is known. */
const STEEP = { scaleUpThreshold: 60, scaleDownThreshold: 0, targetUtilization: 10 };
const BUSY = { cpuMillicores: 60, requests: { cpu: "10m" } };

/**
 * With the small blocker there is room for 60m, of which 10m go to "foreign"; without it "patient" fits, which wants
 * 100m more, and the others never do.
 */
const LEFT_MILLICORES = 60;
const BLOCKER_MILLICORES = 70;

const CASES: Readonly<Record<string, Case>> = {
  patient: {
    use: BUSY,
    policy: { cpu: { requests: STEEP } },
    bounds: { cpu: { requests: { max: "110m" } } },
    play: playEnacted,
  },
  hasty: {
    use: BUSY,
    policy: { cpu: { requests: STEEP } },
    bounds: { cpu: { requests: { max: "310m" } } },
    play: (stage) => playGivenUp(stage, { thenMs: 30_000, reason: "ResizeDeferred" }),
  },
  cooling: {
    use: BUSY,
    policy: { cpu: { requests: STEEP }, cooldown: "40s" },
    bounds: { cpu: { requests: { max: "310m" } } },
    play: (stage) => playGivenUp(stage, { thenMs: 40_000, reason: "Cooldown" }),
  },
  // The embedded podfit has no listener for those who debug.
  ...(BACKEND === "real" && {
    explained: {
      use: BUSY,
      policy: { cpu: { requests: STEEP } },
      bounds: { cpu: { requests: { max: "310m" } } },
      play: playExplained,
    },
  }),
  turning: {
    use: { cpuMillicores: 300, memoryMiB: 40, requests: { cpu: "20m", memory: "32Mi" } },
    policy: {
      cpu: { requests: { scaleUpThreshold: 60, scaleDownThreshold: 25, targetUtilization: 30 } },
      memory: { requests: { scaleUpThreshold: 80, scaleDownThreshold: 20, targetUtilization: 60 } },
    },
    bounds: { cpu: { requests: { min: "10m", max: "210m" } }, memory: { requests: { max: "64Mi" } } },
    play: playReplaced,
  },
  foreign: {
    use: { cpuMillicores: 60, memoryMiB: 100, requests: { cpu: "10m", memory: "16Mi" }, limits: { memory: "256Mi" } },
    policy: { cpu: { requests: STEEP } },
    bounds: { cpu: { requests: { max: "20m" } } },
    play: playForeign,
  },
  own: {
    use: { memoryMiB: 40, requests: { memory: "16Mi" }, limits: { memory: "256Mi" } },
    // Rarely, so that the story acts between two looks of podfit.
    policy: {
      memory: { limits: { scaleUpThreshold: 90, scaleDownThreshold: 30, targetUtilization: 80 } },
      after: "podReady",
      pollInterval: "20s",
    },
    bounds: { memory: { limits: { min: "60Mi" } } },
    fields: { readinessGates: [{ conditionType: GATE }] },
    play: playReturned,
  },
  full: {
    use: { memoryMiB: 100, requests: { memory: "16Mi" }, limits: { memory: "110Mi" } },
    policy: { memory: { limits: { scaleUpThreshold: 100, scaleDownThreshold: 99, targetUtilization: 100 } } },
    bounds: { memory: { limits: { min: "64Mi" } } },
    play: playInUse,
  },
};

interface Case {
  readonly use: LoadContainer;
  readonly policy: Readonly<Record<string, unknown>>;
  readonly bounds?: Readonly<Record<string, unknown>>;
  readonly fields?: Readonly<Record<string, unknown>>;
  readonly play: Story;
}

scenario("C41 C45 C46 C47 C50 C52 C53 a stuck resize is told, waited for, replaced or given up", {
  needs: { images: "load", node: "own", pods: 10, freeMillicores: 600 },
  async run({ namespace, nodeName: own }) {
    const cases = Object.entries(CASES);
    const nodeName = own ?? await findRoomyNode();
    const place = (name: string, use: LoadContainer, fields = {}) => {
      return pod(name, { containers: [use], fields: { ...fields, nodeName } });
    };
    await applyManifests(namespace, cases.map(([name, { use, fields }]) => place(name, use, fields)));
    await Promise.all(cases.map(([name]) => waitForRun({ namespace, name })));
    const rest = await waitForRoom(nodeName) - LEFT_MILLICORES - BLOCKER_MILLICORES;
    await applyManifests(namespace, [
      place("rest", { requests: { cpu: `${rest}m` } }),
      place("blocker", { requests: { cpu: `${BLOCKER_MILLICORES}m` } }),
    ]);
    await Promise.all(["rest", "blocker"].map((name) => waitForRun({ namespace, name })));
    const foreign = { namespace, name: "foreign" };
    await resizeByHand(foreign, { limits: { memory: "64Mi" } });
    await waitForResizeState(foreign, "Error");
    await applyManifests(
      namespace,
      cases.map(([name, { policy, bounds }]) => {
        const selector = { matchLabels: { app: name } };
        return autoscaler(name, { selector, containerName: "main", policy: { ...TIMES, ...policy }, bounds });
      }),
    );
    await using stack = new AsyncDisposableStack();
    const stories = Object.fromEntries(cases.map(([name, { play }]) => [name, play]));
    // Whose kubelet may have a certificate of its own making.
    const podfit = await playTogether(stories, { namespace, stack, args: ["--kubelet-insecure-tls", ...DEBUG] });

    // Nothing here was refused, and a return is no error either.
    assertEquals(countErrors(await podfit.metrics(), namespace), {});
    for (const [name] of cases) assertEquals((await readRun({ namespace, name })).restartCount, 0, name);
    await podfit.stop();
  },
});
