/**
 * A mutation is one plausible slip in one function, and the test that must notice it. Here is judged, without running
 * anything, what a mutation comes to: applied to the project's sources, held against the run of its test. Pure.
 */
import { findClauses } from "./contract.ts";
import type { Place, SourceIndex } from "./source_index.ts";
import { listSteps, type TestOutcomes } from "./test_results.ts";

export type Mutation = Slip & (InDeclaration | InFile);

interface Slip {
  /** What is wrong then, in a few words. */
  readonly breaks: string;
  readonly find: string;
  readonly replace: string;
  /** The whole name of a test; it, or a step's, names the clause. */
  readonly test: string;
  /** Below tests/, e.g. `core/size/size_test.ts`. Needed only where several files have a test of this name. */
  readonly testFile?: string;
}

/** `find` occurs once there, whatever the white space; a word of it is a whole word. */
interface InDeclaration {
  /** A top-level function or constant of lib, or a member of a class: `delayed`, `Recorder.publish`. */
  readonly in: string;
  /** Its file or folder. Needed only where lib has several of this name, and `find` occurs in more than one of them. */
  readonly under?: string;
}

/** `find` occurs once there, letter for letter. */
interface InFile {
  /** A file that is not TypeScript, e.g. `deploy/install.yaml`. */
  readonly file: string;
}

/** By clause. */
export type Mutations = Readonly<Record<string, readonly Mutation[]>>;

/** A mutation as it fits the project now. */
export interface PlacedMutation {
  readonly file: string;
  /** The file's text with the slip in it. */
  readonly text: string;
  readonly test: string;
  /** Below tests/. */
  readonly testFile: string;
}

/**
 * `broken`: it proves nothing, `why` says what to put right. `skipped`: it needs a cluster, and there is none. Of generated
 * ones alone: `elsewhere`: only other tests than the clause's notice it; `accepted`: it survived, and a reason is given.
 */
export type Verdict =
  | { readonly kind: "killed" | "survived" | "skipped" | "elsewhere" | "accepted" }
  | { readonly kind: "broken"; readonly why: string };

/** What a run of tests gave: outcomes, or why there are none. */
export type TestRun = { readonly outcomes: TestOutcomes } | Fault;

export interface Fault {
  readonly fault: string;
}

/** Finds the file that a mutation is in and the file of its test, or says why it does not fit. */
export function placeMutation(mutation: Mutation, index: SourceIndex): PlacedMutation | Fault {
  const place = findPlace(mutation, index);
  if ("fault" in place) return place;
  const { find, replace, test } = mutation;
  if (find === replace) return { fault: "it changes nothing" };
  const testFile = findTestFile(mutation, index);
  if (typeof testFile !== "string") return testFile;
  const text = index.texts.get(place.file) ?? "";
  return { file: place.file, text: text.slice(0, place.start) + replace + text.slice(place.end), test, testFile };
}

/** Where `find` stands: at one place of one declaration. */
function findPlace(mutation: Mutation, index: SourceIndex): Place | Fault {
  const { find } = mutation;
  const around = "in" in mutation ? listDeclarations(mutation, index) : findFile(mutation, index);
  if ("fault" in around) return around;
  const pattern = "in" in mutation ? toPattern(find) : new RegExp(RegExp.escape(find), "g");
  const found = find.trim() === "" ? [] : around.flatMap((place) => listMatches(place, pattern, index));
  const [first] = found;
  if (first !== undefined && found.length === 1) return first;
  const files = [...new Set((found.length > 0 ? found : around).map(({ file }) => file))];
  const where = ("in" in mutation ? `"${mutation.in}" of ` : "") + files.join(", ");
  return { fault: `"${find}" ${found.length === 0 ? "does not occur" : `occurs ${found.length} times`} in ${where}` };
}

function listMatches({ file, start, end }: Place, pattern: RegExp, { texts }: SourceIndex): readonly Place[] {
  const matches = [...(texts.get(file) ?? "").slice(start, end).matchAll(pattern)];
  return matches.map(({ index, 0: { length } }) => ({ file, start: start + index, end: start + index + length }));
}

/** All of the name: which one is meant shows by `find`. */
function listDeclarations({ in: name, under }: InDeclaration, { declarations }: SourceIndex): readonly Place[] | Fault {
  const named = declarations.get(name) ?? [];
  if (named.length === 0) return { fault: `there is no function, method or constant "${name}" in lib` };
  // A hint that is not needed may be wrong, as the declaration may have been moved.
  const places = named.length > 1 && under !== undefined ? named.filter(({ file }) => isUnder(file, under)) : named;
  if (places.length > 0) return places;
  return { fault: `there is no "${name}" under ${under}, but in ${named.map(({ file }) => file).join(", ")}` };
}

function isUnder(file: string, under: string): boolean {
  return file === under || file.startsWith(`${under}/`);
}

function findFile({ file }: InFile, { texts }: SourceIndex): readonly Place[] | Fault {
  const text = texts.get(file);
  return text === undefined ? { fault: `there is no ${file}` } : [{ file, start: 0, end: text.length }];
}

/**
 * Matches code however it is laid out: between two words may be any white space, elsewhere any or none, and a comma may
 * precede a closing bracket.
 */
function toPattern(find: string): RegExp {
  const tokens = find.match(/[\w$]+|[^\w$\s]/g) ?? [];
  const parts = tokens.map((token, at) => {
    const before = tokens[at - 1];
    if (before === undefined) return RegExp.escape(token);
    const space = isWord(before) && isWord(token) ? "\\s+" : "\\s*";
    const comma = before !== "," && /[)}\]]/.test(token) ? "(?:,\\s*)?" : "";
    return space + comma + RegExp.escape(token);
  });
  const start = isWord(tokens[0]) ? "(?<![\\w$])" : "";
  const end = isWord(tokens.at(-1)) ? "(?![\\w$])" : "";
  return new RegExp(start + parts.join("") + end, "g");
}

function isWord(token: string | undefined): boolean {
  return token !== undefined && /^[\w$]/.test(token);
}

/** Below tests/. */
function findTestFile({ test, testFile }: Slip, { tests }: SourceIndex): string | Fault {
  const matching = tests.filter(({ pattern }) => pattern.test(test));
  // A name in full counts before one that a table fills in.
  const exact = matching.filter(({ isExact }) => isExact);
  const files = [...new Set((exact.length > 0 ? exact : matching).map(({ file }) => file))];
  const [first] = files;
  if (first === undefined) return { fault: `there is no test "${test}"` };
  if (files.length === 1) return first;
  if (testFile !== undefined && files.includes(testFile)) return testFile;
  return { fault: `test "${test}" stands in several files, say in which: ${files.join(", ")}` };
}

/** Why the test proves nothing, as it runs without any mutation; `null` = it does. */
export function findTestFault(
  { test, testFile }: Pick<PlacedMutation, "test" | "testFile">,
  clause: string,
  run: TestRun,
): string | null {
  if ("fault" in run) return run.fault;
  const outcome = run.outcomes.get(test);
  if (outcome === undefined) return `tests/${testFile} has no test "${test}"`;
  if (outcome !== "passed") return `without it "${test}" is not passed but ${outcome}`;
  const names = [test, ...listSteps(run.outcomes, test)];
  return names.some((name) => findClauses(name).includes(clause)) ? null : `"${test}" does not name ${clause}`;
}

/** By the run of its test with the mutation applied. */
export function judgeMutant({ test }: Pick<PlacedMutation, "test">, run: TestRun): Verdict {
  if ("fault" in run) return { kind: "broken", why: run.fault };
  const outcome = run.outcomes.get(test);
  if (outcome === "failed") return { kind: "killed" };
  if (outcome === "passed") return { kind: "survived" };
  return { kind: "broken", why: `its test is ${outcome ?? "not there"}, neither passed nor failed` };
}

/** Whether the mutant lives in, or is seen by, a real cluster. */
export function needsCluster({ testFile }: Pick<PlacedMutation, "testFile">): boolean {
  return testFile.startsWith("e2e/");
}

export interface Tally {
  /** Clauses of which a mutant was killed and none survived, was skipped or is broken. */
  readonly proven: readonly string[];
  readonly killed: number;
  readonly survived: number;
  readonly skipped: number;
  readonly broken: number;
}

export function tally(clauses: readonly string[], verdicts: readonly { clause: string; verdict: Verdict }[]): Tally {
  const count = (kind: Verdict["kind"]) => verdicts.filter(({ verdict }) => verdict.kind === kind).length;
  const proven = clauses.filter((clause) => {
    const own = verdicts.filter((one) => one.clause === clause);
    const kinds = new Set(own.map(({ verdict }) => verdict.kind));
    return kinds.has("killed") && !kinds.has("survived") && !kinds.has("skipped") && !kinds.has("broken");
  });
  const [killed, survived, skipped, broken] = [count("killed"), count("survived"), count("skipped"), count("broken")];
  return { proven, killed, survived, skipped, broken };
}
