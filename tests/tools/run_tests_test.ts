import { assertEquals } from "@std/assert";
import { describeScenarios } from "../../tools/run_tests.ts";

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
