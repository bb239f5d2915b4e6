// deno-lint-ignore-file no-console
/**
 * Runs tests and then says on which cluster how many of the scenarios in tests/e2e ran, and which the embedded one cannot.
 *   deno task test [ARGUMENT...]   all tests; scenarios on the embedded cluster
 *   deno task e2e [ARGUMENT...]    scenarios alone, on the real cluster of KUBECONFIG, side by side as far as there is
 *                                  room; sooner done where it has a spare node (SPARE_NODE=1 tests/cluster/up). Up to
 *                                  three that fail are run once more, one after the other: they measure usage and time
 *                                  on a machine that others load. Which ones is said, and what fails then has failed
 * Arguments go to `deno test`; with a path among them only that is run.
 */
import { type Clock, systemClock } from "../lib/runtime/clock.ts";
import { type Facts, fetchFacts } from "../tests/e2e/support/facts.ts";
import { isOwnCluster } from "../tests/e2e/support/kubectl.ts";
import { waitUntil } from "../tests/e2e/support/wait.ts";
import { ON_CGROUP2 } from "../tests/e2e/support/workloads.ts";
import { openClaimDesk } from "./claims.ts";
import { parseJunitCases, type TestCase, toFilter } from "./test_results.ts";

const ROOT = new URL("../", import.meta.url);

const SUITES = {
  embedded: { permissions: "test", path: "tests" },
  real: { permissions: "dev", path: "tests/e2e" },
} as const;

/** Which cluster the scenarios run on. */
export type Suite = keyof typeof SUITES;

/**
 * Scenarios wait for kubelets most of the time; more at once would take from each other what CPU they do need. A node with
 * cgroup version 2 needs much more of it for each container that starts.
 */
const SCENARIOS_AT_ONCE = ON_CGROUP2 ? 2 : 6;
/** Every file of scenarios is loaded at once, so that which scenario runs when is decided by what each claims alone. */
const FILES_AT_ONCE = 64;

/** More than these are not noise. */
const SECOND_RUNS = 3;

async function main([suite, ...args]: readonly string[]): Promise<number> {
  if (suite !== "embedded" && suite !== "real") throw new Error(`Cannot run suite "${suite}": embedded or real`);
  return (await runSuite(suite, args)).code;
}

/** Runs tests and says how the scenarios ended. One that failed and then passed alone has passed. */
export async function runSuite(suite: Suite, args: readonly string[]): Promise<Run> {
  const hasPath = args.some((arg) => arg.startsWith("tests/") || arg.startsWith("./"));
  const { code, cases } = await runSideBySide(suite, [...args, ...(hasPath ? [] : [SUITES[suite].path])]);
  const scenarios = cases.filter(isScenario);
  const failed = suite === "real" ? pickSecondRuns(cases) : [];
  const again = failed.length > 0 ? await runAgain(suite, failed) : null;
  for (const line of describeScenarios(suite, scenarios)) console.log(line);
  if (again === null) return { code, cases };
  for (const line of describeSecondRun(cases, failed, again.cases)) console.log(line);
  const still = listStillFailing(failed, again.cases);
  return {
    code: still.length === 0 ? again.code : 1,
    cases: cases.map((one) => failed.includes(one) && !still.includes(one) ? { ...one, outcome: "passed" } : one),
  };
}

/** How a run of tests ended. */
export interface Run {
  /** The exit code of `deno test`. */
  readonly code: number;
  readonly cases: readonly TestCase[];
}

async function runSideBySide(suite: Suite, args: readonly string[]): Promise<Run> {
  if (suite === "real") await bringImages();
  await using shared = await shareCluster(suite);
  return await runTests(suite, { args: ["--parallel", ...args], env: shared.env });
}

/** podfit as it is now goes to the nodes as an image, where they are those of tests/cluster: some scenarios install it. */
async function bringImages(): Promise<void> {
  const isOwn = isOwnCluster();
  if (isOwn) await importPodfit();
  if (isOwn || Deno.env.get("E2E_IMAGES") === "loaded") await waitForImages(fetchFacts, systemClock);
}

async function importPodfit(): Promise<void> {
  const folder = new URL("tests/cluster/", ROOT).pathname;
  const { success } = await new Deno.Command("bash", {
    args: ["-c", '"$0"/build helm podfit && [ "$("$0"/up)" = "$KUBECONFIG" ]', folder],
    stdin: "null",
    stdout: "null",
  })
    .spawn().status;
  if (!success) throw new Error("Cannot bring podfit's image to the cluster of KUBECONFIG: run tests/cluster/up again");
}

/** A node tells of an image within a minute. Until then the scenarios that need it would be left out, and nothing fail. */
export async function waitForImages(
  fetch: () => Promise<Pick<Facts, "hasLoadImage" | "hasPodfitImage">>,
  clock: Pick<Clock, "monotonic" | "sleep">,
): Promise<void> {
  await waitUntil("the nodes to tell of the images of tests/cluster/build, and for helm", async () => {
    const { hasLoadImage, hasPodfitImage } = await fetch();
    return hasLoadImage && (hasPodfitImage || ON_CGROUP2);
  }, { timeoutMs: 90_000, everyMs: 1_000, clock });
}

/** Without anything beside it. */
async function runAgain(suite: Suite, failed: readonly TestCase[]): Promise<Run> {
  const filter = `--filter=${toFilter(failed.map(({ name }) => name))}`;
  // In the report the file of a scenario is the one that declares scenarios.
  return await runTests(suite, { args: [filter, SUITES[suite].path], env: {} });
}

interface RunOptions {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

async function runTests(suite: Suite, { args, env }: RunOptions): Promise<Run> {
  const junit = await Deno.makeTempFile({ prefix: "podfit-tests-", suffix: ".xml" });
  try {
    const { code } = await new Deno.Command(Deno.execPath(), {
      args: [
        "test",
        // Types are checked by `deno check`, once and not before each run: it would take half a minute.
        "--no-check",
        "--preload",
        "tests/support/setup.ts",
        `-P=${SUITES[suite].permissions}`,
        `--junit-path=${junit}`,
        ...args,
      ],
      cwd: ROOT,
      env: { E2E_BACKEND: suite, ...env },
      stdin: "null",
    }).spawn().status;
    return { code, cases: parseJunitCases(await Deno.readTextFile(junit)) };
  } finally {
    await Deno.remove(junit);
  }
}

interface SharedCluster extends AsyncDisposable {
  /** For the tests' environment. */
  readonly env: Readonly<Record<string, string>>;
}

/** Scenarios on the real cluster run side by side, as far as there is room for what they claim. */
async function shareCluster(suite: Suite): Promise<SharedCluster> {
  if (suite === "embedded" || (Deno.env.get("KUBECONFIG") ?? "") === "") {
    return { env: {}, [Symbol.asyncDispose]: () => Promise.resolve() };
  }
  const facts = await fetchFacts();
  const desk = openClaimDesk({
    capacity: { scenarios: SCENARIOS_AT_ONCE, millicores: facts.freeMillicores },
    onRelease: ({ name }, ranMs) => console.log(`ran for ${Math.round(ranMs / 1000)} s: ${name}`),
  });
  return {
    env: { E2E_FACTS: JSON.stringify(facts), E2E_CLAIMS: desk.url, DENO_JOBS: String(FILES_AT_ONCE) },
    [Symbol.asyncDispose]: () => desk[Symbol.asyncDispose](),
  };
}

/** The scenarios that failed, if they are so few that noise may be why, and nothing else failed. */
export function pickSecondRuns(cases: readonly TestCase[]): readonly TestCase[] {
  const whole = cases.filter(({ name }) => !name.includes(" > "));
  const bad = whole.filter(({ outcome }) => outcome === "failed" || outcome === "error");
  return bad.length <= SECOND_RUNS && bad.every((one) => isScenario(one) && one.outcome === "failed") ? bad : [];
}

/** The last line is as `deno test` ends, for both runs together. */
export function describeSecondRun(
  cases: readonly TestCase[],
  failed: readonly TestCase[],
  again: readonly TestCase[],
): readonly string[] {
  const still = listStillFailing(failed, again);
  const passed = cases.filter(({ name, outcome }) => !name.includes(" > ") && outcome === "passed").length;
  return [
    ...failed.map((one) => `failed beside others, ${still.includes(one) ? "and alone" : "passed alone"}: ${one.name}`),
    `${still.length === 0 ? "ok" : "FAILED"} | ${
      passed + failed.length - still.length
    } passed | ${still.length} failed`,
  ];
}

/** One that did not run at all has not passed. */
export function listStillFailing(failed: readonly TestCase[], again: readonly TestCase[]): readonly TestCase[] {
  const outcomes = new Map(again.map(({ name, outcome }) => [name, outcome]));
  return failed.filter(({ name }) => outcomes.get(name) !== "passed");
}

/** Is it a whole test of tests/e2e, and not a step of one? */
export function isScenario({ file, name }: TestCase): boolean {
  return file.startsWith("./tests/e2e/") && !name.includes(" > ");
}

/** What is ignored says why at the end of its name. */
export function describeScenarios(suite: Suite, scenarios: readonly TestCase[]): readonly string[] {
  if (scenarios.length === 0) return [];
  const ran = scenarios.filter(({ outcome }) => outcome !== "skipped");
  const left = scenarios.filter(({ outcome, name }) => outcome === "skipped" && name.endsWith("]"));
  return [
    ...left.map(({ name }) => `not run: ${name}`),
    `scenarios: ${ran.length} ran on the ${suite} cluster, ${left.length} did not`,
  ];
}

if (import.meta.main) Deno.exit(await main(Deno.args));
