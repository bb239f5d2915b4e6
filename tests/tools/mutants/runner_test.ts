/** A small project of its own, whose mutants are switched on by number and shown to its tests. */
import { assertEquals } from "#assert";
import type { CoverJob, MutantJob, Result } from "../../../tools/mutants/runner.ts";
import { TreeCopy } from "../../../tools/tree_copy.ts";

const ROOT = new URL("../../../", import.meta.url);

const IS_ON = "globalThis.podfitMutant ===";

const FILES: Readonly<Record<string, string>> = {
  "deno.json": '{ "permissions": { "test": { "read": true, "write": true } } }',
  "tests/support/setup.ts": "globalThis.isSetUp = true;\n",
  "lib/a.ts": `let spoilt = 0;
export function next(n: number): number {
  globalThis.podfitEnter?.(0);
  if (${IS_ON} 2) spoilt = 1;
  if (${IS_ON} 3) for (;;) { globalThis.podfitRound?.(); }
  if (${IS_ON} 4) for (;;) { try { globalThis.podfitRound?.(); } catch { /* goes on */ } }
  if (${IS_ON} 5) Deno.exit(0);
  if (n > 9) { globalThis.podfitEnter?.(1); return 0; }
  return (${IS_ON} 1 ? n : n + 1) + spoilt;
}
`,
  "tests/a_test.ts": `import { next } from "../lib/a.ts";
const expect = (is: boolean) => { if (!is) throw new Error("no"); };
Deno.test("next() counts up (C1)", () => expect(globalThis.isSetUp && next(1) === 2));
Deno.test({ name: "next() begins again", fn: async (t) => {
  await t.step("after nine (C2, C3)", () => expect(next(10) === 0));
} });
Deno.test("next() fails (C4)", async (t) => { await t.step("in a step", () => expect(next(1) === 3)); });
Deno.test.ignore("next() is ignored (C5)", () => {});`,
  "tests/endless_test.ts": `Deno.test("goes on for ever", () => {
  for (;;) { try { globalThis.podfitRound?.(); } catch { /* goes on */ } }
});`,
  "tests/busy_test.ts": `for (let i = 0; i < 1_000_000; i++) globalThis.podfitRound?.();
Deno.test("works while it loads", () => {});`,
};

async function run(job: CoverJob | MutantJob): Promise<readonly Result[]> {
  const source = await Deno.makeTempDir();
  try {
    const tools = ["tools/mutants/runner.ts", "tools/contract.ts"];
    const texts = await Promise.all(tools.map((file) => Deno.readTextFile(new URL(file, ROOT))));
    const all = [...Object.entries(FILES), ...tools.map((file, i) => [file, texts[i] ?? ""] as const)];
    for (const [file, text] of all) {
      await Deno.mkdir(`${source}/${file}`.replace(/\/[^/]*$/, ""), { recursive: true });
      await Deno.writeTextFile(`${source}/${file}`, text);
    }
    await using copy = await TreeCopy.create(new URL(`file://${source}/`));
    return await copy.runJob(job, new AbortController().signal);
  } finally {
    await Deno.remove(source, { recursive: true });
  }
}

const COUNTS_UP = "tests/a_test.ts\nnext() counts up (C1)";
const BEGINS = "tests/a_test.ts\nnext() begins again";

const toJob = (ids: readonly number[], need = 9): MutantJob => ({
  kind: "mutants",
  need,
  runs: ids.map((id) => ({
    id,
    tests: [BEGINS, COUNTS_UP].map((key) => ({ file: "tests/a_test.ts", key, rounds: 0, ms: 1 })),
  })),
});

const describe = (results: readonly Result[]) =>
  results.map((result) => {
    if (result.kind === "ended") return "ended";
    if (result.kind === "begun") return `begun ${result.id}`;
    return "id" in result ? `${result.kind} ${result.id}: ${result.test.split("\n")[1] ?? ""}` : result.kind;
  });

Deno.test("a job that covers says of each test which clauses it names, which blocks it enters, and whether it passes", async () => {
  const results = await run({ kind: "cover", files: ["tests/a_test.ts"], blocks: 2 });
  const found = results.map((one) =>
    one.kind === "covered"
      ? { key: one.key, clauses: one.clauses, isPassed: one.isPassed, blocks: one.blocks }
      : one.kind
  );
  assertEquals(found, [
    { key: COUNTS_UP, clauses: ["C1"], isPassed: true, blocks: [0] },
    { key: BEGINS, clauses: ["C2", "C3"], isPassed: true, blocks: [0, 1] },
    { key: "tests/a_test.ts\nnext() fails (C4)", clauses: ["C4"], isPassed: false, blocks: [0] },
    "ended",
  ]);
});

Deno.test("a job that covers ends at a test that catches its own end, with what came before it", async () => {
  const results = await run({ kind: "cover", files: ["tests/a_test.ts", "tests/endless_test.ts"], blocks: 2 });
  assertEquals(results.map((one) => one.kind === "covered" ? one.file : one.kind), Array(3).fill("tests/a_test.ts"));
});

Deno.test("a job with mutants says which a test notices, and which none", async () => {
  assertEquals(describe(await run(toJob([0, 1, 7]))), [
    "begun 0",
    "missed 0: ",
    "begun 1",
    "killed 1: next() counts up (C1)",
    "begun 7",
    "missed 7: ",
    "ended",
  ]);
});

Deno.test("a job ends when enough mutants are killed", async () => {
  assertEquals(describe(await run(toJob([1, 7], 1))), ["begun 1", "killed 1: next() counts up (C1)", "ended"]);
});

Deno.test("a job ends after what spoils the next run, what catches its own end, and what ends the process; not after a mere loop", async () => {
  assertEquals(describe(await run(toJob([2, 1]))), ["begun 2", "spoilt 2: next() counts up (C1)", "ended"]);
  assertEquals(describe(await run(toJob([3, 1]))), [
    "begun 3",
    "killed 3: next() begins again",
    "begun 1",
    "killed 1: next() counts up (C1)",
    "ended",
  ]);
  assertEquals(describe(await run(toJob([4, 1]))), ["begun 4", "killed 4: next() begins again"]);
  assertEquals(describe(await run(toJob([5, 1]))), ["begun 5"]);
});

Deno.test("a file that works while it loads is not held to the limit of the test before it", async () => {
  const job = toJob([0]);
  const busy = { file: "tests/busy_test.ts", key: "tests/busy_test.ts\nworks while it loads", rounds: 0, ms: 1 };
  const runs = job.runs.map(({ id, tests }) => ({ id, tests: [...tests, busy] }));
  assertEquals(describe(await run({ ...job, runs })), ["begun 0", "missed 0: ", "ended"]);
});

Deno.test("a job that names a test or a file that is not there has a fault", async () => {
  const job = toJob([1]);
  const missing = { ...job, runs: [{ id: 1, tests: [{ file: "tests/a_test.ts", key: "gone", rounds: 0, ms: 1 }] }] };
  assertEquals((await run(missing)).at(-1), { kind: "fault", why: 'Cannot find test "gone"' });
  const [fault] = await run({ kind: "cover", files: ["tests/gone_test.ts"], blocks: 2 });
  assertEquals(fault?.kind, "fault");
});
