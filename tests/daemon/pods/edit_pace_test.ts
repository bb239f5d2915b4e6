/** How often pods are evaluated because their autoscalers were edited (C20). */
import { assertEquals } from "#assert";
import { EditPace } from "../../../lib/daemon/pods/poller.ts";
import { pod } from "../../support/builders.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";

function open() {
  const clock = new VirtualClock();
  const passed: string[] = [];
  const pace = new EditPace(clock, ({ uid, labels }) => passed.push(`${uid}${labels.v ?? ""}`));
  return { clock, passed, pace };
}

Deno.test("the first edit of a pod's autoscalers passes at once, whatever others edit (C20)", () => {
  const { passed, pace } = open();
  using _ = pace;
  for (let edit = 0; edit < 100; edit++) pace.put(pod({ uid: "a" }));
  pace.put(pod({ uid: "b" }));
  assertEquals(passed, ["a", "b"]);
});

Deno.test("a hundred edits a second pass at most twice in 5 s, and the latest one passes (C20)", async () => {
  const { clock, passed, pace } = open();
  using _ = pace;
  pace.put(pod({ uid: "b" }));
  for (let edit = 0; edit < 2000; edit++) {
    pace.put(pod({ uid: "a", labels: { v: String(edit) } }));
    await clock.advance(10);
  }
  await clock.advance(5_000);
  assertEquals(passed, ["b", "a0", "a500", "a1000", "a1500", "a1999"]);
});

Deno.test("an edit that comes 5 s after the last one passes at once (C20)", async () => {
  const { clock, passed, pace } = open();
  using _ = pace;
  pace.put(pod({ uid: "a" }));
  await clock.advance(5_000);
  pace.put(pod({ uid: "a" }));
  assertEquals(passed, ["a", "a"]);
});

Deno.test("a pod that is gone does not pass, and nothing is left to wait for after disposal (C20)", async () => {
  const { clock, passed, pace } = open();
  for (const uid of ["a", "b", "a", "b"]) pace.put(pod({ uid }));
  pace.remove("a");
  await clock.advance(5_000);
  assertEquals(passed, ["a", "b", "b"]);
  pace.put(pod({ uid: "b" }));
  pace[Symbol.dispose]();
  await clock.advance(5_000);
  assertEquals(passed, ["a", "b", "b"]);
});
