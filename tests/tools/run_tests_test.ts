import { assertEquals, assertRejects } from "#assert";
import {
  describeScenarios,
  describeSecondRun,
  listStillFailing,
  pickSecondRuns,
  waitForImages,
} from "../../tools/run_tests.ts";
import { isOwnCluster, readPath } from "../e2e/support/kubectl.ts";
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

/** What a node tells of its images, one answer after the other. */
function tell(...answers: readonly string[]) {
  const rest = [...answers];
  const slept: number[] = [];
  const clock = {
    monotonic: () => slept.reduce((sum, ms) => sum + ms, 0),
    sleep: (ms: number) => Promise.resolve(void slept.push(ms)),
  };
  const fetch = () => {
    const told = rest.length > 1 ? rest.shift() : rest[0];
    return Promise.resolve({
      hasLoadImage: told?.includes("load") ?? false,
      hasPodfitImage: told?.includes("podfit") ?? false,
    });
  };
  return { fetch, clock, slept };
}

Deno.test("waitForImages() waits until the nodes tell of both images, and fails where they never do", async () => {
  const late = tell("", "load", "load podfit");
  await waitForImages(late.fetch, late.clock);
  assertEquals(late.slept, [1_000, 1_000]);
  for (const never of ["", "load", "podfit"]) {
    const { fetch, clock } = tell(never);
    await assertRejects(() => waitForImages(fetch, clock), Error, "the nodes to tell of the images");
  }
});

Deno.test("isOwnCluster() knows the cluster of tests/cluster/up from one of kind, wherever programs live", () => {
  const isOwn = (variables: Readonly<Record<string, string>>) => isOwnCluster((name) => variables[name]);
  const home = "/home/me/.cache/podfit-cluster";
  assertEquals(isOwn({ HOME: "/home/me", KUBECONFIG: `${home}/run/admin.kubeconfig` }), true);
  assertEquals(isOwn({ HOME: "/home/me", KUBECONFIG: `${home}/kind.kubeconfig` }), false);
  assertEquals(isOwn({ HOME: "/home/me" }), false);
  assertEquals(isOwn({ CLUSTER_HOME: "/other", KUBECONFIG: `${home}/run/admin.kubeconfig` }), false);
  assertEquals(isOwn({ CLUSTER_HOME: "/other", KUBECONFIG: "/other/run/admin.kubeconfig" }), true);
});

Deno.test("readPath() takes the programs of tests/cluster/build before others, and keeps the order of a PATH with them", () => {
  const read = (PATH: string) => readPath((name) => ({ PATH, CLUSTER_HOME: "/cluster" })[name]);
  assertEquals(read("/usr/bin:/bin"), "/cluster/bin:/usr/bin:/bin");
  assertEquals(read("/cluster/bin/1.34:/cluster/bin:/usr/bin"), "/cluster/bin/1.34:/cluster/bin:/usr/bin");
});
