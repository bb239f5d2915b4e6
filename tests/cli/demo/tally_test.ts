/** What a cluster reserved and lost, added up over looks at it. */
import { assertEquals } from "#assert";
import { nextTally, NO_TALLY } from "../../../lib/cli/demo/story.ts";
import { use } from "../../support/demo_story.ts";

const SECOND = 1_000_000_000;

Deno.test("nextTally() counts from the first look on, and reserves what is in force between two", () => {
  const sized = use({ requests: [200, 100] });
  const first = nextTally(NO_TALLY, [sized, use({ container: "worker", requests: [300, 50] })], 5000);
  assertEquals([first.elapsedMs, first.reservedCpu, first.reservedMemory], [0, 0, 0]);
  const second = nextTally(first, [sized, use({ container: "worker", requests: [100, 50] })], 7000);
  assertEquals([second.elapsedMs, second.reservedCpu, second.reservedMemory], [2000, 600_000, 300_000]);
});

Deno.test("nextTally() goes on counting what was held back when an instance follows another", () => {
  let tally = NO_TALLY;
  const looks = [[1, 2], [1, 3], [1, 3], [2, 1], [2, 4]] as const;
  for (const [index, [instance, seconds]] of looks.entries()) {
    tally = nextTally(tally, [use({ throttled: { instance, ns: seconds * SECOND } })], index * 1000);
  }
  assertEquals(tally.throttledNs, 7 * SECOND);
});

Deno.test("nextTally() counts each kill once, and the time until the container runs again", () => {
  const looks = [
    use({}),
    use({ isDown: true, killedAt: 900 }),
    use({ isDown: true, killedAt: 900 }),
    use({ killedAt: 900, throttled: { instance: 2, ns: 0 } }),
    use({ killedAt: 4000, throttled: { instance: 3, ns: 0 } }),
  ];
  const tally = looks.reduce((so, one, index) => nextTally(so, [one], index * 1000), NO_TALLY);
  assertEquals([tally.kills, tally.downMs], [2, 2000]);
});

Deno.test("nextTally() takes what is down for another reason for no loss", () => {
  const tally = [use({}), use({ isDown: true })].reduce((so, one, index) => nextTally(so, [one], index), NO_TALLY);
  assertEquals([tally.kills, tally.downMs, tally.throttledNs], [0, 0, 0]);
});

Deno.test("nextTally() tells pods of one workload apart, and counts the most at one time", () => {
  const pod = (name: string, seconds: number) => use({ pod: name, throttled: { instance: 1, ns: seconds * SECOND } });
  const looks = [[pod("a", 1)], [pod("a", 2), pod("b", 5)], [pod("a", 2), pod("b", 6)], [pod("b", 6)]];
  const tally = looks.reduce((so, uses, index) => nextTally(so, uses, index * 1000), NO_TALLY);
  assertEquals([tally.throttledNs, tally.mostPods], [8 * SECOND, 2]);
});
