// deno-lint-ignore-file no-console
/**
 * Kubernetes' own scenarios of autoscaling (test/e2e/autoscaling of 1.36.3), with a ScaledObject of the same numbers in place
 * of each HPA, on a real cluster whose HPA controller has nothing to do. It starts that cluster, and ends one of
 * tests/cluster that is up.
 *   deno task e2e:autoscaling [--only PART_OF_A_NAME,...] [--write]
 * `--write` puts the table into tests/verify/results/autoscaling.md. Exit code 1 if a scenario failed.
 */
import { parseArgs } from "node:util";
import { claimShare } from "../tests/e2e/support/claims.ts";
import { describeTaking } from "../tests/support/results.ts";
import { openClaimDesk, type Place } from "./claims.ts";
import { runCluster, runProgram } from "./e2e_versions.ts";
import { toTable } from "./reference/markdown.ts";
import { toPattern } from "./test_results.ts";

const ROOT = new URL("../", import.meta.url).pathname;
/** Each is a node with all CPUs of the machine: the pods of all scenarios that run at once ask for some 12 CPUs. */
const MORE_NODES = "5";
/** What the pods may use together of two CPUs, so that each gets the usage that its scenario asks of it. */
const MILLICORES = 1300;
const SCENARIOS_AT_ONCE = 6;

/** A scenario of the suite. */
interface Scenario {
  /** As ginkgo writes it, with its labels. */
  readonly name: string;
  /** What its pods use at most, from the scenario's own numbers. */
  readonly millicores: number;
  readonly place: Place;
}

interface Ended {
  readonly name: string;
  readonly seconds: number;
  /** `passed`, or why it failed. */
  readonly outcome: string;
}

/** They register one API for the whole cluster, and so run one after the other. */
const EXTERNAL = /external metric|scale to zero/;
/** Parts of names, and what such a scenario makes its pods use. The first that fits counts. */
const USAGES: readonly (readonly [part: RegExp, millicores: number])[] = [
  [EXTERNAL, 50],
  [/scale resource: Memory/, 50],
  [/small scale-up, large scale-down/, 1300],
  [/shouldn't scale up|given percentage|large configurable tolerance/, 940],
  [/from 1 pod to 3 pods|busy/, 700],
  [/range/, 440],
];
/** What the others make them use. */
const USUAL_MILLICORES = 330;

/** What a dry run of the suite says about a scenario. */
interface Spec {
  readonly ContainerHierarchyTexts: readonly string[] | null;
  readonly LeafNodeText: string;
  readonly LeafNodeType: string;
  readonly State: string;
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    args: Deno.args,
    options: { only: { type: "string", default: "" }, write: { type: "boolean", default: false } },
  });
  const taken = await describeTaking();
  for (const [name, value] of Object.entries({ MORE_NODES, KUBE_PROXY: "1" })) Deno.env.set(name, value);
  await runCluster("down");
  try {
    const kubeconfig = await runCluster("up");
    Deno.env.set("KUBECONFIG", kubeconfig);
    const home = kubeconfig.replace("/run/admin.kubeconfig", "");
    const suite = new Suite(home);
    await runProgram(`${home}/bin/kubectl`, "apply", "--server-side", "-f", `${ROOT}crds`);
    await using _podfit = startPodfit(`${home}/run/log/podfit.log`);
    const scenarios = pickScenarios(await suite.list(), values.only);
    const ended = await runAll(suite, scenarios);
    const page = toPage(values.only === "" ? taken : `${taken} with --only "${values.only}"`, ended);
    console.log(page);
    if (values.write) await Deno.writeTextFile(`${ROOT}tests/verify/results/autoscaling.md`, page);
    return ended.every(({ outcome }) => outcome === "passed") ? 0 : 1;
  } finally {
    await runCluster("down");
  }
}

/** Those with one of these parts in their names; all for an empty text. Throws for a part that no name has. */
export function pickScenarios<T extends { readonly name: string }>(
  scenarios: readonly T[],
  only: string,
): readonly T[] {
  const parts = only.split(",");
  const unknown = parts.filter((part) => !scenarios.some(({ name }) => name.includes(part)));
  if (unknown.length > 0) throw new Error(`Cannot find a scenario with "${unknown.join('" or "')}" in its name`);
  return scenarios.filter(({ name }) => parts.some((part) => name.includes(part)));
}

async function runAll(suite: Suite, scenarios: readonly Scenario[]): Promise<readonly Ended[]> {
  await using desk = openClaimDesk({
    capacity: { scenarios: SCENARIOS_AT_ONCE, millicores: MILLICORES },
    onRelease: () => {},
  });
  Deno.env.set("E2E_CLAIMS", desk.url);
  return await Promise.all(scenarios.map(async (scenario, index) => {
    await using _share = await claimShare(scenario);
    const start = performance.now();
    const outcome = await suite.run(scenario, index);
    const seconds = Math.round((performance.now() - start) / 1000);
    console.error(`${seconds} s, ${outcome}: ${scenario.name}`);
    return { name: scenario.name, seconds, outcome };
  }));
}

/** The program of the suite, and where its reports go. */
class Suite {
  readonly #program: string;
  readonly #reports: string;

  constructor(home: string) {
    this.#program = `${home}/autoscaling/autoscaling.test`;
    this.#reports = `${home}/run/log`;
  }

  async list(): Promise<readonly Scenario[]> {
    await this.#ginkgo("list", ["--ginkgo.dry-run", "--ginkgo.focus=Horizontal pod autoscaling"]);
    return (await this.#readSpecs("list")).map((spec) => {
      const name = [...(spec.ContainerHierarchyTexts ?? []), spec.LeafNodeText].join(" ");
      const millicores = USAGES.find(([part]) => part.test(name))?.[1] ?? USUAL_MILLICORES;
      return { name, millicores, place: EXTERNAL.test(name) ? "spare" : "shared" };
    });
  }

  /** Returns `passed`, or why it failed. */
  async run({ name }: Scenario, index: number): Promise<string> {
    const report = `scenario-${index}`;
    const output = await this.#ginkgo(report, [`--ginkgo.focus=${toPattern(name)}$`, "--ginkgo.timeout=40m"]);
    const ran = await this.#readSpecs(report);
    if (ran.length === 1 && ran[0]?.State === "passed") return "passed";
    const why = /\[FAILED\] (?!\[)(.*(?:\n(?!\s*(?:In |\[|$)).*){0,3})/.exec(output)?.[1] ?? output.slice(-300);
    return `failed: ${why.replace(/\s+/g, " ").trim()}`;
  }

  /** Those that the filters took. */
  async #readSpecs(report: string): Promise<readonly Spec[]> {
    const suites: readonly [{ readonly SpecReports: readonly Spec[] }] = JSON.parse(
      await Deno.readTextFile(`${this.#reports}/${report}.json`),
    );
    return suites[0].SpecReports.filter(({ LeafNodeType, State }) => LeafNodeType === "It" && State !== "skipped");
  }

  /** Returns what it printed, which stays in a file too. */
  async #ginkgo(report: string, args: readonly string[]): Promise<string> {
    const images = `${this.#reports}/images.yaml`;
    await Deno.writeTextFile(images, "promoterE2eRegistry: localhost\n");
    const { stdout, stderr } = await new Deno.Command(this.#program, {
      args: [
        "--provider=skeleton",
        "--ginkgo.no-color",
        `--ginkgo.json-report=${this.#reports}/${report}.json`,
        ...args,
      ],
      env: { KUBE_TEST_REPO_LIST: images },
      cwd: this.#reports,
      stdin: "null",
    }).output();
    const output = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
    await Deno.writeTextFile(`${this.#reports}/${report}.txt`, output);
    return output;
  }
}

/** Its log goes to a file. */
function startPodfit(log: string): AsyncDisposable {
  const shell =
    `exec "$0" run -P=dev --quiet "${ROOT}main.ts" run --scaled-objects all --metrics-apis --listen 127.0.0.1:0 >"$1" 2>&1`;
  const process = new Deno.Command("bash", {
    args: ["-c", shell, Deno.execPath(), log],
    env: { PRA_ENABLED: "true" },
    cwd: ROOT,
    stdin: "null",
  }).spawn();
  return {
    async [Symbol.asyncDispose]() {
      process.kill("SIGTERM");
      await process.status;
    },
  };
}

function toPage(taken: string, ended: readonly Ended[]): string {
  const passed = ended.filter(({ outcome }) => outcome === "passed").length;
  const rows = ended.toSorted((a, b) => a.name < b.name ? -1 : 1).map(({ name, seconds, outcome }) => [
    name.replaceAll(/\[[^\]]*\] ?/g, "").trim(),
    `${Math.round(seconds / 6) / 10}`,
    outcome,
  ]);
  return `# Kubernetes' own scenarios of autoscaling

\`deno task e2e:autoscaling\`: test/e2e/autoscaling of Kubernetes 1.36.3, on a real cluster of that version. Where a scenario creates
an HPA it gets a ScaledObject of the same numbers, which podfit follows: tests/cluster/autoscaling. ${passed} of ${ended.length} pass.

${taken}.

${toTable(["scenario", "minutes", "outcome"], rows)}
`;
}

if (import.meta.main) Deno.exit(await main());
