/** Records of evaluations: plain JSON that replays to the same outcome, and a parser that believes nothing else. */
import { assertEquals } from "#assert";
import * as fc from "fast-check";
import { decideSize } from "../../lib/vertical/decide.ts";
import type { Answer } from "../../lib/model/resize_request.ts";
import { NEW_POD_STATE } from "../../lib/model/state.ts";
import { parseRecord, parseState } from "../../lib/record/parse.ts";
import { type EvaluationRecord, formatRecord } from "../../lib/record/record.ts";
import { loads, podOf, sanePolicies, sizes } from "../support/arbitraries.ts";
import { container, MINUTE, pod, policy, restartsOn } from "../support/builders.ts";
import { recordStory } from "../support/recorded_story.ts";
import type { StoryOptions } from "../support/story.ts";

const RUNS = { seed: 20261122, numRuns: 60 };

const refused: Answer = { kind: "refused", reason: "Quota", message: "exceeded", resources: ["cpu"], waitMs: null };
const answers: fc.Arbitrary<NonNullable<StoryOptions["answer"]>> = fc.constantFrom<NonNullable<StoryOptions["answer"]>>(
  "enact",
  "accept",
  refused,
  { ...refused, reason: "RetryLater", waitMs: MINUTE },
  { kind: "conflict" },
  { kind: "unconfirmed", message: "timed out" },
);

Deno.test("a record survives JSON, and replays to the same outcome", () => {
  let kinds = new Set<string>();
  fc.assert(
    fc.property(sanePolicies, sizes(true), loads, answers, (contender, spec, load, answer) => {
      for (const record of recordStory({ pod: podOf(spec), contenders: [contender], load, answer })) {
        const parsed = parseRecord(JSON.parse(formatRecord(record)));
        if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
        assertEquals(parsed.value, record);
        assertEquals(decideSize(parsed.value.before, parsed.value.input), record.outcome);
        kinds = kinds.union(new Set(record.outcome.decisions.map(({ decision }) => decision.kind)));
      }
    }),
    RUNS,
  );
  assertEquals([...kinds].sort(), ["blocked", "hold", "resize"]);
});

Deno.test("a record of a restart that waits has what it waits for, and replays (L70)", () => {
  const facts = {
    ...pod({ workload: "Deployment/web", containers: [container({ restartsOn: restartsOn("cpu") })] }),
    hasEphemeralContainers: true as const,
  };
  const disruption = { pods: 10, unavailable: 2, example: "web-7", budgets: [{ name: "web", allowed: 0 }] };
  const contenders = [policy({ maxUnavailable: { kind: "percent", percent: 20 } })];
  const records = recordStory({ pod: facts, contenders, load: { cpu: 90 }, surroundings: { disruption } });
  for (const record of records) {
    const parsed = parseRecord(JSON.parse(formatRecord(record)));
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
    assertEquals(parsed.value, record);
    assertEquals(decideSize(parsed.value.before, parsed.value.input), record.outcome);
  }
  const reasons = records.flatMap(({ outcome }) => outcome.decisions)
    .map(({ decision }) => decision.kind === "blocked" ? decision.reason : decision.kind);
  assertEquals([reasons.includes("MaxUnavailable"), reasons.includes("resize")], [true, false]);
});

const [RECORD] = recordStory({ load: { cpu: 90 } });
if (RECORD === undefined) throw new Error("Cannot play a record");

Deno.test("parseState() refuses another version by name", () => {
  const message = "Cannot read a state of version 1: this podfit reads version 4";
  assertEquals(parseState({ ...NEW_POD_STATE, version: 1 }), { ok: false, problems: [{ path: "version", message }] });
});

Deno.test("parseRecord() refuses another version by name, of the state in it too", () => {
  const message = "Cannot read a record of version 7: this podfit reads version 2";
  assertEquals(parseRecord({ ...RECORD, version: 7 }), { ok: false, problems: [{ path: "version", message }] });
  const parsed = parseRecord({ ...RECORD, before: { ...RECORD.before, version: 1 } });
  assertEquals(parsed.ok ? [] : parsed.problems.map(({ path }) => path), ["before.version"]);
});

Deno.test("parseRecord() keeps a container and a label that are named like a property of every object", () => {
  const [container] = Object.values(RECORD.outcome.state.containers);
  if (container === undefined) throw new Error("Cannot find a container");
  const record: EvaluationRecord = {
    ...RECORD,
    before: { ...RECORD.before, containers: { constructor: container } },
    input: { ...RECORD.input, pod: { ...RECORD.input.pod, labels: { constructor: "x" } } },
  };
  const parsed = parseRecord(JSON.parse(formatRecord(record)));
  assertEquals(parsed.ok ? parsed.value : parsed.problems, record);
});

/** [sentence, what is wrong, the path that is named] */
const WRONG: readonly [string, (record: Record<string, unknown>) => unknown, string][] = [
  ["a field that is missing", ({ input: _, ...rest }) => rest, "input"],
  ["a field that it does not know", (record) => ({ ...record, more: 1 }), "more"],
  ["a number that is a string", (record) => ({ ...record, input: { ...RECORD.input, now: "now" } }), "input.now"],
  ["a reason that is none", (record) => ({
    ...record,
    outcome: { ...RECORD.outcome, decisions: [{ ...RECORD.outcome.decisions[0], candidates: ["cpu"] }] },
  }), "outcome.decisions.0.candidates.0"],
];
for (const [sentence, spoil, path] of WRONG) {
  Deno.test(`parseRecord() names ${sentence}`, () => {
    const parsed = parseRecord(spoil(structuredClone(RECORD) as unknown as Record<string, unknown>));
    assertEquals(parsed.ok ? [] : parsed.problems.map((one) => one.path), [path]);
  });
}

Deno.test("parseRecord() and parseState() never throw, whatever they are given", () => {
  fc.assert(fc.property(fc.anything(), (value) => !parseRecord(value).ok && !parseState(value).ok), RUNS);
});
