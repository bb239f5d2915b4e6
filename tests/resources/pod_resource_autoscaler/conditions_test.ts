import { assert, assertEquals } from "#assert";
import { AUTOSCALER_CONDITION_MEANINGS } from "../../../lib/model/meanings/conditions.ts";
import { LIMIT_REASONS } from "../../../lib/model/reasons.ts";
import {
  type AutoscalerStatus,
  nextStatus,
  type StatusFacts,
  UNLIMITED,
} from "../../../lib/resources/pod_resource_autoscaler/status.ts";
import { formatTime } from "../../../lib/units/time.ts";
import { MINUTE, SECOND, START } from "../../support/builders.ts";

const FACTS: StatusFacts = {
  stale: null,
  generation: 3,
  problems: [],
  warnings: [],
  paused: false,
  missingTarget: null,
  selector: { matchLabels: { app: "web" } },
  containerName: "main",
  matched: 2,
  tracked: 2,
  unread: 0,
  unreadWhy: "",
  limits: UNLIMITED,
  isNodeLocal: false,
  recommended: null,
  sizes: null,
  lastScale: null,
  effectivePolicy: null,
  cooldownMs: 2 * MINUTE,
};

const UP = { at: START - MINUTE, action: "scaleUp", change: "cpu.requests 100m -> 250m" } as const;
const PROBLEMS = [{ path: "spec.a", message: "bad" }, { path: "spec.b", message: "worse" }];

interface Row {
  readonly facts: Partial<StatusFacts>;
  /** Ready, Active, Scaling, Metrics; and Limited if it is not False. */
  readonly expected: readonly [string, string, string, string, string?];
}

const ROWS: Record<string, Row> = {
  "all is well": { facts: {}, expected: ["True Valid", "True Tracking", "False Idle", "True Available"] },
  "the spec is invalid": {
    facts: { problems: PROBLEMS, tracked: 0, matched: 0, lastScale: UP },
    expected: ["False InvalidSpec", "False InvalidSpec", "False Idle", "Unknown NoPods", "Unknown NoPods"],
  },
  "the target is missing": {
    facts: { missingTarget: 'deployment "web" does not exist', matched: 0, tracked: 0, selector: null },
    expected: ["False TargetNotFound", "False TargetNotFound", "False Idle", "Unknown NoPods", "Unknown NoPods"],
  },
  "it is paused, whatever else (C13)": {
    facts: { paused: true, missingTarget: 'deployment "web" does not exist', lastScale: UP, tracked: 0, matched: 0 },
    expected: ["True Paused", "False Paused", "False Paused", "Unknown Paused", "Unknown Paused"],
  },
  "no pod matches": {
    facts: { matched: 0, tracked: 0 },
    expected: ["True Valid", "False NoPods", "False Idle", "Unknown NoPods", "Unknown NoPods"],
  },
  "no matching pod has the container (C15)": {
    facts: { tracked: 0 },
    expected: ["True Valid", "False ContainerNotFound", "False Idle", "Unknown NoPods", "Unknown NoPods"],
  },
  "it is about the pods of other podfits (C51)": {
    facts: { isNodeLocal: true, isUsageElsewhere: true, unread: 1, unreadWhy: "no route" },
    expected: ["True Valid", "True Tracking", "False Idle", "Unknown NodeLocal", "Unknown NodeLocal"],
  },
  "it would be about the pods of other podfits, and there are none (C51)": {
    facts: { isNodeLocal: true, isUsageElsewhere: true, matched: 0, tracked: 0 },
    expected: ["True Valid", "False NoPods", "False Idle", "Unknown NoPods", "Unknown NoPods"],
  },
  "the usage of one pod cannot be read": {
    facts: { unread: 1, unreadWhy: "no route" },
    expected: ["True Valid", "True Tracking", "False Idle", "False MetricsUnavailable"],
  },
  "it was resized within the cooldown": {
    facts: { lastScale: UP },
    expected: ["True Valid", "True Tracking", "True ScaleUp", "True Available"],
  },
  "it was scaled down within the cooldown": {
    facts: { lastScale: { ...UP, action: "scaleDown" } },
    expected: ["True Valid", "True Tracking", "True ScaleDown", "True Available"],
  },
  "the cooldown has just ended": {
    facts: { lastScale: { ...UP, at: START - 2 * MINUTE } },
    expected: ["True Valid", "True Tracking", "False Idle", "True Available"],
  },
  "it was resized, by a clock that is a little ahead": {
    facts: { lastScale: { ...UP, at: START + 30 * SECOND } },
    expected: ["True Valid", "True Tracking", "True ScaleUp", "True Available"],
  },
  "it was resized before the clock was set back an hour": {
    facts: { lastScale: { ...UP, at: START + 60 * MINUTE } },
    expected: ["True Valid", "True Tracking", "False Idle", "True Available"],
  },
  "it has no cooldown": {
    facts: { lastScale: { ...UP, at: START }, cooldownMs: 0 },
    expected: ["True Valid", "True Tracking", "False Idle", "True Available"],
  },
};

Deno.test("nextStatus() says Ready, Active, Scaling, Metrics (C51) when", async (t) => {
  for (const [name, { facts, expected }] of Object.entries(ROWS)) {
    await t.step(name, () => {
      const status = nextStatus({}, { ...FACTS, ...facts }, START);
      const conditions = (status.conditions ?? []).map((one) => `${one.type} ${one.status} ${one.reason}`);
      const types = ["Ready", "Active", "Scaling", "Metrics", "Limited"];
      assertEquals(conditions, types.map((type, index) => `${type} ${expected[index] ?? "False NotLimited"}`));
      assertEquals(status.scaling, expected[2].startsWith("True"));
      assertEquals(status.observedGeneration, 3);
      assert(status.conditions?.every(({ observedGeneration }) => observedGeneration === 3));
    });
  }
});

const MESSAGES: Record<string, { facts: Partial<StatusFacts>; type: string; message: string }> = {
  "every problem with its path (C8)": {
    facts: { problems: PROBLEMS },
    type: "Ready",
    message: "spec.a: bad; spec.b: worse",
  },
  "a warning beside validity (C8)": {
    facts: { warnings: [{ path: "spec.c", message: "odd" }] },
    type: "Ready",
    message: "the spec is valid, but spec.c: odd",
  },
  "the missing target": {
    facts: { missingTarget: 'deployment "web" does not exist' },
    type: "Active",
    message: 'deployment "web" does not exist',
  },
  "the missing container": {
    facts: { matched: 1, tracked: 0 },
    type: "Active",
    message: 'none of 1 pod has a container "main"',
  },
  "n of m pods without usage": {
    facts: { unread: 1, unreadWhy: "no route" },
    type: "Metrics",
    message: "no usage of 1 of 2 pods: no route",
  },
  "the last change while it cools down": { facts: { lastScale: UP }, type: "Scaling", message: UP.change },
};

Deno.test("nextStatus() tells", async (t) => {
  for (const [name, { facts, type, message }] of Object.entries(MESSAGES)) {
    await t.step(name, () => {
      const { conditions = [] } = nextStatus({}, { ...FACTS, ...facts }, START);
      assertEquals(conditions.find((one) => one.type === type)?.message, message);
    });
  }
});

Deno.test("nextStatus() observes the generation that it judges, and tells the last resize (C5)", () => {
  const before = nextStatus({}, { ...FACTS, generation: 2 }, START - MINUTE);
  const { observedGeneration, lastScaleTime, lastScaleAction, lastScaleResourceChange } = nextStatus(
    before,
    { ...FACTS, lastScale: UP },
    START,
  );
  assertEquals([observedGeneration, lastScaleTime, lastScaleAction, lastScaleResourceChange], [
    3,
    formatTime(UP.at),
    "scaleUp",
    UP.change,
  ]);
});

Deno.test("nextStatus() moves lastTransitionTime only with the condition's status (C51)", () => {
  const first = nextStatus({}, FACTS, START);
  const same = nextStatus(first, { ...FACTS, generation: 4, tracked: 1, matched: 1 }, START + MINUTE);
  assertEquals(readTransitions(same), new Array(5).fill(formatTime(START)));
  const other = nextStatus(same, { ...FACTS, tracked: 0, matched: 0 }, START + 2 * MINUTE);
  const moved = formatTime(START + 2 * MINUTE);
  assertEquals(readTransitions(other), [formatTime(START), moved, formatTime(START), moved, moved]);
});

Deno.test("nextStatus() gives the same for the same facts while time passes, until the cooldown ends", () => {
  const facts = { ...FACTS, lastScale: UP };
  const first = nextStatus({}, facts, START);
  assertEquals(nextStatus(first, facts, START + MINUTE - 1), first);
  const after = nextStatus(first, facts, START + MINUTE);
  assertEquals([after.scaling, after.lastScaleTime], [false, formatTime(START - MINUTE)]);
});

Deno.test("nextStatus() keeps no selector, and no last resize, that is no more known", () => {
  const before: AutoscalerStatus = nextStatus({}, FACTS, START);
  const after = nextStatus(before, { ...FACTS, selector: null }, START);
  assertEquals(["effectiveSelector" in after, "lastScaleTime" in after], [false, false]);
});

Deno.test("nextStatus() adds no condition of another's type and no second one of its own", () => {
  const foreign = { ...nextStatus({}, FACTS, START).conditions?.[0], type: "Other" } as never;
  const { conditions = [] } = nextStatus({ conditions: [foreign] }, FACTS, START);
  assertEquals(conditions.map(({ type }) => type), ["Ready", "Active", "Scaling", "Metrics", "Limited"]);
});

Deno.test("nextStatus() shortens a message to what a person reads", () => {
  const problems = Array.from({ length: 500 }, (_, index) => ({ path: `spec.${index}`, message: "bad" }));
  const { conditions = [] } = nextStatus({}, { ...FACTS, problems }, START);
  assertEquals(conditions[0]?.message.length, 2048);
});

function readTransitions({ conditions = [] }: AutoscalerStatus): string[] {
  return conditions.map(({ lastTransitionTime }) => lastTransitionTime);
}

Deno.test("nextStatus() writes the effective policy where there is a profile (L50)", () => {
  const effectivePolicy = { pollInterval: "5s" };
  assertEquals(nextStatus({}, { ...FACTS, effectivePolicy }, START).effectivePolicy, effectivePolicy);
  assertEquals("effectivePolicy" in nextStatus({ effectivePolicy }, FACTS, START), false);
});

Deno.test("nextStatus() repeats no selector of more than 4 KiB", () => {
  const values = (count: number) => Array.from({ length: count }, (_, index) => String(index).padStart(58, "v"));
  const selectorOf = (count: number) => ({
    matchExpressions: [{ key: "app", operator: "In" as const, values: values(count) }],
  });
  const statusOf = (count: number) => nextStatus({}, { ...FACTS, selector: selectorOf(count) }, START);
  assertEquals(statusOf(60).effectiveSelector, selectorOf(60));
  assertEquals(statusOf(70).effectiveSelector, undefined);
});

Deno.test("nextStatus() sets each reason only where its entry for people says so", () => {
  const facts: Partial<StatusFacts>[] = [
    ...Object.values(ROWS).map((row) => row.facts),
    ...(["TooLarge", "TooMany", "OverBudget", "NamespaceExcluded"] as const)
      .map((reason) => ({ problems: [{ path: "spec", message: "bad", reason }] })),
    { stale: "pods" },
    { isNodeLocal: true, isUsageElsewhere: true },
    { lastScale: { ...UP, action: "scaleDown" } },
    { limits: { first: { pod: "web-1", reason: "AtBound" }, reasons: new Map([["AtBound", 1]]) } },
  ];
  const seen = new Set<string>();
  for (const one of facts) {
    for (const { type, status, reason } of nextStatus({}, { ...FACTS, ...one }, START).conditions ?? []) {
      if (LIMIT_REASONS.some((limit) => limit === reason)) continue;
      seen.add(`${reason} ${type}=${status}`);
    }
  }
  const entries = Object.entries(AUTOSCALER_CONDITION_MEANINGS);
  assertEquals(seen, new Set(entries.flatMap(([reason, entry]) => entry.in.map((where) => `${reason} ${where}`))));
});
