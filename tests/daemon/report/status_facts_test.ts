/** What an autoscaler's status follows from: of several places that know a thing, the right one is believed. */
import { assertEquals } from "@std/assert";
import { toStatusFacts } from "../../../lib/daemon/report/status_facts.ts";
import { policy, SECOND, START } from "../../support/builders.ts";

const RESOLUTION = { selector: null, matched: 0, tracked: new Map(), isTargetMissing: false, targetProblems: [] };

Deno.test("toStatusFacts() knows the newest resize, of this process or of one before (C51)", () => {
  const stored = {
    lastScaleTime: "2026-11-20T11:00:00Z",
    lastScaleAction: "scaleDown",
    lastScaleResourceChange: "old",
  };
  const older = { at: START - SECOND, action: "scaleUp", change: "mine" } as const;
  const newer = { ...older, at: START + SECOND };
  const seen = [null, older, newer].map((lastScale) => {
    const { uid, namespace, name, generation } = policy();
    const facts = { uid, namespace, name, generation, resourceVersion: "1", problems: [], warnings: [] };
    const autoscaler = { ...facts, autoscaler: policy(), status: { ...stored, lastScaleAction: "scaleDown" as const } };
    const unread = { count: 0, why: "" };
    const now = START + 2 * SECOND;
    return toStatusFacts(autoscaler, { resolution: RESOLUTION, unread, lastScale, now }).lastScale?.change;
  });
  assertEquals(seen, ["old", "old", "mine"]);
});
