/**
 * Runs the scenarios of tests/e2e on other versions of Kubernetes, and writes how they ended to
 * tests/verify/results/versions.json and versions.md. It ends a cluster of tests/cluster that is up.
 *   deno task e2e:versions [VERSION...] [FILE...]
 *   deno task e2e:cgroup2 [FILE...]
 * Without a version: 1.34, 1.35 and 1.37. `1.37/1.35` has kubelets of 1.35, as a cluster in the middle of its upgrade. With
 * files of tests/e2e only these run, and the others keep their last outcome. `e2e:cgroup2` is 1.36 with all pods on nodes with
 * cgroup version 2.
 */
import { ON_CGROUP2 } from "../tests/e2e/support/workloads.ts";
import { isScenario, runSuite } from "./run_tests.ts";
import type { TestCase } from "./test_results.ts";
import { toTable } from "./reference/markdown.ts";

/** By version such as `1.37`, `1.37/1.35` where the kubelets have another, `1.36+cgroup2` on nodes with cgroup version 2. */
export type Versions = Readonly<Record<string, VersionResults>>;

/** How the scenarios ended on one version. */
export interface VersionResults {
  /** `v1.37.2` */
  readonly kubernetes: string;
  /** `v1.35.4`; absent where it is the same. */
  readonly kubelet?: string;
  /** By the name of the scenario. */
  readonly scenarios: Readonly<Record<string, Outcome>>;
}

/** How a scenario ended when it last ran. */
export interface Outcome {
  /** `passed`, `failed`, or why it was not run. */
  readonly ended: string;
  readonly commit: string;
  /** `2026-11-27` */
  readonly date: string;
}

const RESULTS = new URL("../tests/verify/results/", import.meta.url);
const CLUSTER = new URL("../tests/cluster/", import.meta.url).pathname;
const OTHERS = ["1.34", "1.35", "1.37"];
/** Each has one CPU of this machine. */
const CGROUP2_NODES = "2";
/** Ends the key of results from nodes with cgroup version 2. */
const ON_CGROUP2_KEY = "+cgroup2";

/** How the scenarios among these tests ended. Those that a filter left out are not in it. */
export function toOutcomes(
  cases: readonly TestCase[],
  run: Pick<Outcome, "commit" | "date">,
): VersionResults["scenarios"] {
  const outcomes = cases.filter(isScenario).flatMap(({ name, outcome }): readonly (readonly [string, Outcome])[] => {
    if (outcome !== "skipped") return [[name, { ended: outcome === "passed" ? "passed" : "failed", ...run }]];
    const [, sentence, why] = /^(.*) \[(.*)\]$/.exec(name) ?? [];
    return sentence === undefined ? [] : [[sentence, { ended: `not run: ${why}`, ...run }]];
  });
  return Object.fromEntries(outcomes);
}

/** The page of results: a table of versions, then what failed or was not run. */
export function toVersionsPage(versions: Versions): string {
  const sorted = Object.entries(versions).map(([key, results]) => ({ name: nameVersions(key, results), ...results }))
    .toSorted((a, b) => a.name < b.name ? -1 : 1);
  const rows = sorted.map(({ name, scenarios }) => {
    const outcomes = Object.values(scenarios);
    const count = (start: string) => String(outcomes.filter(({ ended }) => ended.startsWith(start)).length);
    const commits = [...new Set(outcomes.map(({ commit }) => commit))];
    return [name, count("passed"), count("failed"), count("not run"), commits.join(", ")];
  });
  const others = sorted.flatMap(({ name, scenarios }) =>
    Object.entries(scenarios).filter(([, { ended }]) => ended !== "passed")
      .map(([scenario, { ended }]) => [name, scenario, ended])
  );
  const last = sorted.flatMap(({ scenarios }) => Object.values(scenarios)).toSorted((a, b) => a.date < b.date ? -1 : 1)
    .at(-1);
  return [
    "# Kubernetes versions",
    `\`deno task e2e:versions\`: the scenarios of tests/e2e on a real cluster of each version. Last taken at commit ` +
    `${last?.commit ?? "none"}, ${last?.date ?? "never"}.`,
    toTable(["Kubernetes", "passed", "failed", "not run", "commit"], rows),
    ...(others.length === 0 ? [] : [
      "## What failed or was not run",
      toTable(["Kubernetes", "scenario", "outcome"], others),
    ]),
  ].join("\n\n") + "\n";
}

/** `1.37.2`, `1.37.2, kubelets 1.35.4`, or `1.36.3, cgroup v2`. */
function nameVersions(key: string, { kubernetes, kubelet }: VersionResults): string {
  const kubelets = kubelet === undefined ? "" : `, kubelets ${kubelet.slice(1)}`;
  return kubernetes.slice(1) + kubelets + (key.endsWith(ON_CGROUP2_KEY) ? ", cgroup v2" : "");
}

/** The results of former runs; none before the first. */
async function readVersions(): Promise<Versions> {
  try {
    return JSON.parse(await Deno.readTextFile(new URL("versions.json", RESULTS)));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return {};
    throw error;
  }
}

/** Returns the exit code: 0 if every scenario that ran has passed. */
async function main(args: readonly string[]): Promise<number> {
  const files = args.filter((arg) => arg.startsWith("tests/"));
  const wanted = args.filter((arg) => !files.includes(arg));
  let code = 0;
  for (const version of wanted.length === 0 ? OTHERS : wanted) code = Math.max(code, await runVersion(version, files));
  return code;
}

async function runVersion(version: string, files: readonly string[]): Promise<number> {
  const [minor = version, kubeletMinor = minor] = version.split("/");
  const options = {
    KUBERNETES: minor,
    KUBELET: kubeletMinor,
    SPARE_NODE: "1",
    METRICS_SERVER: "1",
    CGROUP2_NODES: ON_CGROUP2 ? CGROUP2_NODES : "0",
  };
  for (const [name, value] of Object.entries(options)) Deno.env.set(name, value);
  await runCluster("down");
  try {
    await runCluster("build", "helm", "metrics-server", "podfit", "keda-definitions");
    const kubeconfig = await runCluster("up");
    const bin = kubeconfig.replace("run/admin.kubeconfig", "bin");
    const path = Deno.env.get("PATH") ?? "";
    Deno.env.set("KUBECONFIG", kubeconfig);
    Deno.env.set("PATH", `${bin}/${minor}:${bin}:${path}`);
    const kubernetes = /GitVersion:"([^"]+)"|Server Version: (\S+)/.exec(await runProgram("kubectl", "version"));
    const kubelet = await runProgram(
      "kubectl",
      "get",
      "nodes",
      "-o",
      "jsonpath={.items[0].status.nodeInfo.kubeletVersion}",
    );
    const { code, cases } = await runSuite("real", files);
    Deno.env.set("PATH", path);
    const commit = await runProgram("git", "rev-parse", "--short=8", "HEAD");
    const found = toOutcomes(cases, { commit, date: new Date().toISOString().slice(0, 10) });
    const before = await readVersions();
    const name = kubernetes?.[1] ?? kubernetes?.[2] ?? version;
    const skew = kubelet === name ? {} : { kubelet };
    const key = ON_CGROUP2 ? version + ON_CGROUP2_KEY : version;
    const now: Versions = {
      ...before,
      [key]: { kubernetes: name, ...skew, scenarios: { ...before[key]?.scenarios, ...found } },
    };
    await Deno.writeTextFile(new URL("versions.json", RESULTS), `${JSON.stringify(now, null, 1)}\n`);
    await Deno.writeTextFile(new URL("versions.md", RESULTS), toVersionsPage(now));
    return code;
  } finally {
    await runCluster("down");
  }
}

/** Runs a program of tests/cluster, and returns what it printed. Its messages go to standard error. */
export function runCluster(name: "build" | "up" | "down", ...args: readonly string[]): Promise<string> {
  return runProgram(CLUSTER + name, ...args);
}

/** Returns what the program printed, without space at its end. Throws if it fails. */
export async function runProgram(program: string, ...args: readonly string[]): Promise<string> {
  const { success, stdout } = await new Deno.Command(program, { args: [...args], stdin: "null", stderr: "inherit" })
    .output();
  if (!success) throw new Error(`Cannot run "${[program, ...args].join(" ")}"`);
  return new TextDecoder().decode(stdout).trim();
}

if (import.meta.main) Deno.exit(await main(Deno.args));
