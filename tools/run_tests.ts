// deno-lint-ignore-file no-console
/**
 * Runs tests and then says on which cluster how many of the scenarios in tests/e2e ran, and which the embedded one cannot.
 *   deno task test [ARGUMENT...]   all tests; scenarios on the embedded cluster
 *   deno task e2e [ARGUMENT...]    scenarios alone, on the real cluster of KUBECONFIG
 * Arguments go to `deno test`; with a path among them only that is run.
 */
import { parseJunitCases, type TestCase } from "./test_results.ts";

const ROOT = new URL("../", import.meta.url);

const SUITES = {
  embedded: { options: ["-P=test", "--parallel"], path: "tests" },
  real: { options: ["-P=dev"], path: "tests/e2e" },
} as const;

type Suite = keyof typeof SUITES;

/** The exit code of `deno test`. */
async function main([suite, ...args]: readonly string[]): Promise<number> {
  if (suite !== "embedded" && suite !== "real") throw new Error(`Cannot run suite "${suite}": embedded or real`);
  const { options, path } = SUITES[suite];
  const hasPath = args.some((arg) => arg.startsWith("tests/") || arg.startsWith("./"));
  const junit = await Deno.makeTempFile({ prefix: "podfit-tests-", suffix: ".xml" });
  try {
    const { code } = await new Deno.Command(Deno.execPath(), {
      args: ["test", ...options, `--junit-path=${junit}`, ...args, ...(hasPath ? [] : [path])],
      cwd: ROOT,
      env: { E2E_BACKEND: suite },
      stdin: "null",
    }).spawn().status;
    const scenarios = parseJunitCases(await Deno.readTextFile(junit)).filter(isScenario);
    for (const line of describeScenarios(suite, scenarios)) console.log(line);
    return code;
  } finally {
    await Deno.remove(junit);
  }
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
