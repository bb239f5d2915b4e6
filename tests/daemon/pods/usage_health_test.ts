/** Of which pods usage cannot be read, beyond what whole-daemon stories show (C51). */
import { assertEquals, assertStringIncludes } from "#assert";
import { UsageHealth } from "../../../lib/daemon/pods/usage_health.ts";
import {
  type AutoscalerView,
  NEW_POD_STATE,
  NO_EVIDENCE,
  NO_SHORTAGE,
  type PodState,
} from "../../../lib/model/state.ts";
import { newSampling } from "../../../lib/vertical/samples.ts";
import { container, MINUTE, pod, policy, START } from "../../support/builders.ts";

Deno.test("UsageHealth.unread() names a tracked pod that is never evaluated, after a minute (C51)", () => {
  let now = START;
  const health = new UsageHealth({
    readStanding: () => null,
    clock: { now: () => START, steady: () => START, monotonic: () => now },
  });
  assertEquals(health.findUnread(policy(), [pod()]).count, 0);
  now += MINUTE;
  const { count, why } = health.findUnread(policy(), [pod()]);
  assertEquals(count, 1);
  assertStringIncludes(why, 'pod "web-1" is not evaluated');
  health.forgetPod("pod-1");
  assertEquals(health.findUnread(policy(), [pod()]).count, 0);
});

Deno.test("UsageHealth.unread() looks at each container that * stands for (L50)", () => {
  const every = policy({ containerName: "*", isWildcard: true, excludeContainers: ["log"] });
  const containers = ["main", "proxy", "log"].map((name) => container({ name, runningAt: START - 10 * MINUTE }));
  const newAt: Record<string, number> = { main: START, proxy: START };
  const read = (): PodState => ({
    ...NEW_POD_STATE,
    views: Object.fromEntries(
      Object.entries(newAt).map(([name, at]) => [`${every.uid}/${name}`, viewOf(name, at)]),
    ),
  });
  const health = new UsageHealth({
    readStanding: read,
    clock: { now: () => START, steady: () => START, monotonic: () => 0 },
  });
  assertEquals(health.findUnread(every, [pod({ containers })]).count, 0);
  newAt.proxy = START - 5 * MINUTE;
  const { count, why } = health.findUnread(every, [pod({ containers })]);
  assertEquals(count, 1);
  assertStringIncludes(why, "no new usage");
});

function viewOf(name: string, newAt: number): AutoscalerView {
  return {
    generation: 1,
    container: name,
    dueAt: START,
    sampling: { ...newSampling(START), newAt },
    streaks: {},
    evidence: NO_EVIDENCE,
    wantedSince: null,
    shortage: NO_SHORTAGE,
    limited: null,
    vetoedSince: null,
    silentSince: null,
    notified: {},
  };
}
