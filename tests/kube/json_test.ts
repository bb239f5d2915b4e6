/** Large JSON is parsed in pieces, and the result is that of JSON.parse. Counted in what JSON.parse gets. */
import { assert, assertEquals, assertRejects } from "#assert";
import fc from "fast-check";
import { parseJson } from "../../lib/kube/json.ts";
import type { RunQueued } from "../../lib/runtime/event_loop.ts";

const PIECE = 64 * 1024;

// deno-lint-ignore require-await
const atOnce: RunQueued = async (job) => job();

/** Runs the function and returns its result with the lengths of the texts that JSON.parse got in each job. */
async function recordParses<T>(call: (run: RunQueued) => Promise<T>) {
  const native = JSON.parse;
  const jobs: number[] = [];
  JSON.parse = (text, reviver) => {
    jobs[jobs.length - 1] = (jobs.at(-1) ?? 0) + text.length;
    return native(text, reviver);
  };
  try {
    // deno-lint-ignore require-await
    const result = await call(async (job) => {
      jobs.push(0);
      return job();
    });
    return { result, jobs };
  } finally {
    JSON.parse = native;
  }
}

const LARGE: Record<string, unknown> = {
  "a string": "x".repeat(1_500_000),
  "a string of escapes": '\\"\n\u0001\ud83d\ude00'.repeat(100_000),
  "an array of small values": Array.from({ length: 100_000 }, (_, index) => index),
  "an array of empty arrays": Array.from({ length: 300_000 }, () => []),
  "an object of many members": Object.fromEntries(Array.from({ length: 50_000 }, (_, i) => [`key-${i}`, { i }])),
  "a large value among small ones": { a: 1, b: { c: [1, "x".repeat(200_000), { d: null }] }, e: "}", f: [] },
  "a large key": { ["k".repeat(100_000)]: 1, b: 2 },
  "members that nearly fill a piece": Array.from({ length: 20 }, () => "y".repeat(PIECE - 3)),
};

Deno.test("parseJson() gives what JSON.parse gives, and hands it at most 64 KiB in one job", async (t) => {
  for (const [name, value] of Object.entries(LARGE)) {
    for (const space of [undefined, 1]) {
      await t.step(`${name}${space === undefined ? "" : ", indented"}`, async () => {
        const text = JSON.stringify(value, null, space);
        assert(text.length > PIECE);
        const { result, jobs } = await recordParses((run) => parseJson(text, { run }));
        assertEquals(JSON.stringify(result), JSON.stringify(value));
        const most = Math.max(...jobs);
        assert(most <= PIECE + 2, `JSON.parse got ${most} characters in one job`);
      });
    }
  }
});

Deno.test("parseJson() makes an own property of __proto__, as JSON.parse does", async () => {
  const text = `{"__proto__": {"a": 1}, "b": "${"x".repeat(PIECE)}", "__proto__": {"a": "${"y".repeat(PIECE)}"}}`;
  const result = await parseJson(text, { run: atOnce }) as object;
  assertEquals(Object.getPrototypeOf(result), Object.prototype);
  assertEquals(Object.keys(result), Object.keys(JSON.parse(text)));
});

const filler = fc.integer({ min: 0, max: 3 }).map((count) => "z".repeat(count * 30_000));

Deno.test("parseJson() gives what JSON.parse gives for random values of all sizes", async () => {
  const value = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      fc.oneof(fc.string({ unit: "binary" }), filler, fc.double({ noNaN: true }), fc.boolean(), fc.constant(null)),
      fc.array(tie("value"), { maxLength: 6 }),
      fc.dictionary(fc.string(), tie("value"), { maxKeys: 6 }),
    ),
  })).value;
  await fc.assert(
    fc.asyncProperty(value, filler, fc.constantFrom(undefined, 1, 8), async (one, more, space) => {
      const text = JSON.stringify([more, one, { one, more }], null, space);
      assertEquals(JSON.stringify(await parseJson(text, { run: atOnce })), JSON.stringify(JSON.parse(text)));
    }),
    { numRuns: 200 },
  );
});

Deno.test("parseJson() rejects what JSON.parse rejects, after a bounded number of steps", async () => {
  const text = JSON.stringify({
    a: "x".repeat(70_000),
    b: [1, { c: "y".repeat(70_000) }, 2],
    d: Array(40_000).fill(0),
  });
  const changes = fc.tuple(
    fc.oneof(fc.nat(text.length - 1), fc.constantFrom(0, 5, 70_006, 70_013, 70_016, 140_030, text.length - 1)),
    fc.constantFrom("", ",", "}", "]", "{", "[", '"', ":", "\\", "x", " "),
    fc.nat(1),
  );
  await fc.assert(
    fc.asyncProperty(changes, async ([at, by, cut]) => {
      const broken = text.slice(0, at) + by + text.slice(at + cut);
      let expected: unknown;
      try {
        expected = JSON.parse(broken);
      } catch {
        await assertRejects(() => parseJson(broken, { run: atOnce }), SyntaxError);
        return;
      }
      assertEquals(JSON.stringify(await parseJson(broken, { run: atOnce })), JSON.stringify(expected));
    }),
    { numRuns: 150 },
  );
});

Deno.test("parseJson() gives null for a large value within more than 32 others, and the rest as JSON.parse gives it", async () => {
  const inner = `[{"\\"]": "${"x".repeat(2 * PIECE)}\\\\", "b": ["]", {}]}, 1]`;
  const text = `[${'{"a":'.repeat(40)}${inner}${"}".repeat(40)}, {"b": 2}]`;
  assertEquals(JSON.parse(text)[1], { b: 2 });
  let [at, after] = await parseJson(text, { run: atOnce }) as [Record<string, unknown> | null, unknown];
  let depth = 0;
  while (at !== null) {
    at = at["a"] as typeof at;
    depth++;
  }
  assertEquals([depth, after], [32, { b: 2 }]);
  const open = '{"a":'.repeat(40) + `["${"x".repeat(2 * PIECE)}"`;
  await assertRejects(() => parseJson(open, { run: atOnce }), SyntaxError, "Unexpected end of the text");
});
