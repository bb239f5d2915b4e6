/**
 * The status of a pod's resize, from generations, conditions and values; and what it blocks.
 * Clauses: C41, C45.
 */
import { assertEquals } from "#assert";
import type { PodFacts } from "../../lib/model/pod.ts";
import { computeResizeStatus, hasBareDifference, isEnacted } from "../../lib/model/resize_status.ts";
import { NEW_POD_STATE, type PodState } from "../../lib/model/state.ts";
import { container, MI, pod, policy, resources, SECOND, side, SIZE, START } from "../support/builders.ts";
import { Story } from "../support/story.ts";

const BIG = { ...SIZE, "cpu.requests": 180 };
const condition = (reason: string) => ({ reason, message: "", since: START - SECOND });
const allocated = (millicores: number) => resources({ "cpu.requests": millicores, "memory.requests": 128 * MI });

const STATES: readonly [string, Partial<PodFacts>, Partial<PodState>, string][] = [
  ["idle", {}, {}, "idle"],
  ["idle when it is observed further than we know", { observedGeneration: 2 }, {}, "idle"],
  ["in progress while the generation is not observed", { generation: 2 }, {}, "inProgress"],
  ["in progress while the answered generation is not observed", {}, { generation: 2 }, "inProgress"],
  ["in progress by its condition", { inProgress: condition("") }, {}, "inProgress"],
  ["an error by the condition's reason", { inProgress: condition("Error") }, {}, "error"],
  ["deferred", { pending: condition("Deferred") }, {}, "deferred"],
  ["infeasible", { pending: condition("Infeasible") }, {}, "infeasible"],
  [
    "in progress while a condition belongs to an older generation",
    {
      generation: 2,
      pending: condition("Deferred"),
    },
    {},
    "inProgress",
  ],
  [
    "in progress while allocation differs and no generation is told",
    {
      observedGeneration: null,
      containers: [container({ allocated: allocated(90) })],
    },
    {},
    "inProgress",
  ],
  [
    "deferred though allocation differs too",
    {
      observedGeneration: null,
      pending: condition("Deferred"),
      containers: [container({ allocated: allocated(90) })],
    },
    {},
    "deferred",
  ],
  [
    "idle though allocation differs where generations are told",
    {
      containers: [container({ allocated: allocated(90) })],
    },
    {},
    "idle",
  ],
  [
    "idle when no allocation is told",
    { observedGeneration: null, containers: [container({ allocated: null })] },
    {},
    "idle",
  ],
  [
    "idle whatever a plain init container was allocated",
    {
      observedGeneration: null,
      containers: [container({ kind: "init", allocated: allocated(90) })],
    },
    {},
    "idle",
  ],
  [
    "in progress while the pod of the answer has not arrived and no generation is observed",
    {
      observedGeneration: null,
    },
    { generation: 2 },
    "inProgress",
  ],
  ["in progress by a bare difference", {}, { differingSince: START - 29_999 }, "inProgress"],
  ["idle with a difference of 30s", {}, { differingSince: START - 30_000 }, "idle"],
];
for (const [sentence, facts, state, kind] of STATES) {
  Deno.test(`computeResizeStatus() is ${sentence} (C41)`, () => {
    assertEquals(computeResizeStatus(pod(facts), { ...NEW_POD_STATE, ...state }, START).kind, kind);
  });
}

const DIFFERENCES: readonly [string, Partial<PodFacts>, boolean][] = [
  ["spec and report of a running container", { containers: [container({ spec: BIG, reported: SIZE })] }, true],
  ["nothing where they agree", {}, false],
  ["nothing where nothing is reported", { containers: [container({ reported: null })] }, false],
  ["nothing of a container that does not run", {
    containers: [container({ spec: BIG, reported: SIZE, runningAt: null })],
  }, false],
  [
    "nothing of a plain init container",
    { containers: [container({ kind: "init", spec: BIG, reported: SIZE })] },
    false,
  ],
  ["nothing bare while a condition explains it", {
    pending: condition("Deferred"),
    containers: [container({ spec: BIG, reported: SIZE })],
  }, false],
];
for (const [sentence, facts, differs] of DIFFERENCES) {
  Deno.test(`hasBareDifference() finds ${sentence} (C41)`, () => {
    assertEquals(hasBareDifference(pod(facts), NEW_POD_STATE, START), differs);
  });
}

const ENACTED: readonly [string, Partial<PodFacts>, boolean][] = [
  ["observed, without condition, values equal", { generation: 2, observedGeneration: 2 }, true],
  ["not observed", { generation: 2 }, false],
  ["an older pod", { generation: 1, observedGeneration: null }, false],
  ["pending", { generation: 2, observedGeneration: 2, pending: condition("Deferred") }, false],
  ["in progress", { generation: 2, observedGeneration: 2, inProgress: condition("") }, false],
  [
    "values differ",
    { generation: 2, observedGeneration: 2, containers: [container({ spec: BIG, reported: SIZE })] },
    false,
  ],
  ["nothing reported", { generation: 2, observedGeneration: 2, containers: [container({ reported: null })] }, false],
  ["an old server without generations, values equal", { generation: null, observedGeneration: null }, true],
];
for (const [sentence, facts, isDone] of ENACTED) {
  Deno.test(`isEnacted() says ${isDone}: ${sentence} (C45)`, () => {
    const one = pod(facts);
    assertEquals(isEnacted(one, one.containers[0] ?? container(), 2), isDone);
  });
}

Deno.test("decideSize() waits 30s for a difference that nothing explains, counted from when it became bare (C41)", () => {
  const spec = { ...SIZE, "cpu.limits": 220 };
  const facts = pod({
    containers: [container({ spec, reported: SIZE })],
    inProgress: { reason: "", message: "", since: START },
  });
  const story = new Story({ pod: facts, load: { cpu: 90 } });
  story.poll(12);
  assertEquals(story.reason(), "ResizeInProgress");
  story.change({ inProgress: null });
  story.poll(5);
  assertEquals(story.reason(), "ResizeInProgress");
  story.poll();
  assertEquals(story.reason(), "scaleUp");
});

Deno.test("decideSize() lets a scale-down replace a pending resize and reverts the container's other fields (C41)", () => {
  const spec = { ...SIZE, "cpu.requests": 180, "memory.limits": 300 * MI };
  const facts = pod({ containers: [container({ spec, reported: SIZE })], pending: condition("Deferred") });
  const story = new Story({ pod: facts, load: { cpu: 30 } });
  const order = story.pollToRequest();
  assertEquals(order.action, "scaleDown");
  assertEquals(order.to, { ...SIZE, "cpu.requests": 50 });
  assertEquals(order.changes, ["cpu.requests", "memory.limits"]);
});

Deno.test("decideSize() keeps other un-enacted fields when a scale-down replaces nothing (C41)", () => {
  const spec = { ...SIZE, "memory.limits": 300 * MI };
  const story = new Story({ pod: pod({ containers: [container({ spec, reported: SIZE })] }), load: { cpu: 30 } });
  story.poll(6);
  assertEquals(story.pollToRequest().changes, ["cpu.requests"]);
});

const COMMANDED: readonly [string, Partial<PodFacts>, number, string][] = [
  ["ResizeInProgress while only the values differ", {}, 3, "ResizeInProgress"],
  ["AtTarget once that has lasted 30s", {}, 12, "AtTarget"],
  ["ResizeDeferred while it is", { pending: { reason: "Deferred", message: "", since: START } }, 3, "ResizeDeferred"],
  ["ResizeInfeasible while it is", { pending: { reason: "Infeasible", message: "", since: 0 } }, 3, "ResizeInfeasible"],
  ["ResizeError while it is", { inProgress: { reason: "Error", message: "", since: START } }, 3, "ResizeError"],
];
for (const [sentence, facts, polls, reason] of COMMANDED) {
  Deno.test(`decideSize() says of a proposal for what is commanded already: ${sentence} (C41, C53)`, () => {
    const spec = { ...SIZE, "cpu.requests": 150 };
    const story = new Story({
      contenders: [policy({ sides: [side("cpu.requests", { bounds: { max: 150 } })] })],
      pod: pod({ containers: [container({ spec, reported: SIZE })], ...facts }),
      load: { cpu: 100 },
    });
    story.poll(polls);
    assertEquals([story.reason(), story.requests.length], [reason, 0]);
  });
}
