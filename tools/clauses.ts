// deno-lint-ignore-file no-console
/**
 * Do tests prove every clause of the contract?   deno task clauses [--mutate | --mutate-written]
 *   [--unit | --cluster] [--tests-passed] [--only C33,C34] [--family C]
 *   without arguments: how many tests name each clause. It fails when a clause has none.
 *   --mutate: makes mutants in a copy of the project, and tests of the clause must fail.
 *             First each mutant that is written down in tests/mutations.ts, with the test that it names. Some need a real
 *             cluster (KUBECONFIG). The cluster's CRD is put right again after each.
 *             Then mutants that are made from the syntax of what the tests of a clause reach: see tools/mutants.
 *   --mutate-written: only those that are written down: some 6 minutes instead of 17
 *   --unit, --cluster: only the written mutants that need no cluster, or only those that do
 *   --tests-passed: all tests have just passed, as in CI. Those of the written mutants do not run without a mutant first,
 *             which takes a third of the time. It is then not checked that each of them names its clause
 *   --only, --family: these clauses, or those whose id begins with this letter
 */
import { kubectl } from "../tests/e2e/support/kubectl.ts";
import { MUTATIONS } from "../tests/mutations.ts";
import { GENERATED } from "../tests/mutations/generated.ts";
import { ACCEPTED_SURVIVORS } from "../tests/mutations/survivors.ts";
import { systemClock } from "../lib/runtime/clock.ts";
import { type ClauseOptions, readClauseOptions } from "./clause_options.ts";
import { listNamedClauses, readClauses } from "./contract.ts";
import { type GeneratedVerdict, proveGenerated } from "./mutants/generated.ts";
import {
  findTestFault,
  judgeMutant,
  needsCluster,
  type PlacedMutation,
  placeMutation,
  tally,
  type TestRun,
  type Verdict,
} from "./mutation.ts";
import { readSources, type SourceIndex } from "./source_index.ts";
import { TreeCopy } from "./tree_copy.ts";

const ROOT = new URL("../", import.meta.url);
const WORKERS = 2;
const UNIT_TIMEOUT_SECONDS = 60;
const E2E_TIMEOUT_SECONDS = 120;
/** An API server takes a changed CRD up a moment after it has accepted it. */
const CRD_SETTLES_MS = 3_000;

interface Mutant extends PlacedMutation {
  readonly clause: string;
  readonly breaks: string;
}

interface Judged {
  readonly clause: string;
  readonly verdict: Verdict;
}

/** The exit code. */
async function main(args: readonly string[]): Promise<number> {
  const clauses = await readClauses(ROOT);
  const options = readClauseOptions(args, clauses);
  if (options.mutants === "none") return await countTests(options.asked);
  const strays = [...Object.keys(MUTATIONS), ...Object.keys(GENERATED)].filter((clause) => !clauses.includes(clause));
  if (strays.length > 0) throw new Error(`Cannot find ${strays.join(", ")} of tests/mutations in the contract`);
  return await prove(options);
}

async function countTests(clauses: readonly string[]): Promise<number> {
  const named: string[] = [];
  for await (const file of listTestFiles(new URL("tests/", ROOT))) {
    named.push(...listNamedClauses(await Deno.readTextFile(file)));
  }
  const counts = clauses.map((clause) => ({ clause, count: named.filter((id) => id === clause).length }));
  for (const { clause, count } of counts) console.log(`${clause} ${count}`);
  const missing = counts.filter(({ count }) => count === 0);
  console.log(`clauses: ${clauses.length - missing.length} of ${clauses.length} named by tests`);
  return missing.length === 0 ? 0 : 1;
}

async function* listTestFiles(folder: URL): AsyncGenerator<URL> {
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (isDirectory) yield* listTestFiles(new URL(`${name}/`, folder));
    else if (name.endsWith("_test.ts")) yield new URL(name, folder);
  }
}

async function prove({ asked: clauses, mutants, testsPassed, place }: ClauseOptions): Promise<number> {
  const startMs = systemClock.monotonic();
  const index = await readSources(ROOT);
  const { placed, unfit } = placeAll(clauses, index);
  for (const { clause, breaks, verdict } of unfit) console.log(`BROKEN ${clause}: ${breaks} (${verdict.why})`);
  const chosen = placed.filter((one) => place === "any" || needsCluster(one) === (place === "cluster"));
  const written = [...unfit, ...await judgeAll(chosen, { testsPassed })];
  const generated = mutants === "all" ? await judgeGenerated(clauses, index) : [];
  const judged = [...written, ...generated];
  const count = (all: readonly Judged[], kind: Verdict["kind"]) =>
    all.filter(({ verdict }) => verdict.kind === kind).length;
  const without = clauses.filter((clause) => !judged.some((one) => one.clause === clause));
  // Some clauses have generated mutants alone.
  const due = mutants === "all" ? clauses : clauses.filter((clause) => !without.includes(clause));
  const { proven, killed, survived, skipped, broken } = tally(due, judged);
  if (without.length > 0) console.log(`without a mutation: ${without.join(", ")}`);
  if (skipped > 0) console.log(`${skipped} skipped: they need a real cluster, set KUBECONFIG`);
  if (broken > 0) console.log(`${broken} broken: they prove nothing`);
  console.log(
    `killed: ${count(written, "killed")} written down, ${count(generated, "killed")} generated; not counted: ` +
      `${count(generated, "elsewhere")} seen by other tests, ${count(generated, "accepted")} accepted survivors`,
  );
  console.log(`${judged.length} mutants in ${((systemClock.monotonic() - startMs) / 60_000).toFixed(1)} minutes`);
  console.log(`clauses: ${proven.length} of ${due.length}, mutants: ${killed} killed, ${survived} survived`);
  return proven.length === due.length ? 0 : 1;
}

interface Unfit {
  readonly clause: string;
  readonly breaks: string;
  readonly verdict: Extract<Verdict, { readonly kind: "broken" }>;
}

function placeAll(
  clauses: readonly string[],
  index: SourceIndex,
): { readonly placed: readonly Mutant[]; readonly unfit: readonly Unfit[] } {
  const mutants: Mutant[] = [];
  const unfit: Unfit[] = [];
  for (const clause of clauses) {
    for (const mutation of MUTATIONS[clause] ?? []) {
      const { breaks } = mutation;
      const placed = placeMutation(mutation, index);
      if ("fault" in placed) unfit.push({ clause, breaks, verdict: { kind: "broken", why: placed.fault } });
      else mutants.push({ clause, breaks, ...placed });
    }
  }
  return { placed: mutants, unfit };
}

async function judgeAll(
  mutants: readonly Mutant[],
  { testsPassed }: Pick<ClauseOptions, "testsPassed">,
): Promise<readonly Judged[]> {
  using interrupt = listenForSignals();
  await using copies = new AsyncDisposableStack();
  const workers: TreeCopy[] = [];
  for (let i = 0; i < WORKERS; i++) workers.push(copies.use(await TreeCopy.create(ROOT)));
  const kubeconfig = Deno.env.get("KUBECONFIG") || null;
  const { signal } = interrupt;
  const judged: Judged[] = [];
  const report = (mutant: Mutant, verdict: Verdict) => {
    judged.push({ clause: mutant.clause, verdict });
    console.log(describe(mutant, verdict));
  };
  const unit = mutants.filter((mutant) => !needsCluster(mutant));
  const proofs = testsPassed ? null : await runTestsOf(unit, { workers, kubeconfig: null, signal });
  await shareOut(unit, workers, async (mutant, copy) => {
    report(mutant, await judge(mutant, { copy, proofs, kubeconfig: null, signal }));
  });
  const real = mutants.filter(needsCluster);
  if (kubeconfig === null) { for (const mutant of real) report(mutant, { kind: "skipped" }); }
  else {
    // One at a time: they share the cluster.
    const alone = workers.slice(0, 1);
    const proofs = testsPassed ? null : await runTestsOf(real, { workers: alone, kubeconfig, signal });
    await shareOut(real, alone, async (mutant, copy) => {
      report(mutant, await judge(mutant, { copy, proofs, kubeconfig, signal }));
    });
  }
  return judged;
}

/** A clause that lacks some of the number in tests/mutations/generated.ts is not proven. */
async function judgeGenerated(clauses: readonly string[], { texts }: SourceIndex): Promise<readonly Judged[]> {
  using interrupt = listenForSignals();
  await using copies = new AsyncDisposableStack();
  const workers: TreeCopy[] = [];
  for (let i = 0; i < WORKERS; i++) workers.push(copies.use(await TreeCopy.create(ROOT)));
  const judged: Judged[] = [];
  await proveGenerated({
    asked: clauses,
    needed: GENERATED,
    texts,
    workers,
    signal: interrupt.signal,
    shareOut: (items, act) => shareOut(items, workers, act),
    report: (result) => {
      const isAccepted = result.kind === "survived" && Object.hasOwn(ACCEPTED_SURVIVORS, result.candidate.mutant.key);
      const kind = isAccepted ? "accepted" : result.kind;
      judged.push({ clause: result.clause, verdict: { kind } });
      console.log(describeGenerated(result, kind));
    },
  });
  for (const clause of clauses) {
    const killed = judged.filter((one) => one.clause === clause && one.verdict.kind === "killed").length;
    const wanted = GENERATED[clause] ?? 0;
    if (killed >= wanted) continue;
    const why = `${killed} of ${wanted} generated mutants are killed, and there are no more to try`;
    judged.push({ clause, verdict: { kind: "broken", why } });
    console.log(`BROKEN ${clause}: ${why}`);
  }
  return judged;
}

function describeGenerated({ candidate, clause, test, why }: GeneratedVerdict, kind: Verdict["kind"]): string {
  const { file, mutant } = candidate;
  const code = mutant.code.replace(/\s+/g, " ");
  const what = `${clause} ${file}:${mutant.line} ${mutant.key}${code === "" ? "" : ` -> ${code}`}`;
  return kind === "survived" ? `SURVIVED ${what}` : `${kind} ${what}${test === "" ? "" : ` (${test}: ${why})`}`;
}

interface Running {
  readonly kubeconfig: string | null;
  readonly signal: AbortSignal;
}

/** By test file: how its tests ran without any mutation. */
type Proofs = ReadonlyMap<string, TestRun>;

/** Runs the tests that the mutants name, without any mutation. */
async function runTestsOf(
  mutants: readonly Mutant[],
  { workers, ...running }: Running & { readonly workers: readonly TreeCopy[] },
): Promise<Proofs> {
  const runs = new Map<string, TestRun>();
  const byFile = Map.groupBy(mutants, ({ testFile }) => testFile);
  await shareOut([...byFile], workers, async ([testFile, ofFile], copy) => {
    const tests = [...new Set(ofFile.map(({ test }) => test))];
    runs.set(testFile, await copy.runTests({ testFile, tests, ...running, timeoutSeconds: readTimeout(running) }));
  });
  return runs;
}

async function judge(
  mutant: Mutant,
  { copy, proofs, ...running }: Running & { readonly copy: TreeCopy; readonly proofs: Proofs | null },
): Promise<Verdict> {
  const { clause, file, test, testFile } = mutant;
  if (proofs !== null) {
    const fault = findTestFault(mutant, clause, proofs.get(testFile) ?? { fault: "it was not run" });
    if (fault !== null) return { kind: "broken", why: fault };
  }
  const run = await copy.whileChanged(mutant, async () => {
    await using _crds = file.startsWith("crds/") && needsCluster(mutant) ? await applyCrds(copy.root) : null;
    return await copy.runTests({ testFile, tests: [test], ...running, timeoutSeconds: readTimeout(running) });
  });
  return judgeMutant(mutant, run);
}

function readTimeout({ kubeconfig }: Running): number {
  return kubeconfig === null ? UNIT_TIMEOUT_SECONDS : E2E_TIMEOUT_SECONDS;
}

/** The copy's CRD in the cluster, until it is disposed of. */
async function applyCrds(root: string): Promise<AsyncDisposable> {
  const apply = async (folder: string) => {
    await kubectl(["apply", "-f", folder]);
    await systemClock.sleep(CRD_SETTLES_MS);
  };
  const putRight = { [Symbol.asyncDispose]: () => apply(new URL("crds/", ROOT).pathname) };
  try {
    await apply(`${root}/crds/`);
    return putRight;
  } catch (error) {
    await putRight[Symbol.asyncDispose]();
    throw error;
  }
}

/** Each worker takes the next item as soon as it is free. */
async function shareOut<Item, Worker>(
  items: readonly Item[],
  workers: readonly Worker[],
  act: (item: Item, worker: Worker) => Promise<void>,
): Promise<void> {
  const queue = items.values();
  const work = async (worker: Worker) => {
    for (const item of queue) await act(item, worker);
  };
  const ended = await Promise.allSettled(workers.map(work));
  for (const one of ended) if (one.status === "rejected") throw one.reason;
}

function describe({ clause, breaks, file, testFile, test }: Mutant, verdict: Verdict): string {
  const what = `${clause} ${file}: ${breaks}`;
  switch (verdict.kind) {
    case "killed":
      return `killed ${what}`;
    case "survived":
      return `SURVIVED ${what} (tests/${testFile}: ${test})`;
    case "skipped":
    case "accepted":
    case "elsewhere":
      return `${verdict.kind} ${what}`;
    case "broken":
      return `BROKEN ${what} (${verdict.why})`;
  }
}

/** The run ends early, but files and cluster are put right first. */
function listenForSignals(): { readonly signal: AbortSignal } & Disposable {
  const ending = new AbortController();
  const onSignal = () => ending.abort(new Error("Interrupted"));
  const signals = ["SIGTERM", "SIGINT"] as const;
  for (const name of signals) Deno.addSignalListener(name, onSignal);
  return {
    signal: ending.signal,
    [Symbol.dispose]() {
      for (const name of signals) Deno.removeSignalListener(name, onSignal);
    },
  };
}

if (import.meta.main) {
  try {
    Deno.exitCode = await main(Deno.args);
  } catch (error) {
    console.log(error instanceof Error ? error.message : error);
    Deno.exitCode = 1;
  }
}
