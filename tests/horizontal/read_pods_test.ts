/** The target's pods as a trigger sees them: which triggers are coupled, and what usage is held against (R80, R82, R84, R85, E15, E16). */
import { assertEquals, assertMatch } from "#assert";
import { computePodReadings, listHeldFields, type WorkloadPod } from "../../lib/horizontal/joint/pod_readings.ts";
import type { PodReading } from "../../lib/model/replicas_decision.ts";
import { proposeByPods } from "../../lib/horizontal/joint/proposal.ts";
import { toTolerance } from "../../lib/horizontal/replica_calculator.ts";
import { NEW_POD_STATE } from "../../lib/model/state.ts";
import type { ResourceTrigger } from "../../lib/model/scaled_object.ts";
import type { Autoscaler } from "../../lib/model/autoscaler.ts";
import {
  container,
  deepFreeze,
  MI,
  pod,
  policy,
  resizeEntry,
  resources,
  side,
  SIZE,
  START,
} from "../support/builders.ts";
import { cpuTrigger, NO_BIRTHS, ratesOf, workloadPod, type WorkloadPodOptions } from "../support/workload_pods.ts";

/** Resizes the request of "main" up to so much. */
function resizer(max: number | null, overrides: Partial<Autoscaler> = {}): Autoscaler {
  return policy({ sides: [side("cpu.requests", { bounds: { max } })], ...overrides });
}

function read(of: readonly WorkloadPod[], trigger: Partial<ResourceTrigger> = {}): readonly PodReading[] {
  return computePodReadings(cpuTrigger(trigger), of, START).pods;
}

/** [born, full] of one pod, or its problem. */
function sticks(
  options: WorkloadPodOptions,
  trigger: Partial<ResourceTrigger> = {},
): readonly [number, number] | string {
  const [one] = read([workloadPod(options)], trigger);
  if (one === undefined) throw new Error("Cannot read the pod");
  return "problem" in one.requests
    ? one.requests.problem.reason
    : [Number(one.requests.born), Number(one.requests.full)];
}

function isClipped(options: WorkloadPodOptions, trigger: Partial<ResourceTrigger> = {}): boolean {
  return read([workloadPod(options)], trigger)[0]?.isClipped === true;
}

function isCoupled(of: readonly WorkloadPod[], trigger: Partial<ResourceTrigger> = {}): boolean {
  return computePodReadings(cpuTrigger(trigger), of, START).isCoupled;
}

Deno.test("computePodReadings() gives each pod as it stands, with its usage and its request in thousandths (R21, R25, R82)", () => {
  const [one] = read([workloadPod({ cpu: 250, facts: { deleting: true, phase: "Failed" } })]);
  const { metric, requests, ...facts } = one ?? { metric: null, requests: null };
  assertEquals(metric, { milli: 250n, at: START, windowMs: 15_000 });
  assertEquals(requests, { born: 500n, full: 500n });
  const { startAt, ready } = pod();
  assertEquals(facts, { name: "web-1", phase: "Failed", isDeleting: true, startAt, ready, isClipped: false });
  const [memory] = read([workloadPod({ cpu: 250 })], { type: "memory" });
  assertEquals([memory?.metric?.milli, memory?.requests], [
    BigInt(64 * MI) * 1000n,
    { born: BigInt(128 * MI) * 1000n, full: BigInt(128 * MI) * 1000n },
  ]);
  assertEquals(read([workloadPod({ cpu: null })])[0]?.metric, null);
});

Deno.test("a trigger is coupled where an autoscaler that applies resizes the request that its utilization is of (R80)", () => {
  const owned = workloadPod({ matching: [resizer(2000)] });
  assertEquals(isCoupled([owned]), true);
  assertEquals(isCoupled([workloadPod(), owned]), true, "on at least one pod");
  assertEquals(isCoupled([owned], { container: "main" }), true);
  assertEquals(isCoupled([owned], { container: "other" }), false);
  assertEquals(isCoupled([owned], { type: "memory" }), false);
  assertEquals(isCoupled([owned], { target: { kind: "AverageValue", milli: 100n } }), false);
  assertEquals(isCoupled([workloadPod({ matching: [resizer(2000, { mode: "recommend" })] })]), false);
  assertEquals(isCoupled([workloadPod({ matching: [policy({ sides: [side("cpu.limits")] })] })]), false);
  assertEquals(isCoupled([workloadPod({ matching: [resizer(2000, { containerName: "other" })] })]), false);
  assertEquals(isCoupled([workloadPod()]), false);
});

Deno.test("a trigger is coupled by the autoscaler that owns the container, not by one that goes after it (R80)", () => {
  const limits = policy({ name: "limits", priority: 1, sides: [side("cpu.limits")] });
  const [first, last] = [resizer(2000, { priority: 2 }), resizer(2000)];
  assertEquals(isCoupled([workloadPod({ matching: [last, limits] })]), false);
  assertEquals(isCoupled([workloadPod({ matching: [limits, first] })]), true);
  const recommending = { ...first, mode: "recommend" } as const;
  assertEquals(isCoupled([workloadPod({ matching: [limits, recommending, last] })]), false);
});

Deno.test("full is the bound of the request or what the limit can be, whichever is less; born where neither is there (R82)", () => {
  const both = (request: number | null, limit: number | null) =>
    policy({
      sides: [side("cpu.requests", { bounds: { max: request } }), side("cpu.limits", { bounds: { max: limit } })],
    });
  assertEquals(sticks({ matching: [resizer(2000)] }), [500, 2000]);
  assertEquals(sticks({ matching: [resizer(2000)], limit: 1500 }), [500, 1500], "a limit that nobody moves");
  assertEquals(sticks({ matching: [resizer(null)], limit: 1500 }), [500, 1500]);
  assertEquals(sticks({ matching: [both(2000, 1200)], limit: 600 }), [500, 1200]);
  assertEquals(sticks({ matching: [both(2000, null)], limit: 600 }), [500, 2000]);
  assertEquals(sticks({ matching: [both(2000, 1200)] }), [500, 2000], "the container has no limit");
  assertEquals(sticks({ matching: [both(null, null)], limit: 600 }), [500, 500]);
  assertEquals(sticks({ matching: [resizer(null)] }), [500, 500]);
  assertEquals(sticks({ matching: [resizer(400)] }), [400, 400], "full < born: born = full");
});

Deno.test("neither born nor full moves when the pod is resized, up or down (R82)", () => {
  for (const request of [100, 500, 900, 2000]) {
    assertEquals(sticks({ matching: [resizer(2000)], request, born: 500 }), [500, 2000]);
  }
});

Deno.test("uncoupled pods are held against what they were born with alone (R80, R82)", () => {
  assertEquals(sticks({ request: 900, born: 500, limit: 2000 }), [500, 500]);
  const [owned, alone] = [workloadPod({ matching: [resizer(2000)] }), workloadPod({ name: "web-2", limit: 900 })];
  assertEquals(read([owned, alone]).map(({ requests }) => requests), [
    { born: 500n, full: 2000n },
    { born: 500n, full: 500n },
  ]);
});

Deno.test("metadata.baseline overrides both baselines: an amount, initial or live (R82)", () => {
  const options = { matching: [resizer(2000)], request: 900, born: 500 };
  assertEquals(sticks(options, { baseline: { kind: "amount", milli: 700n } }), [700, 700]);
  assertEquals(sticks({ request: null }, { baseline: { kind: "amount", milli: 700n } }), [700, 700]);
  assertEquals(sticks(options, { baseline: { kind: "initial" } }), [500, 500]);
  assertEquals(sticks(options, { baseline: { kind: "live" } }), [900, 900]);
  assertEquals(sticks({ request: 900, born: 500 }, { baseline: { kind: "live" } }), [900, 900]);
  assertEquals(sticks(options, { target: { kind: "AverageValue", milli: 1n } }), [0, 0]);
});

Deno.test("a request that nobody knows any more, and one that never was, make the metric an error (R25, R82)", () => {
  const forgotten = { request: 900, born: 500, births: { recorded: null } };
  assertEquals(sticks(forgotten), "BaselineUnavailable");
  assertEquals(sticks({ ...forgotten, matching: [resizer(2000)] }), "BaselineUnavailable");
  assertEquals(sticks(forgotten, { baseline: { kind: "live" } }), [900, 900]);
  const [one] = read([workloadPod(forgotten), workloadPod({ name: "web-2", request: 400 })]);
  assertEquals(one?.requests, { born: 400n, full: 400n }, "its sibling's");
  assertEquals(sticks({ request: null }), "NoRequest");
  assertEquals(sticks({}, { container: "other" }), "NoContainer");
  const [broken] = read([workloadPod(forgotten)]);
  assertMatch(
    JSON.stringify(broken?.requests),
    /unknown initial request for cpu of container main of Pod web-1: .* metadata\.baseline/,
  );
});

Deno.test("a saturated pod's full is the larger of born and its request in force (R82, R84)", () => {
  const stuck = { matching: [resizer(2000)], wantsUp: ["cpu"], born: 500 } as const;
  const held = { held: { "cpu.requests": 2 } };
  assertEquals(sticks({ ...stuck, request: 800, shortage: held }), [500, 800]);
  assertEquals(sticks({ ...stuck, request: 300, shortage: held }), [500, 500]);
  assertEquals(sticks({ ...stuck, request: 800, shortage: { held: { "cpu.requests": 1 } } }), [500, 2000], "once");
  assertEquals(sticks({ ...stuck, request: 800, shortage: { held: { "memory.requests": 9 } } }), [500, 2000], "memory");
  assertEquals(sticks({ ...stuck, request: 800, shortage: held, wantsUp: [] }), [500, 2000], "it wants nothing");
  const slow = policy({ sides: [side("cpu.requests", { bounds: { max: 2000 }, consecutiveSamples: 4 })] });
  const samples = (count: number) => ({
    ...stuck,
    matching: [slow],
    request: 800,
    shortage: { held: { "cpu.requests": count } },
  });
  assertEquals([sticks(samples(3)), sticks(samples(4))], [[500, 2000], [500, 800]], "as many as its streak");
  const unseen = {
    ...workloadPod({ ...stuck, request: 800 }),
    vertical: { state: NEW_POD_STATE, matching: [resizer(2000)] },
  };
  assertEquals(read([unseen])[0]?.requests, { born: 500n, full: 2000n }, "podfit has just begun");
});

Deno.test("a coupled pod at its CPU limit whose request can still grow is clipped, unless it is saturated (R85)", () => {
  const full = { matching: [resizer(2000)], request: 300, born: 500, limit: 2500, shortage: { clipped: 2 } };
  assertEquals(isClipped(full), true);
  assertEquals(isClipped({ ...full, shortage: { clipped: 1 } }), false);
  assertEquals(isClipped({ ...full, request: 2000 }), false, "as large as it gets");
  assertEquals(isClipped({ ...full, wantsUp: ["cpu"], shortage: { clipped: 2, held: { "cpu.requests": 2 } } }), false);
  assertEquals(isClipped({ ...full, matching: [] }), false, "not coupled");
  assertEquals(isClipped(full, { baseline: { kind: "initial" } }), false, "as KEDA alone would have it");
  const memory = policy({ sides: [side("memory.requests", { bounds: { max: 999 * MI } })] });
  assertEquals(isClipped({ ...full, matching: [memory] }, { type: "memory" }), false, "memory cannot be understated");
  const slow = policy({ sides: [side("cpu.requests", { bounds: { max: 2000 }, consecutiveSamples: 3 })] });
  assertEquals([2, 3].map((clipped) => isClipped({ ...full, matching: [slow], shortage: { clipped } })), [
    false,
    true,
  ]);
});

Deno.test("a pod is born, full and clipped by its containers, each with its own owner (R80, R82, R85)", () => {
  const spec = resources({ "cpu.requests": 200, "cpu.limits": 300, "memory.requests": MI });
  const containers = [
    container({ spec: { ...SIZE, "cpu.limits": null } }),
    container({ name: "side", kind: "sidecar", spec }),
  ];
  const rates = { containers: { ...ratesOf(50).containers, side: { ...ratesOf(70).containers["main"] } } };
  const autoscaler = resizer(250, { containerName: "side" });
  const base = workloadPod({ matching: [autoscaler], shortage: { clipped: 2 }, facts: { containers } });
  const of = { ...base, rates: rates as WorkloadPod["rates"] };
  const [whole, main, beside] = [null, "main", "side"].map((container) => read([of], { container })[0]);
  assertEquals([whole?.requests, whole?.isClipped, whole?.metric?.milli], [{ born: 300n, full: 350n }, true, 120n]);
  assertEquals([main?.requests, main?.isClipped, main?.metric?.milli], [{ born: 100n, full: 100n }, false, 50n]);
  assertEquals([beside?.requests, beside?.isClipped, beside?.metric?.milli], [{ born: 200n, full: 250n }, true, 70n]);
});

Deno.test("listHeldFields() gives requests and limits of what a coupled trigger looks at, by container (R86, R88)", () => {
  const both = policy({ sides: [side("cpu.requests"), side("cpu.limits"), side("memory.requests")] });
  const of = workloadPod({ matching: [both] });
  const list = (...triggers: Partial<ResourceTrigger>[]) => listHeldFields(triggers.map(cpuTrigger), of, START);
  assertEquals(list({}), { main: ["cpu.requests", "cpu.limits"] });
  assertEquals(list({}, { container: "main" }, { type: "memory" }), {
    main: ["cpu.requests", "cpu.limits", "memory.requests"],
  });
  assertEquals(list({ container: "other" }), {});
  assertEquals(list({ target: { kind: "AverageValue", milli: 1n } }), {});
  assertEquals(listHeldFields([cpuTrigger()], workloadPod(), START), {});
  const limits = policy({ sides: [side("cpu.limits")] });
  assertEquals(listHeldFields([cpuTrigger()], workloadPod({ matching: [limits] }), START), {});
});

/** What is proposed for so many pods at 70 %, between 500m at birth and 2000m. */
function propose(usages: readonly number[], of: (cpu: number, index: number) => WorkloadPodOptions = () => ({})) {
  const matching = [resizer(2000)];
  const all = usages.map((cpu, index) => workloadPod({ name: `web-${index}`, cpu, matching, ...of(cpu, index) }));
  const trigger = cpuTrigger({ target: { kind: "Utilization", percent: 70 } });
  const { pods } = computePodReadings(trigger, all, START);
  const tolerance = toTolerance(null);
  const proposal = proposeByPods(trigger, { pods, replicas: usages.length, now: START, tolerance });
  return proposal.kind === "proposal" ? [proposal.lo, proposal.hi, proposal.replicas] : [proposal.message];
}

Deno.test("4 pods of 500m that can grow to 2000m stay 4 at 900m, become 5 at 1700m, and 6 become 4 at 200m (R80, R82, R89, E15)", () => {
  assertEquals(propose([900, 900, 900, 900]), [3, 11, 4]);
  assertEquals(propose([1700, 1700, 1700, 1700]), [5, 20, 5]);
  assertEquals(propose([200, 200, 200, 200, 200, 200]), [1, 4, 4]);
  // What they have been resized to since is nothing to it.
  assertEquals(propose([900, 900, 900, 900], () => ({ request: 1300, born: 500 })), [3, 11, 4]);
});

Deno.test("two of 4 pods that are stuck at 800m count with what they have: 6 replicas, not 4 (R82, R84, E16)", () => {
  const stuck = (isHeld: boolean) => (cpu: number) =>
    cpu === 800
      ? { request: 800, born: 500, wantsUp: ["cpu"] as const, shortage: { held: { "cpu.requests": isHeld ? 2 : 0 } } }
      : { request: 2000, born: 500 };
  assertEquals(propose([1700, 1700, 800, 800], stuck(true)).at(-1), 6);
  assertEquals(propose([1700, 1700, 800, 800], stuck(false)).at(-1), 4);
});

Deno.test("a pod that is tracked by nobody, or was never evaluated, is read all the same (R80)", () => {
  const never = { ...workloadPod(), births: NO_BIRTHS, vertical: { state: NEW_POD_STATE, matching: [] } };
  assertEquals(read([never])[0]?.requests, { born: 500n, full: 500n });
  const two = [resizer(900), resizer(1200, { name: "later", uid: "uid-of-later", key: "uid-of-later" })];
  const unseen = { ...workloadPod(), vertical: { state: NEW_POD_STATE, matching: two } };
  assertEquals(read([unseen])[0]?.requests, { born: 500n, full: 1200n }, "the smaller name goes first");
  const resizes = [resizeEntry("kubectl", START, { main: ["cpu.requests"] })];
  assertEquals(sticks({ facts: { resizes } }), "BaselineUnavailable");
});

Deno.test("computePodReadings() reads what the vertical half came to last, and asks for and changes nothing (R88)", () => {
  const options = { matching: [resizer(2000)], request: 800, born: 500, limit: 2000, wantsUp: ["cpu"] } as const;
  const all = deepFreeze([0, 1, 2].map((clipped) => workloadPod({ ...options, shortage: { clipped, held: {} } })));
  const triggers = deepFreeze([cpuTrigger(), cpuTrigger({ type: "memory" }), cpuTrigger({ container: "main" })]);
  const first = triggers.map((trigger) => computePodReadings(trigger, all, START));
  assertEquals(triggers.map((trigger) => computePodReadings(trigger, all, START)), first);
  assertEquals(first[0]?.pods.map(({ isClipped }) => isClipped), [false, false, true]);
});
