/**
 * Runs tests of some files in this process, over and over: once to see which blocks they enter, or once per mutant. A new
 * process for each mutant would take a hundred times as long.   deno run runner.ts JOB.json RESULTS.jsonl
 *
 * Each test runs without Deno's sanitizers. What one mutant leaves behind may spoil the next: after each failure the test
 * must fail again, and must pass without a mutant, or this process ends, and the caller goes on in a new one. It ends too after a mutant that does
 * not end.
 */
import { findClauses } from "../contract.ts";

export interface CoverJob {
  readonly kind: "cover";
  readonly files: readonly string[];
  /** How many there are in all files. */
  readonly blocks: number;
}

export interface MutantJob {
  readonly kind: "mutants";
  readonly runs: readonly MutantRun[];
  /** Ends when so many are killed. */
  readonly need: number;
}

export interface MutantRun {
  readonly id: number;
  /** In this order, until one fails. */
  readonly tests: readonly {
    readonly file: string;
    readonly key: string;
    readonly rounds: number;
    readonly ms: number;
  }[];
}

interface Verdict {
  readonly kind: "killed" | "missed" | "spoilt";
  readonly id: number;
  /** The key of the test that failed. */
  readonly test: string;
  readonly why: string;
  /** It goes on in this process. */
  readonly isEndless?: boolean;
}

/** `spoilt`: the test fails without the mutant too. */
export type Result =
  | Verdict
  | {
    readonly kind: "covered";
    readonly file: string;
    readonly test: string;
    /** `file`, `test` and how many of that name came before. */
    readonly key: string;
    readonly clauses: readonly string[];
    readonly isPassed: boolean;
    /** How many rounds its loops took. */
    readonly rounds: number;
    readonly ms: number;
    readonly blocks: readonly number[];
  }
  | { readonly kind: "begun"; readonly id: number }
  /** The last result of a job that came to its end. */
  | { readonly kind: "ended" }
  | { readonly kind: "fault"; readonly why: string };

/** A test that waits for what does not happen is ended after so long, and so many times as long as it takes otherwise. */
const [TIMEOUT_MS, TIMEOUT_TIMES] = [10_000, 20];
const COVER_TIMEOUT_MS = 60_000;
/** A test of more rounds is too long to be run for each mutant. */
const MAX_ROUNDS = 2_000_000;
/** Rounds that a mutant may add to a test: so many times those without it, and some. */
const [MORE_TIMES, MORE_ROUNDS] = [10, 500_000];

type Body = (t: Step) => unknown;

interface Step {
  readonly name: string;
  readonly origin: string;
  step(what: string | Body | Definition, body?: Body): Promise<boolean>;
}

interface Definition {
  readonly name?: string;
  readonly fn?: Body;
  readonly ignore?: boolean;
}

interface Test {
  readonly file: string;
  readonly key: string;
  readonly name: string;
  readonly body: Body;
}

interface Switches {
  podfitMutant: number | null;
  podfitEnter?: (block: number) => void;
  podfitRound?: () => void;
}

const switches = globalThis as unknown as Switches;
const { setTimeout, clearTimeout } = globalThis;
const [jobFile = "", resultFile = ""] = Deno.args;

const ENDLESS = "its loops do not end";

let [rounds, maxRounds] = [0, Infinity];
let underTest: { readonly id: number; readonly test: string } | null = null;
let onStray: (error: unknown) => void = () => {};
const loaded = new Map<string, readonly Test[]>();

async function main(): Promise<void> {
  const job = JSON.parse(await Deno.readTextFile(jobFile)) as CoverJob | MutantJob;
  switches.podfitMutant = null;
  switches.podfitRound = () => {
    if (++rounds <= maxRounds) return;
    // Who catches this and goes on would do so for ever.
    if (rounds > 2 * maxRounds) {
      if (underTest !== null) write({ kind: "killed", ...underTest, why: ENDLESS });
      Deno.exit(0);
    }
    throw new Error(ENDLESS);
  };
  globalThis.addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    onStray(event.reason);
  });
  globalThis.addEventListener("error", (event) => {
    event.preventDefault();
    onStray(event.error);
  });
  if (job.kind === "cover") await cover(job);
  else await runMutants(job);
  write({ kind: "ended" });
}

/** Its tests, in the order of the file. A file is loaded once. */
async function loadTests(file: string): Promise<readonly Test[]> {
  const known = loaded.get(file);
  if (known !== undefined) return known;
  const tests: Test[] = [];
  loaded.set(file, tests);
  const register = (...args: readonly unknown[]) => {
    const { name, fn, ignore } = readDefinition(args);
    if (fn === undefined || ignore === true) return;
    const before = tests.filter((one) => one.name === name).length;
    tests.push({ file, name, body: fn, key: `${file}\n${name}${before > 0 ? `\n${before}` : ""}` });
  };
  Object.defineProperty(Deno, "test", {
    configurable: true,
    value: Object.assign(register, { ignore: () => {}, only: register }),
  });
  // A file may do work while it loads. The limit of the test before is not its limit.
  [rounds, maxRounds] = [0, Infinity];
  try {
    await import(`${Deno.cwd()}/${file}`);
  } catch (error) {
    write({ kind: "fault", why: `Cannot load ${file}: ${String(error).split("\n")[0]}` });
    Deno.exit(1);
  }
  return tests;
}

/** As `Deno.test` and `step` take it. */
function readDefinition(args: readonly unknown[]): { readonly name: string } & Omit<Definition, "name"> {
  const fn = args.find((arg): arg is Body => typeof arg === "function");
  const given = args.find((arg): arg is Definition => typeof arg === "object" && arg !== null) ?? {};
  const body = fn ?? given.fn;
  const named = args.find((arg) => typeof arg === "string") ?? given.name ?? body?.name ?? "";
  return { name: named, ...(body === undefined ? {} : { fn: body }), ignore: given.ignore ?? false };
}

async function cover({ files, blocks }: CoverJob): Promise<void> {
  const entered = new Uint8Array(blocks);
  switches.podfitEnter = (block) => {
    entered[block] = 1;
  };
  const tests: Test[] = [];
  for (const file of files) tests.push(...await loadTests(file));
  for (const { file, key, name, body } of tests) {
    entered.fill(0);
    const startMs = performance.now();
    const { error, names } = await runTest(name, body, { maxRounds: MAX_ROUNDS, timeoutMs: COVER_TIMEOUT_MS });
    write({
      kind: "covered",
      file,
      test: name,
      key,
      clauses: [...new Set([name, ...names].flatMap(findClauses))],
      isPassed: error === null,
      rounds,
      ms: performance.now() - startMs,
      blocks: [...entered.entries()].filter(([, is]) => is === 1).map(([block]) => block),
    });
  }
}

async function runMutants({ runs, need }: MutantJob): Promise<void> {
  let killed = 0;
  for (const { id, tests } of runs) {
    if (killed >= need) return;
    write({ kind: "begun", id });
    const verdict = await judge(id, tests);
    write(verdict);
    if (verdict.kind === "spoilt" || verdict.isEndless) return;
    if (verdict.kind === "killed") killed++;
  }
}

async function judge(id: number, keys: MutantRun["tests"]): Promise<Verdict> {
  for (const { file, key, rounds, ms } of keys) {
    const test = (await loadTests(file)).find((one) => one.key === key);
    if (test === undefined) {
      write({ kind: "fault", why: `Cannot find test "${key}"` });
      Deno.exit(1);
    }
    const limits = { maxRounds: rounds * MORE_TIMES + MORE_ROUNDS, timeoutMs: TIMEOUT_MS + ms * TIMEOUT_TIMES };
    const mutated = async () => {
      underTest = { id, test: key };
      switches.podfitMutant = id;
      const ran = await runTest(test.name, test.body, limits);
      switches.podfitMutant = null;
      underTest = null;
      return ran;
    };
    const { error, isTimeout } = await mutated();
    if (error === null) continue;
    const why = error instanceof Error ? error.message.split("\n")[0] ?? "" : String(error);
    const failed = { id, test: key, why };
    if (isTimeout) return { kind: "killed", ...failed, isEndless: true };
    await new Promise((done) => setTimeout(done, 0));
    const control = await runTest(test.name, test.body, limits);
    if (control.error !== null) return { kind: "spoilt", ...failed };
    if ((await mutated()).error !== null) return { kind: "killed", ...failed };
  }
  return { kind: "missed", id, test: "", why: "" };
}

interface Limits {
  readonly maxRounds: number;
  readonly timeoutMs: number;
}

interface Ran {
  readonly error: unknown;
  readonly isTimeout: boolean;
  /** Of its steps. */
  readonly names: readonly string[];
}

/** `error` is `null` when it passes. */
async function runTest(name: string, body: Body, limits: Limits): Promise<Ran> {
  [rounds, maxRounds] = [0, limits.maxRounds];
  const names: string[] = [];
  let failure: { readonly error: unknown } | null = null;
  const createStep = (name: string): Step => ({
    name,
    origin: import.meta.url,
    async step(...args) {
      const { name, fn, ignore } = readDefinition(args);
      if (fn === undefined || ignore === true) return true;
      names.push(name);
      try {
        await fn(createStep(name));
        return true;
      } catch (error) {
        failure ??= { error: error ?? "no reason" };
        return false;
      }
    },
  });
  const { promise, reject } = Promise.withResolvers<never>();
  let isTimeout = false;
  const timer = setTimeout(() => {
    isTimeout = true;
    reject(new Error(`it is not done in ${Math.round(limits.timeoutMs / 1000)} seconds`));
  }, limits.timeoutMs);
  onStray = (error) => reject(error ?? "no reason");
  try {
    await Promise.race([promise, body(createStep(name))]);
  } catch (error) {
    failure ??= { error: error ?? "no reason" };
  } finally {
    clearTimeout(timer);
    promise.catch(() => {});
  }
  return { error: (failure as { readonly error: unknown } | null)?.error ?? null, isTimeout, names };
}

function write(result: Result): void {
  Deno.writeTextFileSync(resultFile, `${JSON.stringify(result)}\n`, { append: true });
}

if (import.meta.main) {
  await main();
  // A test may have left timers behind.
  Deno.exit(0);
}
