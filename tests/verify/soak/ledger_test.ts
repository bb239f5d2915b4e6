/** The ledger sees where podfit counts what was not, and misses what was. */
import { assertEquals } from "#assert";
import { createMetrics } from "../../../lib/daemon/metrics/metrics.ts";
import { type Answers, countDisagreements, noteAnswer } from "./ledger.ts";

function openBook() {
  const metrics = createMetrics({ version: "test" });
  const answers: Answers = new Map();
  const sum = (family: string, labels: readonly string[] = []) =>
    [...metrics.render()].join("").split("\n")
      .filter((line) => line.startsWith(family) && labels.every((label) => line.includes(label)))
      .reduce((total, line) => total + Number(line.split(" ").at(-1)), 0);
  const disagreements = (resizes: number) => countDisagreements({ podfit: { sum }, witness: { resizes } }, answers);
  return { metrics, answers, disagreements };
}

const ANSWER = { method: "POST", resource: "events", code: 201 };
const COUNTED = { verb: "post", resource: "events", code: 201 };

Deno.test("countDisagreements() finds nothing where both say the same", () => {
  const { metrics, answers, disagreements } = openBook();
  noteAnswer(answers, ANSWER);
  metrics.apiAnswered(COUNTED);
  metrics.eventPublished("ok");
  assertEquals(disagreements(0), []);
});

Deno.test("countDisagreements() tells an answer that podfit did not count, and an event that nobody has written", () => {
  const { metrics, answers, disagreements } = openBook();
  noteAnswer(answers, ANSWER);
  metrics.eventPublished("ok");
  metrics.eventPublished("ok");
  assertEquals(disagreements(0), [
    "POST events: 1 answers of 201, podfit counted 0",
    "1 events were written and 0 answers lost, podfit counted 2",
  ]);
});

Deno.test("countDisagreements() tells a resize that was answered and not counted", () => {
  const { metrics, answers, disagreements } = openBook();
  noteAnswer(answers, { method: "PATCH", resource: "pods/resize", code: 200 });
  metrics.apiAnswered({ verb: "patch", resource: "pods/resize", code: 200 });
  assertEquals(disagreements(1), ["1 resizes were answered with 200 and 1 applied, podfit counted 0"]);
});
