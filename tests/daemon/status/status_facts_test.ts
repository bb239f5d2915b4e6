/** What an autoscaler's status follows from: of several places that know a thing, the right one is believed. */
import { assertEquals } from "#assert";
import type { Autoscaler } from "../../../lib/model/autoscaler.ts";
import { findSpecNotice, toStatusFacts } from "../../../lib/daemon/status/facts.ts";
import { policy, SECOND, START } from "../../support/builders.ts";
import { autoscalerFacts, statusSources, UNRESOLVED } from "../../support/status_sources.ts";

Deno.test("toStatusFacts() knows the newest resize, of this process or of one before (C51)", () => {
  const stored = {
    lastScaleTime: "2026-11-20T11:00:00Z",
    lastScaleAction: "scaleDown",
    lastScaleResourceChange: "old",
  };
  const older = { at: START - SECOND, action: "scaleUp", change: "mine" } as const;
  const newer = { ...older, at: START + SECOND };
  const facts = autoscalerFacts({ status: { ...stored, lastScaleAction: "scaleDown" } });
  const now = START + 2 * SECOND;
  const seen = [null, older, newer].map((lastScale) =>
    toStatusFacts(facts, statusSources({ lastScale, now })).lastScale?.change
  );
  assertEquals(seen, ["old", "old", "mine"]);
});

Deno.test("toStatusFacts() has the effective policy of a profile, and none without one (L50)", () => {
  const effectivePolicyOf = (autoscaler: Autoscaler | null) =>
    toStatusFacts(autoscalerFacts({ autoscaler }), statusSources()).effectivePolicy;
  assertEquals([effectivePolicyOf(null), effectivePolicyOf(policy())], [null, null]);
  assertEquals(effectivePolicyOf(policy({ profile: "balanced", pollIntervalMs: 7 * SECOND }))?.pollInterval, "7s");
});

Deno.test("toStatusFacts() has no words that change from one failure to the next (C51)", () => {
  const readWhy = (port: number) => {
    const why = `error sending request from 10.0.0.5:${port} for https://10.0.0.1:10250/: reset`;
    return toStatusFacts(autoscalerFacts(), statusSources({ unread: { count: 1, why } })).unreadWhy;
  };
  assertEquals(readWhy(40_001), readWhy(40_002));
  assertEquals(readWhy(40_001), "error sending request for https://10.0.0.1:10250/: reset");
});

Deno.test("findSpecNotice() names what pods lack, one container or all (L50)", () => {
  const facts = { problems: [], missingTarget: null, paused: false, matched: 1, tracked: 0 };
  const words = ["main", "*"].map((containerName) => findSpecNotice({ ...facts, containerName } as never)[1]);
  assertEquals(words, [
    'no matching pod has a container "main"',
    "no matching pod has a container that excludeContainers does not leave out",
  ]);
});

Deno.test("toStatusFacts() warns of pods for which too many others go first", () => {
  const warningsOf = (crowdedOut: number) =>
    toStatusFacts(
      autoscalerFacts(),
      statusSources({ resolution: { ...UNRESOLVED, countCrowdedOut: () => crowdedOut } }),
    )
      .warnings.map(({ path, message }) => `${path}: ${message}`);
  assertEquals(warningsOf(0), []);
  assertEquals(warningsOf(2), [
    "spec.priority: 2 of its pods have as many autoscalers of higher rank for the container as podfit asks " +
    "(--max-contenders): raise the priority, or delete some",
  ]);
});

Deno.test("toStatusFacts() warns of pods that have too many containers (C11)", () => {
  const warningsOf = (oversized: number) =>
    toStatusFacts(autoscalerFacts(), statusSources({ resolution: { ...UNRESOLVED, oversized } }))
      .warnings.map(({ path, message }) => `${path}: ${message}`);
  assertEquals(warningsOf(0), []);
  assertEquals(warningsOf(1), [
    "spec.target: 1 matching pod has more than 100 containers, and podfit leaves such pods as they are: use fewer " +
    "containers in one pod",
  ]);
});
