/** Lines of records: JSON that reads back to the same values, and a parser that believes nothing else and never throws. */
import { assert, assertEquals } from "#assert";
import * as fc from "fast-check";
import { decideReplicas } from "../../lib/horizontal/decide.ts";
import type { ReplicasObservation, TriggerReading } from "../../lib/model/replicas_decision.ts";
import { NEW_REPLICAS_STATE } from "../../lib/model/replicas_state.ts";
import { formatLine, type RecordLine, type ReplicasRecord, toReplicasRecord } from "../../lib/record/record.ts";
import { parseLine } from "../../lib/record/parse.ts";
import { parseScaledObject } from "../../lib/resources/scaled_object/scaled_object.ts";
import type { ScaledObjectFacts } from "../../lib/model/scaled_object.ts";
import { GOOD_SCALED_OBJECTS } from "../support/good_scaled_objects.ts";
import { SECOND, START } from "../support/builders.ts";
import { recordStory } from "../support/recorded_story.ts";
import { failed, pods, scaleOf, value } from "../support/replicas_fold.ts";
import { CRON, METRICS_API, toScaledObject } from "../support/scaled_objects.ts";

const FACTS: readonly ScaledObjectFacts[] = [
  ...GOOD_SCALED_OBJECTS.map(({ manifest }) => manifest),
  toScaledObject({ "spec.triggers": [CRON, { ...METRICS_API, metadata: {} }] }),
].map(parseScaledObject);

function toLine(record: ReplicasRecord): RecordLine {
  const { namespace, name, uid } = record.input.object;
  return { kind: "scaledObject", namespace, name, uid, count: 3, since: START, record };
}

/** A few passes of one object: it is seen, asked of by both halves, and its write is answered. */
function recordPasses(object: ScaledObjectFacts, readings: readonly TriggerReading[]): readonly ReplicasRecord[] {
  const [scale, triggers] = [scaleOf(2), new Map(readings.map((one, index) => [index, one]))];
  const half = { scale, triggers, readyPods: 2 };
  const observations: ReplicasObservation[] = [
    { kind: "changed", scale },
    { kind: "poll", ...half },
    { kind: "tick", ...half },
    { kind: "obstructed", obstacle: { kind: "scale", message: "timed out" } },
  ];
  const records: ReplicasRecord[] = [];
  let state = NEW_REPLICAS_STATE;
  for (let at = 0; at < observations.length; at++) {
    const observation = observations[at];
    if (observation === undefined) continue;
    const input = { now: START + at * 15 * SECOND, object, observation, dryRun: false };
    const outcome = decideReplicas(state, input);
    records.push(toReplicasRecord({ before: state, input, outcome }));
    state = outcome.state;
    const { write } = outcome;
    if (write === null) continue;
    observations.push({ kind: "answered", write, answer: { kind: "accepted", replicas: write.replicas } });
  }
  return records;
}

const obstructed: ReplicasObservation = { kind: "obstructed", obstacle: { kind: "invalid" } };

const EXACT = { ...value(40.5), milli: 40_500n } as const;
const READINGS: readonly TriggerReading[] = [EXACT, pods(2, 900n), failed(), value(Infinity), value(1e-7)];
const LINES: readonly string[] = FACTS.flatMap((facts) =>
  recordPasses(facts, READINGS).map((one) => formatLine(toLine(one)))
);
const POD_LINES: readonly string[] = recordStory({ load: { cpu: 90 } }).map((record) => {
  const { namespace, name, uid } = record.input.pod;
  return formatLine({ kind: "pod", namespace, name, uid, count: 1, since: record.input.now, record });
});

Deno.test("a line of a ScaledObject reads back to the same values, and its record replays to the same outcome", () => {
  const kinds = new Set<string>();
  for (const facts of FACTS) {
    for (const record of recordPasses(facts, READINGS)) {
      const line = toLine(record);
      const parsed = parseLine(formatLine(line));
      if (!parsed.ok || parsed.value.kind !== "scaledObject") throw new Error(JSON.stringify(parsed));
      const { before, input, outcome } = parsed.value.record;
      assertEquals({ before, outcome }, { before: record.before, outcome: record.outcome });
      assertEquals(input.observation, record.input.observation);
      assertEquals(decideReplicas(before, input), record.outcome);
      kinds.add(`${input.observation.kind} ${outcome.write === null ? "holds" : "writes"}`);
      assertEquals(JSON.parse(formatLine(parsed.value)), JSON.parse(formatLine(line)));
    }
  }
  assert(
    kinds.isSupersetOf(new Set(["changed holds", "poll holds", "tick writes", "answered holds"])),
    [...kinds].join(),
  );
});

Deno.test("a line of a ScaledObject that podfit refuses reads back with the reason", () => {
  const refused = (["NamespaceExcluded", "TooLarge", "TooMany", "OverBudget"] as const).map((reason) => {
    const facts = parseScaledObject(toScaledObject({}));
    const problems = [{ path: "metadata.namespace", message: "is left alone", reason }];
    return { ...facts, scaledObject: null, restoring: null, problems };
  });
  for (const object of refused) {
    const input = { now: START, object, observation: obstructed, dryRun: false };
    const outcome = decideReplicas(NEW_REPLICAS_STATE, input);
    const line = toLine(toReplicasRecord({ before: NEW_REPLICAS_STATE, input, outcome }));
    const parsed = parseLine(formatLine(line));
    if (!parsed.ok || parsed.value.kind !== "scaledObject") throw new Error(JSON.stringify(parsed));
    assertEquals(parsed.value.record.input.object.problems, object.problems);
    assertEquals(decideReplicas(NEW_REPLICAS_STATE, parsed.value.record.input), outcome);
  }
});

Deno.test("parseLine() reads the baseline of earlier records, born, as initial (R82)", () => {
  const line = LINES.find((one) => one.includes('"baseline":{"kind":"initial"}'));
  assert(line !== undefined);
  const earlier = line.replace('"baseline":{"kind":"initial"}', '"baseline":{"kind":"born"}');
  assertEquals(parseLine(earlier), parseLine(line));
});

Deno.test("a line shows no credential of a trigger", () => {
  const secret = "hunter2";
  const source = {
    url: `https://user:${secret}@example.com/path?key=${secret}`,
    serverAddress: `http://user:${secret}@prometheus:9090`,
    apiKey: secret,
    customHeaders: [["X-Token", secret]],
    queryParameters: [["token", secret]],
  };
  const [record] = FACTS.slice(0, 1).flatMap((facts) => recordPasses({ ...facts, status: source }, READINGS));
  assert(record !== undefined);
  const text = formatLine(toLine(record));
  assert(!text.includes(secret), text);
  assertEquals(parseLine(text).ok, true);
});

Deno.test("parseLine() names what is wrong with a line, by its path", () => {
  const [line = ""] = POD_LINES;
  const spoil = (change: (line: Record<string, unknown>) => unknown) => {
    const parsed = parseLine(JSON.stringify(change(JSON.parse(line))));
    return parsed.ok ? [] : parsed.problems.map(({ path }) => path);
  };
  assertEquals(spoil((it) => ({ ...it, kind: "node" })), ["kind"]);
  assertEquals(spoil((it) => ({ ...it, count: 0 })), ["count"]);
  assertEquals(spoil(({ record: _, ...it }) => it), ["record"]);
  assertEquals(spoil((it) => ({ ...it, record: { ...it["record"] as object, version: 99 } })), ["record.version"]);
  assertEquals(spoil((it) => ({ ...it, record: {} })).includes("record.input"), true);
  assertEquals(parseLine(line.slice(0, -1)), {
    ok: false,
    problems: [{ path: "", message: "Cannot read the line: it is not a whole JSON object, so it may be cut off" }],
  });
});

Deno.test("parseLine() never throws on a line that is cut off or broken, and believes none that is cut off", () => {
  const lines = [...LINES, ...POD_LINES];
  const damaged = fc.tuple(fc.constantFrom(...lines), fc.nat(), fc.string({ maxLength: 3 }), fc.boolean());
  fc.assert(
    fc.property(damaged, ([line, place, text, isCut]) => {
      const at = place % line.length;
      const parsed = parseLine(isCut ? line.slice(0, at) : line.slice(0, at) + text + line.slice(at + text.length));
      return !isCut || !parsed.ok;
    }),
    { seed: 20261123, numRuns: 1000 },
  );
});

Deno.test("parseLine() never throws, whatever stands in the place of a value", () => {
  const [line = ""] = LINES.filter((one) => one.includes("formula"));
  const numbers = [...line.matchAll(/-?\d+(\.\d+)?|"[^"]{0,40}"|true|null/g)];
  const replaced = fc.tuple(fc.constantFrom(...numbers), fc.jsonValue({ maxDepth: 2 }));
  fc.assert(
    fc.property(replaced, ([{ 0: found, index }, other]) => {
      parseLine(line.slice(0, index) + JSON.stringify(other) + line.slice(index + found.length));
    }),
    { seed: 20261123, numRuns: 500 },
  );
});
