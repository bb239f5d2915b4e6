import { assert, assertEquals } from "#assert";
import { FailureLog } from "../../../lib/daemon/health.ts";
import { createLog } from "../../../lib/runtime/log.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";

const WHAT = "Cannot read usage";
const MINUTE = 60_000;

function newDesk() {
  const clock = new VirtualClock();
  const lines: string[] = [];
  const log = createLog({
    level: "info",
    format: "json",
    clock,
    write(line) {
      const { level, message, times, more, subjects } = JSON.parse(line);
      lines.push([level, message, ...(times === undefined ? [] : [`${times} of ${subjects}, ${more} more`])].join(" "));
    },
  });
  const troubles = new FailureLog({ log, clock });
  const fail = (subject: string, reason = "timeout") =>
    troubles.report({
      kind: "failure",
      level: "warn",
      message: `${WHAT} of ${subject}`,
      autoscaler: null,
      fields: {},
      topic: { what: WHAT, reason, subject },
    });
  const recover = (subject: string) => troubles.report({ kind: "recovered", what: WHAT, subject });
  return { clock, lines, troubles, fail, recover };
}

Deno.test("TroubleLog tells the first three subjects one by one, and counts the others and repetitions", () => {
  const { lines, fail } = newDesk();
  for (let round = 0; round < 10; round++) for (const subject of ["a", "b", "c", "d", "e"]) fail(subject);
  assertEquals(lines, ["WARN Cannot read usage of a", "WARN Cannot read usage of b", "WARN Cannot read usage of c"]);
});

Deno.test("TroubleLog sums up after a minute, five minutes and each hour, as long as there is more", async () => {
  const { clock, lines, troubles, fail } = newDesk();
  fail("a");
  lines.length = 0;
  const at: number[] = [];
  for (let minute = 1; minute <= 200; minute++) {
    await clock.advance(MINUTE);
    fail("a");
    troubles.sweep();
    if (lines.length > at.length) at.push(minute);
  }
  assertEquals(at, [1, 6, 66, 126, 186]);
  assertEquals(lines[1], "WARN Cannot read usage, still 7 of 1, 5 more");
});

Deno.test("TroubleLog says when all is well again, once, and begins anew after that", () => {
  const { lines, fail, recover, troubles } = newDesk();
  fail("a");
  fail("b");
  fail("a", "refused");
  recover("a");
  recover("unheard of");
  assertEquals(lines.slice(3), ["INFO Cannot read usage: recovered 1 of 0, undefined more"]);
  recover("b");
  assertEquals([lines.length, troubles.size], [5, 0]);
  fail("a");
  assertEquals(lines.at(-1), "WARN Cannot read usage of a");
});

Deno.test("TroubleLog logs what is said of a recovery, but for subjects that it has told nothing of", () => {
  const { lines, fail, troubles } = newDesk();
  for (const subject of ["a", "b", "c", "untold"]) fail(subject);
  const before = lines.length;
  for (const subject of ["a", "untold", "forgotten"]) {
    troubles.report({ kind: "recovered", what: WHAT, subject, message: `${subject} is read again` });
  }
  assertEquals(lines.slice(before), ["INFO a is read again", "INFO forgotten is read again"]);
});

Deno.test("TroubleLog forgets what has not failed for half an hour, and keeps no more than a number of subjects", async () => {
  const { clock, fail, troubles } = newDesk();
  for (let index = 0; index < 20_000; index++) fail(`subject ${index}`);
  await clock.advance(20 * MINUTE);
  fail("late");
  await clock.advance(15 * MINUTE);
  troubles.sweep();
  assertEquals(troubles.size, 1);
  await clock.advance(20 * MINUTE);
  troubles.sweep();
  assertEquals(troubles.size, 0);
});

Deno.test("TroubleLog logs each failure that is no case of anything", () => {
  const { lines, troubles } = newDesk();
  for (let index = 0; index < 5; index++) {
    troubles.report({ kind: "failure", level: "error", message: "odd", autoscaler: null, fields: {} });
  }
  assert(lines.length === 5 && lines.every((line) => line === "ERROR odd"));
});
