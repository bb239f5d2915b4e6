/** Does a start wait for what heals by itself, and neither for what does not nor for longer than it is wanted? */
import { assertEquals, assertRejects } from "#assert";
import { type ClusterNotReady, waitForCluster } from "../../../lib/cli/run/run.ts";
import { StartError } from "../../../lib/cli/command/process.ts";
import { settleEventLoop, VirtualClock } from "../../support/virtual_clock.ts";

const DOWN: ClusterNotReady = { reason: "down", retryAfterMs: null };

Deno.test("waitForCluster() asks again with growing waits, up to 30 s, and says each failure once", async () => {
  const { ended, failures, clock } = wait([...Array(7).fill(DOWN), null]);
  await clock.advance(92_999);
  assertEquals(failures.length, 7);
  await clock.advance(1);
  await ended;
  const waits = [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000];
  assertEquals(failures, waits.map((ms) => `down: ${ms}`));
});

Deno.test("waitForCluster() comes no sooner than the server asks for, and not sooner than it would by itself", async () => {
  const { ended, failures, clock } = wait([
    { reason: "busy", retryAfterMs: 60_000 },
    { reason: "busy", retryAfterMs: 0 },
    null,
  ]);
  await clock.advance(62_000);
  await ended;
  assertEquals(failures, ["busy: 60000", "busy: 2000"]);
});

Deno.test("waitForCluster() ends with what does not heal", async () => {
  const { ended, failures, clock } = wait([DOWN, new StartError("no such resource")]);
  const refused = assertRejects(() => ended, StartError, "no such resource");
  await clock.advance(1_000);
  await refused;
  assertEquals(failures.length, 1);
});

Deno.test("waitForCluster() ends with its signal, and leaves no timer behind", async () => {
  const { ended, ending, clock } = wait([DOWN, DOWN]);
  await settleEventLoop();
  assertEquals(clock.pending, 1);
  ending.abort();
  await assertRejects(() => ended, DOMException, "aborted");
  assertEquals(clock.pending, 0);
});

/** Checks that find one thing after the other. */
function wait(found: readonly (ClusterNotReady | StartError | null)[]) {
  const clock = new VirtualClock();
  const ending = new AbortController();
  const failures: string[] = [];
  const rest = [...found];
  const check = () => {
    const next = rest.shift() ?? null;
    return next instanceof StartError ? Promise.reject(next) : Promise.resolve(next);
  };
  const ended = waitForCluster(check, {
    clock,
    random: () => 1,
    signal: ending.signal,
    onFailure: (reason, waitMs) => failures.push(`${reason}: ${waitMs}`),
  });
  return { ended, ending, failures, clock };
}
