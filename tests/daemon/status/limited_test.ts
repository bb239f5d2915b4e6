/** What a whole podfit says of pods that want more than they can be given (L53). */
import { assert, assertEquals, assertStringIncludes } from "#assert";
import { createCountLimited } from "../../../lib/daemon/status/facts.ts";
import {
  type AutoscalerView,
  NEW_POD_STATE,
  NO_EVIDENCE,
  NO_SHORTAGE,
  type PodState,
} from "../../../lib/model/state.ts";
import { newSampling } from "../../../lib/vertical/samples.ts";
import { autoscalerObject, podObject } from "../../support/api_objects.ts";
import { pod, policy, START } from "../../support/builders.ts";
import { Run } from "../../support/daemon_run.ts";

const AT_MAX = autoscalerObject({ bounds: { cpu: { requests: { max: "100m" } } } });

function limited(run: Run) {
  return run.status().conditions.find(({ type }: { type: string }) => type === "Limited");
}

Deno.test("Limited is True while scale-ups are held, with the number of pods and the first reason (L53)", async () => {
  const pods = ["web-1", "web-2", "web-3"].map((name) => podObject({ name }));
  await using run = new Run({ autoscalers: [AT_MAX], pods });
  run.use({ "web-1": { cpu: 60 }, "web-2": { cpu: 150 }, "web-3": { cpu: 90 } });
  await run.advance(30);
  assertEquals(run.condition("Limited"), "True AtBound");
  assertEquals(
    limited(run).message,
    '2 of 3 pods want more than can be given; the first is "web-2": AtBound',
  );
  run.use({ "web-3": { cpu: 60 } });
  await run.advance(30);
  assertStringIncludes(limited(run).message, "1 of 3 pods wants more");
});

Deno.test("Limited is True as soon with many pods as with one, although many are looked at seldom (C51, L53)", async () => {
  async function measureSeconds(count: number, settleSeconds: number): Promise<number> {
    const pods = Array.from({ length: count }, (_, index) => podObject({ name: `web-${index}` }));
    await using run = new Run({ autoscalers: [AT_MAX], pods });
    run.use(Object.fromEntries(pods.map(({ metadata: { name } }) => [name, { cpu: 60 }])));
    await run.advance(settleSeconds);
    run.use({ "web-1": { cpu: 150 } });
    for (let second = 1; second <= 100; second++) {
      await run.advance(1);
      if (run.condition("Limited") === "True AtBound") return second;
    }
    return Infinity;
  }
  // The limit begins at any time between two looks.
  for (const settleSeconds of [95, 100, 105, 110, 115, 120]) {
    const [few, many] = [await measureSeconds(2, settleSeconds), await measureSeconds(40, settleSeconds)];
    assert(many <= few + 5, `${many} s with 40 pods, ${few} s with two, after ${settleSeconds} s`);
  }
});

Deno.test("the event Limited comes on the edge, and again after it was over (L53)", async () => {
  await using run = new Run({ autoscalers: [AT_MAX] });
  run.use({ "web-1": { cpu: 90 } });
  await run.advance(300);
  assertEquals(run.events, ["Limited x1"]);
  run.use({ "web-1": { cpu: 60 } });
  await run.advance(30);
  assertEquals(run.condition("Limited"), "False NotLimited");
  run.use({ "web-1": { cpu: 90 } });
  await run.advance(600);
  assertEquals(run.events, ["Limited x2"]);
});

Deno.test("podfit_limited_pods counts pods by reason, and goes when nothing is held (L53)", async () => {
  await using run = new Run({ autoscalers: [AT_MAX], pods: [podObject(), podObject({ name: "web-2" })] });
  run.use({ "web-1": { cpu: 90 }, "web-2": { cpu: 90 } });
  await run.advance(30);
  assertEquals(await run.series("podfit_limited_pods"), [
    'podfit_limited_pods{namespace="shop",name="web",reason="AtBound"} 2',
  ]);
  run.use({ "web-1": { cpu: 60 }, "web-2": { cpu: 60 } });
  await run.advance(30);
  assertEquals(await run.series("podfit_limited_pods"), []);
});

Deno.test("the gauge counts the pods of a node where the condition knows of no limit (L53)", async () => {
  const scope = { namespaces: null, node: "node1", pod: null };
  await using run = new Run({ autoscalers: [AT_MAX], scope });
  run.use({ "web-1": { cpu: 90 } });
  await run.advance(30);
  assertEquals([run.condition("Limited"), run.events], ["Unknown NodeLocal", []]);
  assertEquals((await run.series("podfit_limited_pods")).length, 1);
});

Deno.test("createCountLimited() counts a pod once, however many of its containers are held (L53)", () => {
  const held: AutoscalerView = {
    generation: 1,
    container: "main",
    dueAt: START,
    sampling: newSampling(START),
    streaks: {},
    evidence: NO_EVIDENCE,
    wantedSince: START,
    shortage: NO_SHORTAGE,
    limited: { reason: "Quota", samples: 2 },
    vetoedSince: null,
    silentSince: null,
    notified: {},
  };
  const every = policy({ isWildcard: true, containerName: "*" });
  const views: PodState["views"] = {
    "uid-of-webs": { ...held, limited: { reason: "Invalid", samples: 9 } },
    [`${every.uid}/main`]: held,
    [`${every.uid}/side`]: { ...held, limited: { reason: "AtBound", samples: 9 } },
  };
  const state: PodState = { ...NEW_POD_STATE, views };
  const limits = createCountLimited((uid) => uid === "pod-1" ? state : null);
  assertEquals(limits(every, [pod({ uid: "unknown" }), pod()]), {
    first: { pod: "web-1", reason: "Quota" },
    reasons: new Map([["Quota", 1]]),
  });
});
