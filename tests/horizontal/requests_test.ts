/** What a pod asks for, as the HPA controller adds it up (R25). */
import { assertEquals } from "#assert";
import type { PodFacts } from "../../lib/model/pod.ts";
import type { RequestProblem } from "../../lib/model/replicas_decision.ts";
import type { ResourceTrigger } from "../../lib/model/scaled_object.ts";
import { computePodRequest, findLack, toMilliAmount } from "../../lib/horizontal/replica_calculator.ts";
import type { Resource } from "../../lib/units/resources.ts";
import { container, MI, pod, resources } from "../support/builders.ts";
import { cpuTrigger } from "../support/workload_pods.ts";

const app = container({ name: "app", spec: resources({ "cpu.requests": 500, "memory.requests": 64 * MI }) });
const proxy = container({ name: "proxy", kind: "sidecar", spec: resources({ "cpu.requests": 20 }) });
const setup = container({ name: "setup", kind: "init", spec: resources({ "cpu.requests": 900 }) });
const bare = container({ name: "bare", spec: resources() });

function read(facts: PodFacts, resource: Resource = "cpu", name: string | null = null): number | RequestProblem {
  const requestOf = (one: string) =>
    facts.containers.find((each) => each.name === one)?.spec[`${resource}.requests`] ?? null;
  return computePodRequest(facts, { resource, container: name, requestOf });
}

Deno.test("computePodRequest() is the sum over containers and native sidecars, without init containers that end (R25)", () => {
  assertEquals(read(pod({ containers: [app, setup, proxy] })), 520);
});

Deno.test("toMilliAmount() is in thousandths of a core, and of a byte for memory (R21, R25)", () => {
  assertEquals(toMilliAmount(520, "cpu"), 520n);
  assertEquals(toMilliAmount(64 * MI, "memory"), 64n * 1024n * 1024n * 1000n);
});

Deno.test("computePodRequest() takes one container's or native sidecar's where the trigger names it (R25)", () => {
  const facts = pod({ containers: [app, proxy, setup] });
  assertEquals([read(facts, "cpu", "app"), read(facts, "cpu", "proxy")], [500, 20]);
});

Deno.test("computePodRequest() finds no container that a pod has not, nor one that ends before the others start (R25)", () => {
  const facts = pod({ name: "web-1", containers: [app, setup] });
  for (const name of ["other", "setup"]) {
    const message = `container ${name} not found in Pod web-1`;
    assertEquals(read(facts, "cpu", name), { reason: "NoContainer", message });
  }
});

Deno.test("computePodRequest() names the first container without a request, in the sum and alone (R25)", () => {
  const facts = pod({ name: "web-1", containers: [app, bare] });
  const message = "missing request for cpu in container bare of Pod web-1";
  assertEquals(read(facts), { reason: "NoRequest", message });
  assertEquals(read(facts, "cpu", "bare"), { reason: "NoRequest", message });
});

Deno.test("computePodRequest() asks for the container's request in the way that its caller has it (R25, R82)", () => {
  const facts = pod({ containers: [app, proxy] });
  assertEquals(computePodRequest(facts, { resource: "cpu", container: null, requestOf: () => 7 }), 14);
  assertEquals(computePodRequest(facts, { resource: "cpu", container: "app", requestOf: () => 7 }), 7);
});

Deno.test("computePodRequest() takes the pod's own request, with its overhead, but not where a container is named (R25)", () => {
  const podResources = resources({ "cpu.requests": 300 });
  const overhead = { cpuMillicores: 30, memoryBytes: 10 };
  const facts = pod({ containers: [app, bare], podResources, overhead });
  assertEquals(read(facts), 330);
  assertEquals(read(facts, "cpu", "app"), 500);
});

Deno.test("computePodRequest() adds no overhead to the sum of the containers (R25)", () => {
  assertEquals(read(pod({ containers: [app], overhead: { cpuMillicores: 30, memoryBytes: 10 } })), 500);
});

Deno.test("computePodRequest() takes what the containers need together where the pod itself asks for the other resource (R25)", () => {
  const podResources = resources({ "memory.requests": MI });
  assertEquals(read(pod({ containers: [app, bare], podResources })), 500);
  // The sidecar runs beside the init container after it.
  assertEquals(read(pod({ containers: [app, proxy, setup], podResources })), 920);
  assertEquals(read(pod({ containers: [app, setup, proxy], podResources })), 900);
  assertEquals(read(pod({ containers: [app], podResources, overhead: { cpuMillicores: 30, memoryBytes: 10 } })), 530);
});

Deno.test("computePodRequest() misses a request that neither the pod nor any container has (R25)", () => {
  const facts = pod({ name: "web-1", containers: [bare], podResources: resources({ "memory.requests": MI }) });
  const message = "missing pod-level request for cpu in Pod web-1";
  assertEquals(read(facts), { reason: "NoRequest", message });
});

Deno.test("computePodRequest() looks at the containers where the pod has limits of its own but no requests (R25)", () => {
  const podResources = resources({ "cpu.limits": 2000 });
  assertEquals(read(pod({ containers: [app], podResources, overhead: { cpuMillicores: 30, memoryBytes: 0 } })), 500);
});

Deno.test("computePodRequest() takes what the RuntimeClass adds for a request, where neither the pod nor a container has one (R25)", () => {
  const podResources = resources({ "memory.requests": MI });
  const facts = (cpuMillicores: number) =>
    pod({ name: "web-1", containers: [bare], podResources, overhead: { cpuMillicores, memoryBytes: 10 } });
  assertEquals(read(facts(30)), 30);
  assertEquals(read(facts(0)), { reason: "NoRequest", message: "missing pod-level request for cpu in Pod web-1" });
});

function lackOf(triggers: readonly Partial<ResourceTrigger>[], ...all: readonly PodFacts[]): string | null {
  return findLack(triggers.map((own) => cpuTrigger({ target: { kind: "Utilization", percent: 50 }, ...own })), all);
}

Deno.test("findLack() names the container without the request of a trigger, in the words of KEDA's webhook (R25)", () => {
  const whole = pod({ containers: [app, proxy] });
  assertEquals(lackOf([{}], whole), null);
  const message = "the scaledobject has a cpu trigger but the container bare doesn't have the cpu request defined";
  assertEquals(lackOf([{}], whole, pod({ containers: [app, bare] })), message);
  assertEquals(
    lackOf([{ type: "memory" }], whole),
    "the scaledobject has a memory trigger but the container proxy doesn't have the memory request defined",
  );
  assertEquals(lackOf([{ container: "bare" }], pod({ containers: [app, bare] })), message);
  assertEquals(lackOf([{ container: "app" }], pod({ containers: [app, bare] })), null);
  assertEquals(
    lackOf([{ container: "other" }], whole),
    "the scaledobject has a cpu trigger but the pods have no container other",
  );
});

Deno.test("findLack() takes the pod's own request, unless a container is named (R25)", () => {
  const own = pod({ containers: [bare], podResources: resources({ "cpu.requests": 300 }) });
  assertEquals(lackOf([{}], own), null);
  assertEquals(
    lackOf([{ container: "bare" }], own),
    "the scaledobject has a cpu trigger but the container bare doesn't have the cpu request defined",
  );
  const other = pod({ containers: [], podResources: resources({ "memory.requests": MI }) });
  assertEquals(
    lackOf([{}], other),
    "the scaledobject has a cpu trigger but the pod doesn't have the cpu request defined",
  );
});

Deno.test("findLack() finds none where usage is compared with no request of the pod (R25, R82)", () => {
  const facts = pod({ containers: [bare] });
  assertEquals(lackOf([{ target: { kind: "AverageValue", milli: 5n } }], facts), null);
  assertEquals(lackOf([{ baseline: { kind: "amount", milli: 500n } }], facts), null);
  assertEquals(lackOf([], facts), null);
  assertEquals(typeof lackOf([{ baseline: { kind: "live" } }], facts), "string");
});
