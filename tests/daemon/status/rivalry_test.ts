import { assert, assertEquals } from "#assert";
import type { AutoscalerStatus } from "../../../lib/resources/pod_resource_autoscaler/status.ts";
import { isMetricsKnown, OTHER_PODFIT_ADVICE, RivalWriters } from "../../../lib/daemon/status/rivals.ts";
import type { FailureReport } from "../../../lib/daemon/health.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";

function newStatus(isKnown: boolean): AutoscalerStatus {
  const common = { reason: "", message: "", lastTransitionTime: "2026-11-20T11:00:00Z", observedGeneration: 1 };
  return { conditions: [{ ...common, type: "Metrics", status: isKnown ? "True" : "False" }] };
}

interface War {
  readonly autoscalers?: number;
  readonly weKnow?: boolean;
  readonly theyKnow?: boolean;
  /** After so many minutes nobody writes over ours any more. */
  readonly goneAfter?: number;
  readonly isExpected?: boolean;
  readonly minutes: number;
}

/** Somebody writes over each of ours within a minute; gives how often we write in each minute. */
async function fight(
  war: War,
): Promise<{ readonly writes: readonly number[]; readonly troubles: readonly FailureReport[] }> {
  const { autoscalers = 10, weKnow = true, theyKnow = true, goneAfter = Infinity, isExpected = false, minutes } = war;
  const clock = new VirtualClock();
  const troubles: FailureReport[] = [];
  const rivalry = new RivalWriters({
    kind: "PodResourceAutoscaler",
    clock,
    isExpected,
    isKnown: isMetricsKnown,
    rivals: OTHER_PODFIT_ADVICE,
    onTrouble: (trouble) => troubles.push(trouble),
  });
  const [ours, theirs] = [newStatus(weKnow), newStatus(theyKnow)];
  const writtenAtMs = Array.from({ length: autoscalers }, () => 0);
  const standing = new Set<number>();
  const writes: number[] = [];
  await clock.advance(60_000);
  for (let minute = 0; minute < minutes; minute++) {
    let count = 0;
    for (let second = 0; second < 60; second += 5) {
      await clock.advance(5_000);
      for (let index = 0; index < autoscalers; index++) {
        const atMs = writtenAtMs[index] ?? 0;
        if (standing.has(index) || clock.monotonic() - atMs < 60_000) continue;
        const object = { namespace: "shop", name: `web${index}`, uid: `uid-${index}` };
        if (!rivalry.mayWrite({ object, ours, theirs, writtenAtMs: atMs })) continue;
        writtenAtMs[index] = clock.monotonic();
        if (minute >= goneAfter) standing.add(index);
        count++;
      }
    }
    writes.push(count);
  }
  return { writes, troubles };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

Deno.test("Rivalry lets whoever put a status right once be overruled, and says nothing of it", async () => {
  const { writes, troubles } = await fight({ minutes: 5, goneAfter: 0 });
  assertEquals([writes, troubles], [[10, 0, 0, 0, 0], []]);
});

Deno.test("Rivalry writes little over one who knows as much, and says what to do once it has gone on", async () => {
  const { writes, troubles } = await fight({ minutes: 120 });
  assert(sum(writes.slice(2)) <= 120, writes.join());
  assert(writes.slice(2).every((count) => count <= 1), writes.join());
  assert(
    troubles.length > 0 &&
      troubles.every((one) => one.kind === "failure" && one.topic?.subject === "PodResourceAutoscaler"),
  );
});

Deno.test("Rivalry yields from the first time on to one who reads usage where we do not, for longer each time (C51)", async () => {
  const { writes } = await fight({ minutes: 120, autoscalers: 1, weKnow: false });
  const at = writes.flatMap((count, minute) => count > 0 ? [minute] : []);
  // 5, 10 and then 15 minutes, each after the minute in which it was written over.
  assertEquals(at, [5, 16, 32, 48, 64, 80, 96, 112]);
});

Deno.test("Rivalry never yields to one who reads no usage where we do", async () => {
  const { writes } = await fight({ minutes: 60, autoscalers: 1, theyKnow: false });
  assert(sum(writes) >= 20, writes.join());
});

Deno.test("Rivalry takes all back soon once nobody answers", async () => {
  const { writes, troubles } = await fight({ minutes: 90, weKnow: false, goneAfter: 60 });
  assertEquals(sum(writes.slice(60, 80)), 10, writes.join());
  assertEquals(troubles.at(-1)?.kind, "recovered");
});

Deno.test("Rivalry says nothing where several podfits each look after a part of the pods", async () => {
  const { troubles } = await fight({ minutes: 30, isExpected: true });
  assertEquals(troubles.filter(({ kind }) => kind === "failure"), []);
});
