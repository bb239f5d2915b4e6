/** Rings of records: what repeats is counted, what is news is kept, and there is an end to both age and size. */
import { assert, assertEquals } from "#assert";
import { decideReplicas } from "../../lib/horizontal/decide.ts";
import { type EvaluationRecord, toRecord, toReplicasRecord } from "../../lib/record/record.ts";
import {
  comparePods,
  compareReplicas,
  isBlocked,
  type Repetition,
  Ring,
  type RingRules,
  toLane,
} from "../../lib/record/ring.ts";
import type { ContainerDecision, SizeOutcome } from "../../lib/model/decision.ts";
import { evaluation } from "../support/evaluations.ts";
import { request, SECOND, SIZE } from "../support/builders.ts";
import { createFold, value } from "../support/replicas_fold.ts";

/** `lane:text` at so many seconds; `?` is silent, `!` is always news, and a first `B` is kept. */
interface Note {
  readonly at: number;
  readonly text: string;
  readonly lane?: string;
}

const RULES: RingRules<Note> = {
  getAt: ({ at }) => at,
  compare: (before, { text }): Repetition => {
    if (text === "?") return "silent";
    return text === before.text && text !== "!" ? "repeats" : "news";
  },
  keepsFirst: ({ text }) => text === "B",
  getLane: ({ lane = "" }) => lane,
  format: ({ record: { text, at }, count, since }) => `${text} ${since}-${at} x${count}`,
  packing: { pack: (text) => `<${text}>`, unpack: (packed) => packed.slice(1, -1) },
  maxAgeMs: 100,
  maxLines: 40,
  maxBytes: 1e6,
};

function ringOf(texts: string, rules: Partial<RingRules<Note>> = {}): Ring<Note> {
  const ring = new Ring({ ...RULES, ...rules });
  texts.split("").forEach((text, at) => ring.add({ at, text }));
  return ring;
}

function lines(ring: Ring<Note>): readonly string[] {
  return [...ring.listLines()].join("").trimEnd().split("\n");
}

const CASES: Readonly<Record<string, readonly [texts: string, expected: readonly string[]]>> = {
  "counts what repeats, and the newest stands for it": ["aaab", ["a 0-2 x3", "b 3-3 x1"]],
  "keeps what is always news": ["!!!", ["! 0-0 x1", "! 1-1 x1", "! 2-2 x1"]],
  "counts what is silent, and leaves what was decided": ["aa??b", ["a 0-1 x4", "b 4-4 x1"]],
  "keeps with what a block begins beside the newest": ["aBBBa", ["a 0-0 x1", "B 1-1 x1", "B 2-3 x2", "a 4-4 x1"]],
  "begins with a record of whatever kind": ["?a", ["? 0-0 x1", "a 1-1 x1"]],
};
for (const [sentence, [texts, expected]] of Object.entries(CASES)) {
  Deno.test(`a ring ${sentence}`, () => {
    const ring = ringOf(texts);
    assertEquals(lines(ring), expected);
    ring.pack();
    assertEquals([lines(ring), ring.hasEnded, ring.findNewest()], [expected, false, `${expected.at(-1)}\n`]);
  });
}

Deno.test("a ring reads the same whether what repeats is added, or counted and made by who reads it", () => {
  for (const texts of ["aaab", "aa??ab", "aBBBBaa?a!aab", "?aa?", "BBBB??BBa", "aaBB?Baaa??bbB"]) {
    const [added, counted] = [new Ring(RULES), new Ring(RULES)];
    let made = 0;
    let before: Note | null = null;
    for (const [at, text] of texts.split("").entries()) {
      const record = { at, text };
      added.add(record);
      const repetition = before === null ? "news" : RULES.compare(before, record);
      const lazy = { sketch: { at: NaN, text: before?.text ?? "" }, make: () => (made++, record) };
      if (repetition === "news") counted.add(record);
      else counted.repeat(at, { lazy, isSilent: repetition === "silent" });
      if (repetition !== "silent" || before === null) before = record;
      assertEquals([counted.findNewest(), lines(counted)], [added.findNewest(), lines(added)], `${texts} ${at}`);
    }
    assert(made > 0, texts);
    for (const ring of [added, counted]) ring.pack();
    assertEquals(lines(counted), lines(added));
    assertEquals([counted.expire(90), counted.expire(200)], [added.expire(90), added.expire(200)]);
  }
});

Deno.test("a ring makes no record that nobody reads", () => {
  const ring = ringOf("a");
  const lazy = {
    sketch: { at: NaN, text: "a" },
    make: (): Note => {
      throw new Error("it is made");
    },
  };
  for (let at = 1; at < 50; at++) ring.repeat(at, { lazy, isSilent: false });
  ring.add({ at: 50, text: "a" });
  assertEquals(lines(ring), ["a 0-50 x51"]);
});

Deno.test("a ring holds the repetitions of each lane apart, and its lines stay in the order of their times", () => {
  const ring = new Ring(RULES);
  const add = (at: number, lane: string, text: string) => ring.add({ at, lane, text });
  [0, 1, 2, 3].forEach((at) => add(at, at % 2 === 0 ? "poll" : "tick", at % 2 === 0 ? "p" : "t"));
  assertEquals(lines(ring), ["p 0-2 x2", "t 1-3 x2"]);
  add(4, "poll", "q");
  add(5, "tick", "t");
  assertEquals(lines(ring), ["p 0-2 x2", "t 1-3 x2", "q 4-4 x1", "t 5-5 x1"]);
});

Deno.test("a ring reads the same whenever it is packed", () => {
  const texts = "abbacadaabacadaefgaabcabcaaabdeeabcdefgabcdefg";
  const often = new Ring(RULES);
  texts.split("").forEach((text, at) => {
    often.add({ at, text });
    if (at % 3 === 0) often.pack();
  });
  assertEquals(lines(often), lines(ringOf(texts)));
});

Deno.test("a ring keeps so many bytes and lines and no more, the newest of them", () => {
  const texts = "ab".repeat(500);
  for (const limit of [{ maxBytes: 300 }, { maxLines: 40 }]) {
    const ring = ringOf("", limit);
    texts.split("").forEach((text, at) => {
      ring.add({ at, text });
      if (at % 5 === 0) ring.pack();
    });
    ring.pack();
    const kept = lines(ring);
    assert(kept.length >= 12 && kept.length <= 48, `${kept.length}`);
    assertEquals(kept.at(-1), "b 999-999 x1");
    assert(ring.packedBytes <= 1000);
  }
  assertEquals(lines(ringOf(texts)).length, 41);
});

Deno.test("a ring gives up what is too old, and says when nothing is left", () => {
  const ring = ringOf("abc");
  ring.pack();
  assertEquals([ring.expire(101), lines(ring)], [true, ["a 0-0 x1", "b 1-1 x1", "c 2-2 x1"]]);
  assertEquals([ring.expire(102), lines(ring)], [true, ["c 2-2 x1"]]);
  assertEquals([ring.expire(103), ring.findNewest()], [false, null]);
});

const HOLD: ContainerDecision = {
  autoscaler: "uid",
  container: "main",
  decision: { kind: "hold", reason: "InBand", message: "in band" },
  candidates: [],
  isNewSample: true,
};
const BLOCKED: ContainerDecision = {
  ...HOLD,
  decision: { kind: "blocked", action: "scaleUp", reason: "Cooldown", message: "" },
};
const RESIZE: ContainerDecision = {
  ...HOLD,
  decision: { kind: "resize", action: "scaleUp", from: SIZE, to: SIZE },
};

function record(...decisions: readonly ContainerDecision[]): EvaluationRecord {
  return toRecord(evaluation({ outcome: { decisions } }));
}

function with_(outcome: Partial<SizeOutcome>): EvaluationRecord {
  return toRecord(evaluation({ outcome: { decisions: [HOLD], ...outcome } }));
}

const other = { ...HOLD, container: "side" };
const PAIRS: Readonly<Record<string, readonly [EvaluationRecord, EvaluationRecord, Repetition]>> = {
  "the same decision with another message": [
    record(HOLD),
    record({ ...HOLD, decision: { kind: "hold", reason: "InBand", message: "still" }, isNewSample: false }),
    "repeats",
  ],
  "another reason": [
    record(HOLD),
    record({ ...HOLD, decision: { kind: "hold", reason: "Warmup", message: "" } }),
    "news",
  ],
  "another action": [
    record(BLOCKED),
    record({ ...BLOCKED, decision: { kind: "blocked", action: "scaleDown", reason: "Cooldown", message: "" } }),
    "news",
  ],
  "the same block again": [record(BLOCKED), record(BLOCKED), "repeats"],
  "one container more": [record(HOLD), record(HOLD, other), "news"],
  "another container": [record(HOLD), record(other), "news"],
  "a resize after a resize": [
    with_({ decisions: [RESIZE], request: request() }),
    with_({ decisions: [RESIZE], request: request() }),
    "news",
  ],
  "what follows something notable": [with_({ request: request() }), record(HOLD), "news"],
  "a resize that is in force": [
    record(HOLD),
    with_({ enacted: { autoscaler: "uid", action: "scaleUp", tookMs: 1 } }),
    "news",
  ],
  "a notice": [
    record(HOLD),
    with_({ notices: [{ autoscaler: "uid", name: "MetricsUnavailable", message: "" }] }),
    "news",
  ],
  "no decision": [record(HOLD), record(), "silent"],
};
for (const [sentence, [before, next, expected]] of Object.entries(PAIRS)) {
  Deno.test(`comparePods() finds ${expected} in ${sentence}`, () => assertEquals(comparePods(before, next), expected));
}

Deno.test("comparePods() finds news in an answer, and isBlocked() a block alone", () => {
  const answered = toRecord(evaluation({
    input: { observation: { kind: "answered", request: request(), answer: { kind: "gone" } } },
  }));
  assertEquals(comparePods(record(HOLD), answered), "news");
  assertEquals([record(BLOCKED), record(HOLD), record(RESIZE)].map(isBlocked), [true, false, false]);
});

Deno.test("compareReplicas() finds repetitions of each half, and news in a write and its answer", () => {
  const fold = createFold();
  const seen: string[] = [];
  const lanes = new Map<string, ReturnType<typeof toReplicasRecord>>();
  const note = (kind: "poll" | "tick", amount: number) => {
    const before = fold.state;
    const triggers = new Map([[0, value(amount)]]);
    const observation = { kind, scale: fold.scale, triggers, readyPods: fold.scale.replicas } as const;
    const input = { now: fold.now += 15 * SECOND, object: fold.object, observation, dryRun: false };
    const one = toReplicasRecord({ before, input, outcome: decideReplicas(before, input) });
    fold.see(observation);
    const lane = toLane(one);
    const last = lanes.get(lane);
    seen.push(`${lane} ${last === undefined ? "first" : compareReplicas(last, one)}`);
    lanes.set(lane, one);
  };
  fold.changed();
  for (let pass = 0; pass < 2; pass++) note("poll", 5), note("tick", 5);
  for (let pass = 0; pass < 3; pass++) note("poll", 35), note("tick", 35);
  const [first, ...rest] = [
    "poll first, tick first, poll repeats, tick repeats",
    "poll repeats, tick news",
    "poll news",
  ];
  assertEquals(seen.join(", "), [first, ...rest, "tick news, poll repeats, tick repeats"].join(", "));
});
