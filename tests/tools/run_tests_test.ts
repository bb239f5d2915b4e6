import { assertEquals } from "#assert";
import { describeScenarios, describeSecondRun, listStillFailing, pickSecondRuns } from "../../tools/run_tests.ts";
import type { TestCase, TestOutcome } from "../../tools/test_results.ts";

Deno.test("describeScenarios() counts what ran and names what did not, with its reason", () => {
  const file = "./tests/e2e/a_test.ts";
  const lines = describeScenarios("embedded", [
    { file, name: "one", outcome: "passed" },
    { file, name: "two", outcome: "failed" },
    { file, name: "three [real only: it asks the kernel]", outcome: "skipped" },
    { file, name: "left out by a filter", outcome: "skipped" },
  ]);
  assertEquals(lines, [
    "not run: three [real only: it asks the kernel]",
    "scenarios: 2 ran on the embedded cluster, 1 did not",
  ]);
  assertEquals(describeScenarios("real", []), []);
});

function scenario(name: string, outcome: TestOutcome): TestCase {
  return { file: "./tests/e2e/a_test.ts", name, outcome };
}

Deno.test("pickSecondRuns() takes up to three scenarios that failed, without their steps", () => {
  const failed = scenario("b", "failed");
  assertEquals(pickSecondRuns([scenario("a", "passed"), failed, scenario("b > step", "failed")]), [failed]);
  assertEquals(pickSecondRuns(["a", "b", "c", "d"].map((name) => scenario(name, "failed"))), []);
});

Deno.test("pickSecondRuns() takes nothing where anything else went wrong", () => {
  assertEquals(pickSecondRuns([scenario("a", "failed"), scenario("b", "error")]), []);
  assertEquals(
    pickSecondRuns([scenario("a", "failed"), { ...scenario("b", "failed"), file: "./tests/b_test.ts" }]),
    [],
  );
});

Deno.test("describeSecondRun() says which passed alone, and counts both runs as one", () => {
  const cases = [
    scenario("a", "passed"),
    scenario("b", "failed"),
    scenario("c", "failed"),
    scenario("b > step", "passed"),
  ];
  const failed = cases.slice(1, 3);
  assertEquals(describeSecondRun(cases, failed, [scenario("b", "passed"), scenario("c", "failed")]), [
    "failed beside others, passed alone: b",
    "failed beside others, and alone: c",
    "FAILED | 2 passed | 1 failed",
  ]);
  assertEquals(
    describeSecondRun(cases, failed, [scenario("b", "passed"), scenario("c", "passed")]).at(-1),
    "ok | 3 passed | 0 failed",
  );
});

Deno.test("listStillFailing() has what did not run again for failed", () => {
  const failed = [scenario("a", "failed"), scenario("b", "failed")];
  assertEquals(listStillFailing(failed, [scenario("b", "passed")]), [scenario("a", "failed")]);
});
