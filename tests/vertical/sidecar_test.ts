/**
 * Which podfit resizes a pod that may contain podfit itself?
 * Clauses: C17.
 */
import { assertEquals } from "#assert";
import { decideSize } from "../../lib/vertical/decide.ts";
import type { ContainerDecision } from "../../lib/model/decision.ts";
import { pod, policy } from "../support/builders.ts";
import { Story } from "../support/story.ts";

const LABELLED = { app: "web", "podfit.dev/mode": "sidecar" };

interface Teller {
  readonly labels: Readonly<Record<string, string>>;
  readonly isSidecar?: boolean;
  readonly message: string | null;
}

const TELLERS: Readonly<Record<string, Teller>> = {
  "a podfit outside resizes a pod without the label": { labels: { app: "web" }, message: null },
  "a podfit outside resizes a pod of another mode": { labels: { "podfit.dev/mode": "central" }, message: null },
  "a podfit outside leaves a pod with the label alone, and says why": {
    labels: LABELLED,
    message: "the pod has the label podfit.dev/mode=sidecar: the podfit in it resizes it",
  },
  "a sidecar resizes its pod with the label": { labels: LABELLED, isSidecar: true, message: null },
  "a sidecar leaves its pod without the label alone, and says why": {
    labels: { app: "web" },
    isSidecar: true,
    message:
      "the pod has no label podfit.dev/mode=sidecar, so that a podfit outside of it may resize it too: add the " +
      "label to its pod template",
  },
};

function tell({ labels, isSidecar }: Teller, contenders = [policy()]) {
  const story = new Story({ pod: pod({ labels }), contenders, load: { cpu: 90 } });
  if (isSidecar !== undefined) story.decide = (before, given) => decideSize(before, { ...given, isSidecar });
  const seen: ContainerDecision[] = [];
  for (let poll = 0; poll < 20; poll++) seen.push(...story.poll().decisions);
  return { story, seen };
}

for (const [sentence, teller] of Object.entries(TELLERS)) {
  Deno.test(`${sentence} (C17)`, () => {
    const { story, seen } = tell(teller);
    assertEquals(story.requests.length > 0, teller.message === null);
    if (teller.message === null) return;
    const hold = { kind: "hold", reason: "NotOwner", message: teller.message } as const;
    assertEquals(seen.length, 20);
    for (const { decision } of seen) assertEquals(decision, hold);
    assertEquals(story.notices, []);
  });
}

Deno.test("decideSize() leaves alone what another podfit resizes for each of several autoscalers (C12, C17)", () => {
  const contenders = [policy({ name: "a" }), policy({ name: "b" })];
  const { story, seen } = tell({ labels: LABELLED, message: null }, contenders);
  assertEquals(story.requests, []);
  const said = new Set(
    seen.map(({ autoscaler, decision }) => `${autoscaler} ${"reason" in decision && decision.reason}`),
  );
  assertEquals([...said].sort(), ["uid-of-a NotOwner", "uid-of-b NotOwner"]);
});

Deno.test("decideSize() resizes a pod by samples from before the label was taken off it (C17)", () => {
  const { story } = tell({ labels: LABELLED, message: null });
  assertEquals(story.change({ labels: { app: "web" } }).request?.action, "scaleUp");
});

Deno.test("decideSize() recommends for a pod that another podfit resizes: it changes nothing (C17, L51)", () => {
  const { story, seen } = tell({ labels: LABELLED, message: null }, [policy({ mode: "recommend" })]);
  assertEquals(story.requests, []);
  assertEquals(seen.some(({ decision }) => decision.kind === "blocked" && decision.reason === "DryRun"), true);
});
