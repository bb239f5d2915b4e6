import { assertEquals } from "#assert";
import { toOutcomes, toVersionsPage, type Versions } from "../../tools/e2e_versions.ts";
import type { TestCase } from "../../tools/test_results.ts";

const FILE = "./tests/e2e/a_test.ts";
const RUN = { commit: "0123abcd", date: "2026-11-27" };

const CASES: readonly TestCase[] = [
  { file: FILE, name: "one", outcome: "passed" },
  { file: FILE, name: "one > step", outcome: "failed" },
  { file: FILE, name: "two [as its name says]", outcome: "error" },
  { file: FILE, name: "three [needs 2 nodes, here: 1]", outcome: "skipped" },
  { file: FILE, name: "left out by a filter", outcome: "skipped" },
  { file: "./tests/tools/b_test.ts", name: "no scenario", outcome: "passed" },
];

Deno.test("toOutcomes() has each scenario that ran, and why others did not", () => {
  assertEquals(toOutcomes(CASES, RUN), {
    one: { ended: "passed", ...RUN },
    "two [as its name says]": { ended: "failed", ...RUN },
    three: { ended: "not run: needs 2 nodes, here: 1", ...RUN },
  });
});

Deno.test("toVersionsPage() counts outcomes by version, and names what did not pass", () => {
  const versions: Versions = {
    "1.37": { kubernetes: "v1.37.2", scenarios: toOutcomes(CASES, RUN) },
    "1.37/1.35": { kubernetes: "v1.37.2", kubelet: "v1.35.4", scenarios: toOutcomes(CASES.slice(0, 1), RUN) },
    "1.36+cgroup2": { kubernetes: "v1.36.3", scenarios: toOutcomes(CASES.slice(0, 1), RUN) },
    "1.34": { kubernetes: "v1.34.4", scenarios: toOutcomes(CASES.slice(0, 1), { ...RUN, commit: "ffff0000" }) },
  };
  assertEquals(
    toVersionsPage(versions),
    `# Kubernetes versions

\`deno task e2e:versions\`: the scenarios of tests/e2e on a real cluster of each version. Last taken at commit 0123abcd, 2026-11-27.

| Kubernetes | passed | failed | not run | commit |
| --- | --- | --- | --- | --- |
| 1.34.4 | 1 | 0 | 0 | ffff0000 |
| 1.36.3, cgroup v2 | 1 | 0 | 0 | 0123abcd |
| 1.37.2 | 1 | 1 | 1 | 0123abcd |
| 1.37.2, kubelets 1.35.4 | 1 | 0 | 0 | 0123abcd |

## What failed or was not run

| Kubernetes | scenario | outcome |
| --- | --- | --- |
| 1.37.2 | two [as its name says] | failed |
| 1.37.2 | three | not run: needs 2 nodes, here: 1 |
`,
  );
});
