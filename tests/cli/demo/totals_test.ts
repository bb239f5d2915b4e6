/** The demo's totals beside its comparison's, and what is said of the difference. */
import { assertEquals } from "#assert";
import { newStory, NO_TALLY, type Story, type Tally } from "../../../lib/cli/demo/story.ts";
import { render } from "../../../lib/cli/demo/drawing.ts";
import { toCharacters } from "../../../lib/cli/terminal/output.ts";
import { listTotals } from "../../../lib/cli/demo/totals.ts";
import { toStory } from "../../support/demo_story.ts";

const MI = 2 ** 20;

/** Of ten seconds. */
function tally(cpu: number, memoryMi: number, lost: { seconds?: number; kills?: number } = {}): Tally {
  const { seconds = 0, kills = 0 } = lost;
  const reserved = { reservedCpu: cpu * 10_000, reservedMemory: memoryMi * MI * 10_000 };
  return { ...NO_TALLY, elapsedMs: 10_000, ...reserved, throttledNs: seconds * 1e9, kills, downMs: kills * 3000 };
}

function verdicts(podfit: Tally, comparison: Tally): readonly string[] {
  const story: Story = { ...toStory(), podfit, comparison };
  return listTotals(story).slice(1, 5).map((line) => line.at(-1)?.text.trim() ?? "");
}

Deno.test("listTotals() sets each amount beside the comparison's", () => {
  const story: Story = {
    ...toStory(),
    podfit: tally(500, 100, { seconds: 0.26 }),
    comparison: tally(1000, 400, { seconds: 12, kills: 2 }),
    resizes: { up: 3, down: 1 },
    blocked: { Quota: 1, Cooldown: 12, Rights: 0 },
  };
  assertEquals(listTotals(story).map((line) => toCharacters(render(line, false))), [
    "                                with podfit       without",
    "CPU requested, on average              500m         1000m   50 % given back",
    "memory requested, on average          100Mi         400Mi   75 % given back",
    "CPU time throttled by limits           0.3s           12s   97 % less",
    "killed for memory                         0    2, 6s down   none",
    "resizes 4 (3 up, 1 down)   blocked 13: cooldown 12, quota 1",
  ]);
});

Deno.test("listTotals() says where podfit took or lost more, and nothing where both are alike", () => {
  const more = { seconds: 3, kills: 1 };
  assertEquals(verdicts(tally(150, 110, more), tally(100, 100)), ["50 % more", "10 % more", "more", "more"]);
  assertEquals(verdicts(tally(100, 100, more), tally(100, 100, more)), ["", "", "", ""]);
  assertEquals(verdicts(NO_TALLY, NO_TALLY), ["", "", "", ""]);
  assertEquals(verdicts(tally(100, 100, { seconds: 0.1 }), tally(100, 100, { seconds: 1000 }))[2], "99 % less");
});

Deno.test("listTotals() counts pods and their changes where replicas are set, beside an HPA alone", () => {
  const story: Story = {
    ...newStory(0, 10_000, "both"),
    podfit: { ...tally(500, 100, { seconds: 1 }), mostPods: 3 },
    comparison: { ...tally(1000, 400, { seconds: 4 }), mostPods: 10 },
    resizes: { up: 3, down: 1 },
  };
  const { replicas } = story;
  const changed: Story = { ...story, replicas: { ...replicas, changes: { out: 2, in: 1 } } };
  assertEquals(listTotals(changed).map((line) => toCharacters(render(line, false))), [
    "                                with podfit     HPA alone",
    "CPU requested, on average              500m         1000m   50 % given back",
    "memory requested, on average          100Mi         400Mi   75 % given back",
    "most pods at one time                     3            10   7 fewer",
    "core-seconds unserved                  1.0s          4.0s   75 % less",
    "resizes 4 (3 up, 1 down)   replicas 3 (2 out, 1 in)   blocked 0",
  ]);
  const pods = (podfit: number, comparison: number) => {
    const counted = {
      podfit: { ...story.podfit, mostPods: podfit },
      comparison: { ...story.comparison, mostPods: comparison },
    };
    return listTotals({ ...story, ...counted })[3]?.at(-1)?.text.trim();
  };
  assertEquals([pods(2, 2), pods(5, 3)], ["", "2 more"]);
});

Deno.test("listTotals() shows each loss as one, on whichever side it is", () => {
  const story: Story = { ...toStory(), podfit: tally(1, 1, { kills: 1 }), comparison: tally(1, 1, { seconds: 2 }) };
  const [, , , throttled = [], killed = []] = listTotals(story);
  const styles = (line: typeof throttled) => line.slice(1, 3).map(({ style }) => style);
  assertEquals([styles(throttled), styles(killed)], [["plain", "lost"], ["lost", "plain"]]);
});
