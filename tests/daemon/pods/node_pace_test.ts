/** How often nodes are read, and which readings pods are evaluated with (C20, R20). */
import { assertEquals } from "#assert";
import type { TrackedPod } from "../../../lib/daemon/cluster/facts.ts";
import { PollSchedule } from "../../../lib/daemon/pods/poller.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";
import { pod, policy } from "../../support/builders.ts";

function open({ minPollIntervalMs = null }: { readonly minPollIntervalMs?: number | null } = {}) {
  const clock = new VirtualClock();
  const [tracked, metered] = [new Map<string, TrackedPod>(), new Map<string, { readonly isUrgent: boolean }>()];
  const pace = new PollSchedule({ clock, tracked, metered, minPollIntervalMs });
  const track = (uid: string, pollIntervalMs: number) => {
    tracked.set(uid, { pod: pod({ uid }), autoscalers: [{ ...policy(), pollIntervalMs }] });
    pace.onTrackedChanged();
  };
  /** Seconds at which a round begins, of readings at the pace. */
  const rounds = async (seconds: number) => {
    const begun: number[] = [];
    const startMs = clock.monotonic();
    while (clock.monotonic() - startMs < seconds * 1000) {
      if (pace.beginRound()) begun.push((clock.monotonic() - startMs) / 1000);
      await clock.advance(pace.intervalMs);
    }
    return begun;
  };
  const meter = (uid: string, isUrgent: boolean) => {
    metered.set(uid, { isUrgent });
    pace.onMeteredChanged();
  };
  return { pace, tracked, metered, track, meter, rounds };
}

Deno.test("a node is read as often as the most impatient of its tracked pods asks for, each 15 s for metered ones, and each 5 s for urgent ones (C20, R20)", () => {
  const { pace, metered, track, meter } = open();
  assertEquals(pace.intervalMs, Infinity);
  track("a", 60_000);
  track("b", 30_000);
  assertEquals(pace.intervalMs, 30_000);
  meter("c", false);
  assertEquals(pace.intervalMs, 15_000);
  meter("d", true);
  assertEquals(pace.intervalMs, 5_000);
  meter("d", false);
  assertEquals(pace.intervalMs, 15_000);
  metered.clear();
  pace.onMeteredChanged();
  assertEquals(pace.intervalMs, 30_000);
  meter("d", true);
  track("e", 2_000);
  assertEquals(pace.intervalMs, 2_000);
});

Deno.test("for metered pods a node is not read more often than the operator lets autoscalers ask for (R20)", () => {
  const { pace, meter } = open({ minPollIntervalMs: 20_000 });
  for (const isUrgent of [false, true]) {
    meter("a", isUrgent);
    assertEquals(pace.intervalMs, 20_000);
  }
});

Deno.test("pods are evaluated as often as they ask for, whatever their node is read for (C20, R20)", async () => {
  const { track, meter, rounds } = open();
  track("a", 15_000);
  assertEquals(await rounds(60), [0, 15, 30, 45]);
  meter("b", true);
  assertEquals(await rounds(60), [0, 15, 30, 45]);
  track("c", 7_000);
  assertEquals(await rounds(20), [0, 5, 10, 15]);
  track("d", 1_000);
  assertEquals(await rounds(3), [0, 1, 2]);
});
