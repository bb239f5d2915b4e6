/** The short form of `deno task fuzz`: 2,000 cases under one seed, and that a failure is found and made small. */
import { assert, assertEquals } from "#assert";
import * as fc from "fast-check";
import { projectObject } from "../../../lib/kube/list.ts";
import { edited } from "./hostile.ts";
import { lives, playLife } from "./targets/fold.ts";
import { planBatches, runBatch, TARGETS } from "./run.ts";

const SEED = 20261122;

for (const batch of planBatches({ cases: 2000, seed: SEED })) {
  Deno.test(`hostile input keeps to what is promised: ${batch.target}`, async () => {
    assertEquals((await runBatch(batch)).failure, null);
  });
}

Deno.test("the lives that the fold is fuzzed with are honest enough to be resized in", () => {
  const requests = fc.sample(lives, { seed: SEED, numRuns: 300 }).map(playLife);
  assert(requests.filter((count) => count > 0).length > 30, requests.join());
});

Deno.test("planBatches() gives all cases, to each target its share, and to each batch a seed of its own", () => {
  const batches = planBatches({ cases: 100_000, seed: 7, size: 1000 });
  assertEquals(batches.reduce((sum, { cases }) => sum + cases, 0), 100_000);
  assertEquals(new Set(batches.map(({ target }) => target)).size, TARGETS.length);
  assert(batches.every(({ cases }) => cases > 0 && cases <= 1000));
  assertEquals(new Set(batches.map(({ target, seed }) => `${target} ${seed}`)).size, batches.length);
  assertEquals(planBatches({ cases: 10, seed: 7, only: ["psi"] }), [{ target: "psi", seed: 7, cases: 10 }]);
});

Deno.test("projectObject() leaves out what it cannot read, also where its namespace is no text", () => {
  const reported: string[] = [];
  const project = () => {
    throw new TypeError("no list");
  };
  const metadata = { name: "web-1", uid: "uid-1", namespace: { toString: 1 } };
  const onError = ({ message }: Error) => reported.push(message);
  assertEquals(projectObject({ metadata }, { project, onError }), null);
  assertEquals(reported, ['Cannot read object "web-1": no list']);
});

Deno.test("edited() leaves its bases as they are, and finds what a reader of one shape stumbles over", () => {
  const base = { spec: { containers: [{ name: "main" }] } };
  const before = structuredClone(base);
  // deno-lint-ignore no-explicit-any
  const property = fc.property(edited([base]), (value: any) => value.spec.containers[0].name.length >= 0);
  const { failed } = fc.check(property, { seed: SEED, numRuns: 100 });
  assertEquals([failed, base], [true, before]);
});
