/**
 * Mutants that are made from the syntax of the functions which a clause's tests reach. A mutant that the clause's own
 * tests miss is shown to the tests of other clauses that come by: if one of them fails, it is theirs, and the next one is
 * tried; if none does, it has survived.
 */
import type { TreeCopy } from "../tree_copy.ts";
import { type Candidate, type Choice, chooseMutants, type CoveredTest } from "./choose.ts";
import { instrument } from "./instrument.ts";
import type { MutantJob, MutantRun } from "./runner.ts";
import { readSyntax, type Syntax } from "./syntax.ts";

export interface GeneratedVerdict {
  readonly clause: string;
  readonly candidate: Candidate;
  /** `elsewhere`: only tests of other clauses see it. */
  readonly kind: "killed" | "elsewhere" | "survived";
  /** The test that failed, and how. */
  readonly test: string;
  readonly why: string;
}

export interface GenerateOptions {
  /** Those to prove. */
  readonly asked: readonly string[];
  /** How many must be killed, by clause: of all clauses, as no two choose the same. */
  readonly needed: Readonly<Record<string, number>>;
  /** By path from the project's root. */
  readonly texts: ReadonlyMap<string, string>;
  readonly workers: readonly TreeCopy[];
  readonly signal: AbortSignal;
  readonly report: (verdict: GeneratedVerdict) => void;
  readonly shareOut: <Item>(
    items: readonly Item[],
    act: (item: Item, worker: TreeCopy) => Promise<void>,
  ) => Promise<void>;
}

/** What the tests run on, and not what they prove: wire types, and the cluster that is embedded. */
const NOT_MUTATED = /^lib\/(api|embedded)\//;
/** Their tests need a cluster, or prove no clause. */
const NOT_RUN = /^tests\/(e2e|tools|deploy|verify)\/|^tests\/[^\/]*$/;
/** Longer ones are run only for what the others miss. */
const SHORT_ROUNDS = 200_000;
/** A process loads the modules of so many test files. */
const FILES_AT_ONCE = 12;

/** How many mutants a clause may try. */
function countTries(needed: number): number {
  return needed === 0 ? 0 : needed * 4 + 12;
}

/** Leaves the copies' sources changed. */
export async function proveGenerated(options: GenerateOptions): Promise<void> {
  const { asked, needed, texts, workers } = options;
  const files = readFiles(texts);
  for (const copy of workers) await copy.write(instrumentAll(files, texts, null));
  const tests = await coverTests(options, files);
  const all = chooseMutants({
    clauses: Object.keys(needed),
    tests,
    candidates: files.flatMap(({ candidates }) => candidates),
    count: (clause) => countTries(needed[clause] ?? 0),
  });
  const choices = all.filter(({ clause, candidates }) => asked.includes(clause) && candidates.length > 0);
  const chosen = choices.flatMap(({ candidates }) => candidates);
  for (const copy of workers) await copy.write(instrumentAll(files, texts, chosen));
  await options.shareOut(choices, async (choice, copy) => {
    await proveClause(choice, tests, copy, options);
  });
}

interface SourceFile {
  readonly file: string;
  readonly syntax: Syntax;
  readonly firstBlock: number;
  readonly candidates: readonly Candidate[];
}

/** Blocks and mutants are numbered through all files. Of tests the loops alone count. */
function readFiles(texts: ReadonlyMap<string, string>): readonly SourceFile[] {
  const files: SourceFile[] = [];
  let [blocks, id] = [0, 0];
  for (const [file, text] of texts) {
    if (!/^(lib|tests)\/.*\.ts$/.test(file)) continue;
    const syntax = readSyntax(text);
    const isMutated = file.startsWith("lib/") && !NOT_MUTATED.test(file);
    const firstBlock = blocks;
    const candidates = (isMutated ? syntax.mutants : []).map((mutant) => ({
      id: id++,
      file,
      mutant,
      block: firstBlock + mutant.block,
    }));
    if (isMutated) blocks += syntax.blocks.length;
    files.push({ file, syntax: isMutated ? syntax : { ...syntax, blocks: [] }, firstBlock, candidates });
  }
  return files;
}

/** `chosen`: `null` = blocks are counted, and there are no mutants. */
function instrumentAll(
  files: readonly SourceFile[],
  texts: ReadonlyMap<string, string>,
  chosen: readonly Candidate[] | null,
): ReadonlyMap<string, string> {
  const byFile = Map.groupBy(chosen ?? [], ({ file }) => file);
  return new Map(files.map(({ file, syntax, firstBlock }) => [
    file,
    instrument(texts.get(file) ?? "", syntax, {
      firstBlock: chosen === null ? firstBlock : null,
      mutants: byFile.get(file) ?? [],
    }),
  ]));
}

type Test = CoveredTest & { readonly file: string; readonly ms: number };

/** Those that pass, and are not too long. */
async function coverTests(
  { texts, signal, shareOut }: GenerateOptions,
  files: readonly SourceFile[],
): Promise<readonly Test[]> {
  const last = files.at(-1);
  const blocks = last === undefined ? 0 : last.firstBlock + last.syntax.blocks.length;
  const named = [...texts].filter(([file]) => /^tests\/.*_test\.ts$/.test(file) && !NOT_RUN.test(file)).map(([file]) =>
    file
  );
  const chunks = [...named.keys()].filter((i) => i % FILES_AT_ONCE === 0)
    .map((i) => named.slice(i, i + FILES_AT_ONCE));
  const tests: Test[] = [];
  await shareOut(chunks, async (chunk, copy) => {
    const cover = async (files: readonly string[]) => await copy.runJob({ kind: "cover", files, blocks }, signal);
    const results = [...await cover(chunk)];
    // A test of too many rounds that catches its own end ends the process. Alone, it costs no file but its own.
    if (results.at(-1)?.kind !== "ended") {
      results.length = 0;
      for (const file of chunk) results.push(...await cover([file]));
    }
    for (const result of results) {
      if (result.kind === "fault") throw new Error(result.why);
      if (result.kind === "covered" && result.isPassed) tests.push(result);
    }
  });
  return tests;
}

async function proveClause(
  { clause, candidates }: Choice,
  tests: readonly Test[],
  copy: TreeCopy,
  { needed, signal, report }: GenerateOptions,
): Promise<void> {
  const isOwn = ({ clauses }: Test) => clauses.includes(clause);
  const own = new Set(tests.filter((test) => isOwn(test) && test.rounds <= SHORT_ROUNDS));
  const need = needed[clause] ?? 0;
  const first = await runMutants(candidates, { need, tests: [...own] }, copy, signal);
  const missed = candidates.filter(({ id }) => first.get(id)?.kind === "missed");
  const others = tests.filter((test) => !own.has(test));
  const second = await runMutants(missed, { need: missed.length, tests: others }, copy, signal);
  const byKey = new Map(tests.map((test) => [test.key, test]));
  for (const candidate of candidates) {
    const outcome = second.get(candidate.id) ?? first.get(candidate.id);
    if (outcome === undefined) continue;
    const test = byKey.get(outcome.test);
    const isElsewhere = test !== undefined && !isOwn(test);
    const kind = outcome.kind === "missed" ? "survived" : isElsewhere ? "elsewhere" : "killed";
    report({ clause, candidate, kind, test: test?.key.split("\n")[1] ?? "", why: outcome.why });
  }
}

interface Outcome {
  readonly kind: "killed" | "missed";
  /** The key of the test that failed. */
  readonly test: string;
  readonly why: string;
}

/** By id, of those that were tried until so many were killed. */
async function runMutants(
  candidates: readonly Candidate[],
  { need, tests }: { readonly need: number; readonly tests: readonly Test[] },
  copy: TreeCopy,
  signal: AbortSignal,
): Promise<ReadonlyMap<number, Outcome>> {
  const outcomes = new Map<number, Outcome>();
  const byBlock = new Map<number, MutantRun["tests"]>();
  const runs = candidates.map(({ id, block }): MutantRun => {
    const entering = byBlock.get(block) ?? listEntering(block, tests);
    byBlock.set(block, entering);
    return { id, tests: entering };
  });
  let killed = 0;
  for (let waiting = runs; waiting.length > 0 && killed < need;) {
    const job: MutantJob = { kind: "mutants", runs: waiting, need: need - killed };
    const results = await copy.runJob(job, signal);
    const fault = results.find((result) => result.kind === "fault");
    if (fault !== undefined) throw new Error(fault.why);
    const [first] = waiting;
    for (const result of results) {
      if (result.kind !== "killed" && result.kind !== "missed") continue;
      outcomes.set(result.id, { kind: result.kind, test: result.test, why: result.why });
    }
    const last = results.filter(({ kind }) => kind !== "ended").at(-1);
    // What fails first in its process fails by itself, whatever it leaves behind. So does what ends its process.
    if (last?.kind === "begun") outcomes.set(last.id, { kind: "killed", test: "", why: "its process ended" });
    else if (last?.kind === "spoilt" && last.id === first?.id) outcomes.set(last.id, { ...last, kind: "killed" });
    else if (results.length === 0) throw new Error("Cannot run mutants: the process gave nothing");
    waiting = waiting.filter(({ id }) => !outcomes.has(id));
    killed = [...outcomes.values()].filter(({ kind }) => kind === "killed").length;
  }
  return outcomes;
}

/** Those that do the least first. */
function listEntering(block: number, tests: readonly Test[]): MutantRun["tests"] {
  return tests.filter(({ blocks }) => blocks.includes(block)).sort((a, b) => a.blocks.length - b.blocks.length)
    .map(({ file, key, rounds, ms }) => ({ file, key, rounds, ms }));
}
