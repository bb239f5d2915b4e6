/**
 * Why a pod has its size, as the commands say it of a real cluster: a pod just resized and in its cooldown, one at its bound, one that its QoS class
 * holds, a workload held at its maximum; and what was recorded of it decides the same again. One whose resize is Deferred needs a full node, which
 * stuck_test.ts has.
 */
import { assertEquals, assertMatch } from "#assert";
import { runPodfit } from "../support/podfit_process.ts";
import { waitForConditions } from "./support/autoscalers.ts";
import { applyManifests } from "./support/cluster.ts";
import { type Ask, askAbout, DEBUG, explainUntil } from "./support/explain.ts";
import { scenario } from "./support/needs.ts";
import { findPod } from "./support/pods.ts";
import { startPodfit } from "./support/podfit.ts";
import { REPLICAS_ON, scaledObject } from "./support/scaled_objects.ts";
import { autoscaler, deployment } from "./support/workloads.ts";

const RULE = { scaleUpThreshold: 80, scaleDownThreshold: 10, targetUtilization: 50 };
const POLICY = { pollInterval: "5s", consecutiveSamples: 1, delay: "0s", scaleDown: { window: "0s" } };
const SIZE = { cpu: "100m", memory: "64Mi" };
const STEP = { memory: { requests: { step: "32Mi" } } };

scenario("explain says of pods on a real cluster why they have their sizes, and a record of them replays", {
  needs: { images: "load", kubelet: "signed" },
  realOnly: "podfit's debug listener is another process's",
  async run({ namespace }) {
    await applyManifests(namespace, [
      deployment("grown", { containers: [{ memoryMiB: 100, requests: { memory: "64Mi" } }] }),
      manage("grown", { policy: { ...POLICY, cooldown: "10m", memory: { requests: RULE } }, bounds: STEP }),
      deployment("bound", { containers: [{ memoryMiB: 100, requests: { memory: "64Mi" } }] }),
      manage("bound", {
        policy: { ...POLICY, cooldown: "5s", memory: { requests: RULE } },
        bounds: { memory: { requests: { max: "96Mi" } } },
      }),
      deployment("same", { containers: [{ memoryMiB: 1, requests: SIZE, limits: SIZE }] }),
      manage("same", {
        policy: { ...POLICY, cooldown: "5s", memory: { requests: { ...RULE, scaleDownThreshold: 40 } } },
      }),
    ]);
    await applyManifests(namespace, [
      deployment("held", { containers: [{ memoryMiB: 100, requests: { memory: "64Mi" } }] }),
      scaledObject("held", {
        minReplicaCount: 1,
        maxReplicaCount: 1,
        triggers: [{ type: "memory", metricType: "AverageValue", metadata: { value: "30Mi" } }],
      }),
    ]);
    await using podfit = await startPodfit({ namespaces: [namespace], args: DEBUG, env: REPLICAS_ON });
    const ask = askAbout(namespace, podfit);
    await waitForConditions({ namespace, name: "bound" }, { Scaling: { status: "False" } });

    const nameOf = async (app: string) => (await findPod(namespace, app)).name;
    // Around midnight, moments of the other day come with their date.
    const grown = await explainUntil(ask, await nameOf("grown"), /cooldown are left/);
    assertMatch(
      grown,
      /^grown-\S+ has memory\.requests 96Mi\. podfit wants 128Mi\. Blocked until [\d: -]+Z \(in \S+\): the cooldown after the last resize is not over \(Cooldown\)\./,
    );
    assertMatch(
      grown,
      /^It has this size because podfit changed memory\.requests 64Mi -> 96Mi \S+ ago \([\d: -]+Z\): memory\.requests at 1\d\d %, capped by step\.$/m,
    );
    assertMatch(grown, /^ {4}Cooldown: memory\.requests would scale up; /m);
    assertMatch(
      grown,
      /ago \(.*\) {2}memory\.requests 64Mi -> 96Mi {2}because memory\.requests at 1\d\d %, capped by step; in force after \d/,
    );
    assertMatch(grown, /At the earliest: [\d: -]+Z, in \d+m/);
    // Within the 5 s of its cooldown, that blocks it too.
    const bound = await explainUntil(ask, await nameOf("bound"), /Blocked, with no known end: it is at its bound/);
    assertMatch(
      bound,
      /^bound-\S+ has memory\.requests 96Mi\. podfit wants \S+\. Blocked, with no known end: it is at its bound \(AtBound\)(; [^.\n]+)?\.\nIt has this size because podfit changed memory\.requests 64Mi -> 96Mi /,
    );
    const same = await explainUntil(ask, await nameOf("same"), /QoSInvariantBlocked/);
    assertMatch(
      same,
      /^same-\S+ has .*Blocked, with no known end: the pod's QoS class would change \(QoSInvariantBlocked\)\.\nIt has the size of its template: /,
    );

    const held = await explainUntil(ask, "deployment/held", /TooManyReplicas/);
    assertMatch(
      held,
      /^deployment\/held has 1 replica\. The triggers ask for \d+\. Blocked, with no known end: maxReplicaCount is reached \(TooManyReplicas\)\./,
    );
    assertMatch(held, /^ {2}memory +\S+ +30Mi per pod +\d\.\d+ +4 +1 ready$/m);

    const top = await ask("top", "--sort", "name");
    assertEquals(top.code, 0, top.complaints.join("\n"));
    assertMatch(top.stdout, /^bound-\S+ +main .* AtBound$/m);
    assertMatch(top.stdout, /^grown-\S+ +main .* 128Mi +Cooldown$/m);
    assertMatch(top.stdout, /^same-\S+ +main .* QoSInvariantBlocked$/m);
    await replay(ask, await nameOf("grown"));
    await podfit.stop();
  },
});

function manage(name: string, spec: Readonly<Record<string, unknown>>) {
  return autoscaler(name, { target: { kind: "deployment", name }, containerName: "main", ...spec });
}

async function replay(ask: Ask, name: string): Promise<void> {
  const recorded = await ask("record", name, "--past", "--for", "12s");
  assertEquals(recorded.code, 0, recorded.complaints.join("\n"));
  const replayed = await runPodfit({ args: ["replay", "-"], permissions: "lint", stdin: recorded.stdout });
  assertEquals(replayed.code, 0, `${replayed.stdout}${replayed.complaints.join("\n")}`);
  assertMatch(replayed.stdout, /^\d+ records of \d+ evaluations: all decided the same$/m);
}
