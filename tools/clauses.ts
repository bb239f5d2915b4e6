// deno-lint-ignore-file no-console
/**
 * Is every clause of the contract proven by tests?   deno task clauses [--mutate] [--only C33]
 *   without flag: how many tests name each clause; fails when one has none
 *   --mutate: makes each slip of tests/mutations.ts in a copy of the project, and the test that it names must fail.
 *             Slips that only a real cluster can see need KUBECONFIG; the cluster's CRD is put right again after each
 */
import { kubectl } from "../tests/e2e/support/kubectl.ts";
import { MUTATIONS } from "../tests/mutations.ts";
import { systemClock } from "../lib/runtime/clock.ts";
import { listClauses, listNamedClauses } from "./contract.ts";
import {
  findTestFault,
  judgeMutant,
  type Mutation,
  needsCluster,
  tally,
  type TestRun,
  type Verdict,
} from "./mutation.ts";
import { TreeCopy } from "./tree_copy.ts";

const ROOT = new URL("../", import.meta.url);
const WORKERS = 2;
const UNIT_TIMEOUT_SECONDS = 60;
const E2E_TIMEOUT_SECONDS = 120;
/** An API server takes a changed CRD up a moment after it has accepted it. */
const CRD_SETTLES_MS = 3_000;

interface Mutant {
  readonly clause: string;
  readonly mutation: Mutation;
}

interface Judged extends Mutant {
  readonly verdict: Verdict;
}

/** The exit code. */
async function main(args: readonly string[]): Promise<number> {
  const clauses = listClauses(await Deno.readTextFile(new URL("docs/contract.md", ROOT)));
  const only = readOnly(args);
  if (clauses.length === 0 || (only !== null && !clauses.includes(only))) {
    throw new Error(`Cannot find ${only ?? "any clause"} in docs/contract.md`);
  }
  const asked = only === null ? clauses : [only];
  if (!args.includes("--mutate")) return await countTests(asked);
  const strays = Object.keys(MUTATIONS).filter((clause) => !clauses.includes(clause));
  if (strays.length > 0) throw new Error(`Cannot find ${strays.join(", ")} of tests/mutations.ts in docs/contract.md`);
  return await prove(asked);
}

function readOnly(args: readonly string[]): string | null {
  const at = args.indexOf("--only");
  const known = args.every((arg, index) => arg === "--mutate" || arg === "--only" || (at >= 0 && index === at + 1));
  const only = at < 0 ? null : args[at + 1];
  if (!known || only === undefined) throw new Error("Cannot read the arguments: [--mutate] [--only C33]");
  return only;
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

async function prove(clauses: readonly string[]): Promise<number> {
  const startMs = systemClock.monotonic();
  const mutants = clauses.flatMap((clause) => (MUTATIONS[clause] ?? []).map((mutation) => ({ clause, mutation })));
  const judged = await judgeAll(mutants);
  const { proven, killed, survived, skipped, broken } = tally(clauses, judged);
  const without = clauses.filter((clause) => !mutants.some((mutant) => mutant.clause === clause));
  if (without.length > 0) console.log(`without a mutation: ${without.join(", ")}`);
  if (skipped > 0) console.log(`${skipped} skipped: they need a real cluster, set KUBECONFIG`);
  if (broken > 0) console.log(`${broken} broken: they prove nothing`);
  console.log(`${mutants.length} mutants in ${((systemClock.monotonic() - startMs) / 60_000).toFixed(1)} minutes`);
  console.log(`clauses: ${proven.length} of ${clauses.length}, mutants: ${killed} killed, ${survived} survived`);
  return proven.length === clauses.length ? 0 : 1;
}

async function judgeAll(mutants: readonly Mutant[]): Promise<readonly Judged[]> {
  using interrupt = listenForSignals();
  await using copies = new AsyncDisposableStack();
  const workers: TreeCopy[] = [];
  for (let i = 0; i < WORKERS; i++) workers.push(copies.use(await TreeCopy.create(ROOT)));
  const kubeconfig = Deno.env.get("KUBECONFIG") || null;
  const { signal } = interrupt;
  const judged: Judged[] = [];
  const tell = (mutant: Mutant, verdict: Verdict) => {
    judged.push({ ...mutant, verdict });
    console.log(describe(mutant, verdict));
  };
  const unit = mutants.filter(({ mutation }) => !needsCluster(mutation));
  const proofs = await runTestsOf(unit, { workers, kubeconfig: null, signal });
  await shareOut(unit, workers, async (mutant, copy) => {
    tell(mutant, await judge(mutant, { copy, proofs, kubeconfig: null, signal }));
  });
  const real = mutants.filter(({ mutation }) => needsCluster(mutation));
  if (kubeconfig === null) { for (const mutant of real) tell(mutant, { kind: "skipped" }); }
  else {
    // One at a time: they share the cluster.
    const alone = workers.slice(0, 1);
    const proofs = await runTestsOf(real, { workers: alone, kubeconfig, signal });
    await shareOut(real, alone, async (mutant, copy) => {
      tell(mutant, await judge(mutant, { copy, proofs, kubeconfig, signal }));
    });
  }
  return judged;
}

interface Running {
  readonly kubeconfig: string | null;
  readonly signal: AbortSignal;
}

/** By test file: how the named tests run without any mutation. */
async function runTestsOf(
  mutants: readonly Mutant[],
  { workers, ...running }: Running & { readonly workers: readonly TreeCopy[] },
): Promise<ReadonlyMap<string, TestRun>> {
  const runs = new Map<string, TestRun>();
  const byFile = Map.groupBy(mutants, ({ mutation }) => mutation.testFile);
  await shareOut([...byFile], workers, async ([testFile, ofFile], copy) => {
    const tests = [...new Set(ofFile.map(({ mutation }) => mutation.test))];
    runs.set(testFile, await copy.runTests({ testFile, tests, ...running, timeoutSeconds: readTimeout(running) }));
  });
  return runs;
}

async function judge(
  { clause, mutation }: Mutant,
  { copy, proofs, ...running }: Running & { readonly copy: TreeCopy; readonly proofs: ReadonlyMap<string, TestRun> },
): Promise<Verdict> {
  const fault = findTestFault(mutation, clause, proofs.get(mutation.testFile) ?? { fault: "it was not run" });
  if (fault !== null) return { kind: "broken", why: fault };
  const { testFile, test } = mutation;
  const run = await copy.whileMutated(mutation, async () => {
    await using _crds = mutation.file.startsWith("crds/") && needsCluster(mutation) ? await applyCrds(copy.root) : null;
    return await copy.runTests({ testFile, tests: [test], ...running, timeoutSeconds: readTimeout(running) });
  });
  return judgeMutant(mutation, run);
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

function describe({ clause, mutation }: Mutant, verdict: Verdict): string {
  const { file, breaks, testFile, test } = mutation;
  const what = `${clause} ${file}: ${breaks}`;
  switch (verdict.kind) {
    case "killed":
      return `killed ${what}`;
    case "survived":
      return `SURVIVED ${what} (tests/${testFile}: ${test})`;
    case "skipped":
      return `skipped ${what}`;
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
