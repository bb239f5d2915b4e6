/** Very much at once: every pod wants to move at the same moment, and pods come and go by the hundred a second. */
import type { Scenario } from "../stage.ts";
import { PlainWorld } from "../plain_world.ts";
import { dispose } from "./api.ts";

/** What a write takes, as on a busy API server. */
const WRITE_MS = 20;

export const BURST: Scenario = {
  name: "burst",
  about: "every pod of a large cluster wants another size at the same moment",
  isShort: true,
  async run(stage) {
    const pods = stage.isShort ? 200 : 5000;
    let used = 60;
    await using world = await PlainWorld.open({
      stage,
      pods,
      nodes: Math.ceil(pods / 50),
      apps: Math.ceil(pods / 100),
      load: () => used,
    });
    const end = dispose(
      ["PATCH", "POST"].map((method) => world.wire.add({ method, effect: { kind: "slow", ms: WRITE_MS } })),
    );
    await world.advance(30);
    used = 150;
    const beganMs = world.clock.monotonic();
    // A budget of writes may spread them over a minute or two, and events come behind.
    const why = await world.settle(180);
    const recoveredMs = world.clock.monotonic() - beganMs;
    await world.advance(stage.isShort ? 20 : 120);
    end();
    stage.note({ name: "all at once", recoveredMs, withinMs: 180_000, why: [why, describeSilence(world)].join("") });
  },
};

/** What was lost without a word. */
function describeSilence({ podfit }: PlainWorld): string {
  const dropped = podfit.sum("podfit_events_total", ['result="dropped"']);
  const told = [...podfit.lines.keys()].some((line) => /^WARN .*event/i.test(line));
  const late = podfit.sum("kedify_agent_pra_error_total", ['reason="RetryLater"']);
  return [
    ...(dropped > 0 && !told ? [`${dropped} events were dropped without a word`] : []),
    ...(late > 0 ? [`${late} resizes were counted as RetryLater, which nobody asked for`] : []),
  ].join("; ");
}

export const CHURN: Scenario = {
  name: "churn",
  about: "500 pods a second come and go",
  isShort: true,
  async run(stage) {
    const [pods, perSecond, seconds] = stage.isShort ? [200, 50, 5] : [5000, 500, 60];
    let used = 60;
    await using world = await PlainWorld.open({
      stage,
      pods,
      nodes: Math.ceil(pods / 50),
      apps: 50,
      load: () => used,
    });
    await world.advance(30);
    for (let second = 0; second < seconds; second++) {
      world.replacePods(perSecond);
      await world.advance(1);
    }
    used = 150;
    const endedMs = world.clock.monotonic();
    const why = await world.settle(180);
    const recoveredMs = world.clock.monotonic() - endedMs;
    stage.note({ name: `${perSecond} pods a second`, recoveredMs, withinMs: 180_000, why });
  },
};
