/**
 * The exact messages of what stops a resize: each gate, and each cap that leaves a field unchanged.
 * Clauses: C32 to C36, C44, C46.
 */
import { assertEquals } from "#assert";
import { newSampling } from "../../lib/vertical/samples.ts";
import { type FitContext, fitSizes } from "../../lib/vertical/sizing/candidate.ts";
import type { ResourceField, Resources } from "../../lib/units/resources.ts";
import { MI, MINUTE, resources, SECOND, side, SIZE, START } from "../support/builders.ts";
import { candidate, type Differs, findFirstObjection, SAMPLE, VIEW } from "./candidates.ts";

const condition = (reason: string, message = "no room") => ({ reason, message, since: START });
const EQUAL = { ...SIZE, "cpu.requests": 200, "memory.requests": 256 * MI };
const sampled = (sample: typeof SAMPLE | null) => ({ view: { ...VIEW, sampling: { ...newSampling(START), sample } } });
const QUOTA = {
  kind: "size",
  reason: "Quota",
  message: "exceeded quota: small",
  until: START + SECOND,
  waitMs: 30 * SECOND,
  action: "scaleUp",
  podGeneration: 1,
  autoscaler: "uid-of-web",
  autoscalerGeneration: 1,
  to: 150,
} as const;

const GATES: readonly [string, Differs, string][] = [
  ["that there is no usage", { candidate: sampled(null) }, "the newest usage was first seen never"],
  [
    "that usage is old",
    { candidate: sampled({ ...SAMPLE, seenAt: START - MINUTE }) },
    "the newest usage was first seen over 60s ago",
  ],
  [
    "which side is cooling, and how long (C36)",
    { containerState: { resizedAt: START - 75_500 } },
    "cpu.requests would scale up; 45s of the cooldown are left",
  ],
  ["each side that is held, and why (C32)", {
    candidate: {
      sized: [
        { kind: "holds", key: "cpu.requests", reason: "AtBound", message: "one is at its bound" },
        { kind: "holds", key: "cpu.limits", reason: "AtTarget", message: "another at its target" },
      ],
    },
  }, "one is at its bound; another at its target"],
  [
    "what memory is in use (C46)",
    { candidate: { sized: [{ kind: "holds", key: "memory.limits", reason: "MemoryInUse", message: "it is in use" }] } },
    "it is in use",
  ],
  ["what the server said (C44)", {
    containerState: { refusals: { "cpu.requests": { size: QUOTA } } },
  }, "exceeded quota: small"],
  [
    "what is commanded already",
    { candidate: { changes: [] } },
    "cpu.requests 100m -> 150m is commanded already",
  ],
  ["which container does not run", { container: { runningAt: null } }, 'container "main" is not running'],
  ["which container is not ready", {
    policy: { after: "containerReady" },
    containerState: { readySince: null },
  }, 'container "main" is not ready (after: containerReady)'],
  [
    "that the pod is not ready",
    { policy: { after: "podReady" }, pod: { readyAt: null } },
    "the pod is not ready (after: podReady)",
  ],
  ["how long a delay lasts, in whole seconds", {
    policy: { delayMs: 15 * SECOND },
    container: { runningAt: START - 4500 },
  }, "11s of the delay are left"],
  [
    "what the kubelet says of a resize in progress",
    { pod: { inProgress: condition("") } },
    "a resize of the pod is in progress: no room",
  ],
  [
    "that the kubelet says nothing of it",
    { pod: { inProgress: condition("", "") } },
    "a resize of the pod is in progress: the kubelet is applying it",
  ],
  [
    "which generation the kubelet has seen",
    { pod: { generation: 2 } },
    "a resize of the pod is in progress: the kubelet has seen generation 1 of 2",
  ],
  [
    "which generation has not arrived",
    { pod: { observedGeneration: null }, state: { generation: 2 } },
    "a resize of the pod is in progress: generation 2 of the pod has not arrived yet",
  ],
  ["that allocation differs", {
    pod: { observedGeneration: null },
    container: { allocated: resources({ "cpu.requests": 90, "memory.requests": 128 * MI }) },
  }, "a resize of the pod is in progress: allocated requests differ from the spec's"],
  ["how long sizes have differed", {
    container: { spec: { ...SIZE, "cpu.requests": 180 }, reported: SIZE },
    state: { differingSince: START - 20 * SECOND },
  }, "a resize of the pod is in progress: reported and specified sizes differ since 20s"],
  [
    "why a resize fails",
    { pod: { inProgress: condition("Error") } },
    "the kubelet cannot apply the pod's resize: no room",
  ],
  [
    "why a resize is deferred",
    { pod: { pending: condition("Deferred") } },
    "a resize of the pod is deferred: no room",
  ],
  [
    "why a resize is infeasible",
    { pod: { pending: condition("Infeasible") } },
    "a resize of the pod is infeasible: no room",
  ],
  [
    "that it waits for a newer pod",
    { state: { conflict: { resourceVersion: "100", at: START } } },
    "the pod has changed since; waiting for the newer one to arrive",
  ],
  [
    "which class a pod would lose, and what helps (C35)",
    { candidate: { to: EQUAL } },
    "the pod would turn from Burstable into Guaranteed, which a resize may not do; keep cpu.requests below the limit by bounds",
  ],
  [
    "which class a Guaranteed pod would get, and what helps (C35)",
    { container: { spec: EQUAL }, pod: { qosClass: "Guaranteed" } },
    "the pod would turn from Guaranteed into Burstable, which a resize may not do; cpu.requests would part from " +
    "cpu.limits: manage cpu.limits too, so that they move together, or give the pod a request below its limit",
  ],
  ["in a dry run what it would do", { dryRun: true }, "would resize: cpu.requests 100m -> 150m"],
  [
    "which container goes first",
    { candidate: { ahead: "proxy" } },
    'container "proxy" of the same pod is resized first',
  ],
];
for (const [sentence, differs, message] of GATES) {
  Deno.test(`GATES say ${sentence}`, () => {
    assertEquals(findFirstObjection(candidate(differs))?.message, message);
  });
}

interface Held {
  readonly base: Partial<Resources>;
  readonly key: ResourceField;
  /** The recommendation. */
  readonly amount: number;
  readonly max?: number;
  readonly min?: number;
  readonly makesGuaranteed?: boolean;
}

function holdOne({ base, key, amount, max = Infinity, min = 0, makesGuaranteed = false }: Held): string {
  const rule = side(key, { bounds: { max, min } });
  const actual = base[key] ?? 0;
  const context: FitContext = {
    direction: amount < actual ? "down" : "up",
    base: resources(base),
    memoryFloor: { kind: "unknown" },
    makesGuaranteed: () => makesGuaranteed,
  };
  const [one] = fitSizes([{ rule, amount, actual }], context);
  return one?.kind === "holds" ? one.message : "it moves";
}

const CAPS: readonly [string, Held, string][] = [
  ["the max", { base: { "cpu.requests": 150 }, key: "cpu.requests", amount: 200, max: 150 }, "150m: max"],
  ["the min", { base: { "cpu.requests": 50 }, key: "cpu.requests", amount: 20, min: 50 }, "50m: min"],
  [
    "its limit",
    { base: { "cpu.requests": 120, "cpu.limits": 120 }, key: "cpu.requests", amount: 180 },
    "120m: cpu.limits",
  ],
  ["its limit less 1m", {
    base: { "cpu.requests": 119, "cpu.limits": 120 },
    key: "cpu.requests",
    amount: 180,
    makesGuaranteed: true,
  }, "119m: cpu.limits"],
  ["its request and 1m", {
    base: { "cpu.requests": 100, "cpu.limits": 101 },
    key: "cpu.limits",
    amount: 40,
    makesGuaranteed: true,
  }, "101m: cpu.requests"],
];
for (const [sentence, held, words] of CAPS) {
  Deno.test(`fit() says that ${sentence} leaves a side no room (C33, C34)`, () => {
    assertEquals(holdOne(held), `${held.key} stays at ${words} leaves no room`);
  });
}

Deno.test("fit() says that a side holds its target, and why memory is not lowered (C33, C46)", () => {
  assertEquals(
    holdOne({ base: { "cpu.requests": 100 }, key: "cpu.requests", amount: 100 }),
    "cpu.requests already holds usage at its target of 60 %",
  );
  assertEquals(
    holdOne({ base: { "memory.limits": 100 * MI }, key: "memory.limits", amount: 50 * MI }),
    "memory.limits is not lowered: the usage source does not tell the page cache",
  );
});
