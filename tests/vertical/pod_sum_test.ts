/**
 * How much a pod counts for on its node, and how much of that a container may have.
 * Clauses: L30.
 */
import { assertEquals } from "#assert";
import { computeAddedRequests, computeMaxAmount, sumPod } from "../../lib/model/pod_amounts.ts";
import type { ContainerFacts } from "../../lib/model/pod.ts";
import { container, MI, pod, resources, SIZE } from "../support/builders.ts";

function cpu(kind: ContainerFacts["kind"], name: string, millicores: number): ContainerFacts {
  return container({ name, kind, spec: resources({ "cpu.requests": millicores }) });
}

const MAIN = cpu("container", "main", 100);
const AUX = cpu("container", "aux", 50);
const PROXY = cpu("sidecar", "proxy", 30);
const SETUP = cpu("init", "setup", 500);

/** [sentence, containers, what the pod counts for, the most that "main" may have of 1000m] */
const SUMS: readonly [string, readonly ContainerFacts[], number, number][] = [
  ["adds up containers", [MAIN, AUX], 150, 950],
  ["adds sidecars to them", [MAIN, AUX, PROXY], 180, 920],
  ["counts an init container where that is more", [MAIN, AUX, SETUP], 500, 950],
  ["counts an init container beside the sidecars before it", [MAIN, PROXY, SETUP], 530, 970],
  ["counts an init container without the sidecars after it", [MAIN, SETUP, PROXY], 500, 970],
  ["counts the largest init container, not their sum", [MAIN, SETUP, cpu("init", "fetch", 400)], 500, 1000],
  ["counts a container without a request as nothing", [MAIN, container({ name: "aux", spec: resources() })], 100, 1000],
];
for (const [sentence, containers, sum, most] of SUMS) {
  Deno.test(`sumPod() ${sentence} (L30)`, () => {
    const summed = { containers, podResources: null };
    assertEquals(sumPod(summed, "cpu.requests"), sum);
    assertEquals(computeMaxAmount(summed, MAIN, { key: "cpu.requests", limit: 1000 }), most);
    // That is the most, to the millicore.
    const withMain = (millicores: number) => ({
      ...summed,
      containers: containers.map((one) => one === MAIN ? cpu("container", "main", millicores) : one),
    });
    assertEquals(sumPod(withMain(most), "cpu.requests") <= 1000, true);
    assertEquals(sumPod(withMain(most + 1), "cpu.requests") <= 1000, false);
  });
}

Deno.test("readMost() of a sidecar counts it in the init containers after it, and not in those before (L30)", () => {
  const key = "cpu.requests";
  const read = (...containers: readonly ContainerFacts[]) =>
    computeMaxAmount({ containers, podResources: null }, PROXY, { key, limit: 1000 });
  assertEquals([read(MAIN, PROXY, SETUP), read(MAIN, SETUP, PROXY)], [500, 900]);
});

Deno.test("sumPod() counts the largest of what a container asks for, was given and has (L30)", () => {
  const of = (facts: Partial<ContainerFacts>) =>
    sumPod({ containers: [container(facts)], podResources: null }, "cpu.requests");
  const spec = SIZE;
  const more = { ...SIZE, "cpu.requests": 180 };
  assertEquals(of({ spec: more, reported: SIZE, allocated: SIZE }), 180, "deferred");
  assertEquals(of({ spec, reported: SIZE, allocated: more }), 180, "admitted and not yet shrunk");
  assertEquals(of({ spec, reported: more, allocated: SIZE }), 180, "shrinking");
  assertEquals(of({ spec, reported: null, allocated: null }), 100, "not started");
  assertEquals(of({ spec: resources(), reported: more }), 0, "a request that the spec lacks is none");
});

Deno.test("sumPod() counts a pod's own resources instead of its containers', which then share them (L30)", () => {
  const summed = { containers: [MAIN, AUX], podResources: resources({ "cpu.requests": 400 }) };
  assertEquals([sumPod(summed, "cpu.requests"), sumPod(summed, "memory.requests")], [400, 0]);
  assertEquals(computeMaxAmount(summed, MAIN, { key: "cpu.requests", limit: 400 }), Infinity);
});

Deno.test("computeAddedRequests() gives what a resize takes of the node, and nothing for one that shrinks (L30)", () => {
  const facts = pod({ containers: [container(), container({ name: "aux" })] });
  const to = { ...SIZE, "cpu.requests": 180, "memory.requests": 64 * MI, "cpu.limits": 900 };
  assertEquals(computeAddedRequests(facts, "main", to), { cpuMillicores: 80, memoryBytes: 0 });
});
