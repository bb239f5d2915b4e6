// deno-lint-ignore-file no-console
/**
 * Runs tests and then says on which cluster how many of the scenarios in tests/e2e ran, and which the embedded one cannot.
 *   deno task test [ARGUMENT...]   all tests; scenarios on the embedded cluster
 *   deno task e2e [ARGUMENT...]    scenarios alone, on the real cluster of KUBECONFIG, side by side as far as there is
 *                                  room; sooner done where it has a spare node (SPARE_NODE=1 tests/cluster/up)
 * Arguments go to `deno test`; with a path among them only that is run.
 */
import { fetchFacts } from "../tests/e2e/support/facts.ts";
import { openClaimDesk } from "./claims.ts";
import { parseJunitCases, type TestCase } from "./test_results.ts";

const ROOT = new URL("../", import.meta.url);

const SUITES = {
  embedded: { permissions: "test", path: "tests" },
  real: { permissions: "dev", path: "tests/e2e" },
} as const;

type Suite = keyof typeof SUITES;

/** Scenarios wait for kubelets most of the time; more at once would take from each other what CPU they do need. */
const SCENARIOS_AT_ONCE = 6;
/** Every file of scenarios is loaded at once, so that which scenario runs when is decided by what each claims alone. */
const FILES_AT_ONCE = 64;

/** The exit code of `deno test`. */
async function main([suite, ...args]: readonly string[]): Promise<number> {
  if (suite !== "embedded" && suite !== "real") throw new Error(`Cannot run suite "${suite}": embedded or real`);
  const { permissions, path } = SUITES[suite];
  const hasPath = args.some((arg) => arg.startsWith("tests/") || arg.startsWith("./"));
  await using shared = await shareCluster(suite);
  const junit = await Deno.makeTempFile({ prefix: "podfit-tests-", suffix: ".xml" });
  try {
    const { code } = await new Deno.Command(Deno.execPath(), {
      args: ["test", `-P=${permissions}`, "--parallel", `--junit-path=${junit}`, ...args, ...(hasPath ? [] : [path])],
      cwd: ROOT,
      env: { E2E_BACKEND: suite, ...shared.env },
      stdin: "null",
    }).spawn().status;
    const scenarios = parseJunitCases(await Deno.readTextFile(junit)).filter(isScenario);
    for (const line of describeScenarios(suite, scenarios)) console.log(line);
    return code;
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

function isScenario({ file, name }: TestCase): boolean {
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
