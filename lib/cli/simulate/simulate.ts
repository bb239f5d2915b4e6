/**
 * `podfit simulate` runs the workloads of manifest files on a load, in virtual time: a table, JSON or an HTML report of how
 * well each policy keeps their containers at their size.
 */
import { simulate as runSimulation, type Simulation } from "../../simulate/engine/simulate.ts";
import type { NamedLoad } from "../../simulate/load/load.ts";
import { readManifests } from "../lint/files.ts";
import { writeError, writeOutput } from "../terminal/output.ts";
import { StartError, toStartError } from "../run/start_error.ts";
import type { Comparison, PolicyRun } from "./compare.ts";
import { formatHtml } from "./html.ts";
import { formatJson } from "./json.ts";
import { readLoads, toLoads } from "./loads.ts";
import { openPrometheus } from "./prometheus.ts";
import { type ManifestObjects, readObjects } from "./objects.ts";
import type { SimulateOptions } from "./options.ts";
import { type Subject, toSubjects } from "./subjects.ts";
import type { Ranked } from "./sweep/rank.ts";
import { formatRanked, sweep } from "./sweep/sweep.ts";
import { formatComparisons } from "./table.ts";

/** Resolves to the exit code: 0 = simulated, 1 = an error in a manifest, 2 = a file that is no good. */
export async function simulate(options: SimulateOptions): Promise<number> {
  try {
    const given = await readFiles(options.filenames);
    const others = await Promise.all(options.policies.map((path) => readFiles([path])));
    const complaints = [given, ...others].flatMap((one) => one.complaints);
    if (complaints.length > 0) {
      for (const line of complaints) writeError(line);
      writeError("Cannot simulate: put right what is said above; podfit lint -f says more of it");
      return 1;
    }
    return await simulateObjects(options, { given, others });
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    writeError(error.message);
    return 2;
  }
}

interface Read {
  readonly given: ManifestObjects;
  readonly others: readonly ManifestObjects[];
}

async function simulateObjects(options: SimulateOptions, { given, others }: Read): Promise<number> {
  const subjects = findSubjects(given);
  const policies = [
    { name: toName(options.filenames), subjects },
    ...others.map(({ autoscalers }, index) => ({
      name: toName([options.policies[index] ?? ""]),
      subjects: findSubjects({ ...given, autoscalers }),
    })),
  ];
  const named = await readLoads({
    csv: options.loads,
    records: options.records,
    prometheus: options.prometheus === null ? null : openPrometheus(options.prometheus, options.forMs),
    percentOfCores: options.percentOfCores,
    noise: options.hasNoise ? options.seed : null,
  });
  const seconds = toSeconds(options, named);
  const comparisons = subjects.map(({ title }): Comparison => ({
    title,
    runs: policies.flatMap(({ name, subjects }): readonly PolicyRun[] => {
      const subject = subjects.find((one) => one.title === title);
      return subject === undefined ? [] : [{ policy: name, simulation: run(subject, { options, named, seconds }) }];
    }),
  }));
  const ranked = options.sweep === null ? [] : await sweep(options, { objects: given, named, seconds });
  await writeHtml(options, comparisons, ranked);
  if (options.output === "json") writeOutput(formatJson(comparisons, ranked));
  else writeOutput(`${formatComparisons(comparisons)}\n${ranked.length === 0 ? "" : `${formatRanked(ranked)}`}`);
  return 0;
}

async function readFiles(paths: readonly string[]): Promise<ManifestObjects> {
  const { sources, failures } = await readManifests(paths);
  if (failures.length > 0) throw new StartError(failures.join("; "));
  return readObjects(sources);
}

function findSubjects(objects: ManifestObjects): readonly Subject[] {
  const found = toSubjects(objects);
  if (!found.ok) throw new StartError(found.message);
  return found.subjects;
}

/** By the names of its files, without folders. */
function toName(paths: readonly string[]): string {
  return paths.map((path) => path.replace(/^.*\/(?=.)/, "")).join(" ");
}

function toSeconds({ hours }: SimulateOptions, loads: readonly NamedLoad[]): number {
  if (hours !== null) return Math.round(hours * 3600);
  return Math.max(1, ...loads.map(({ load }) => Math.floor(load.seconds)));
}

interface RunContext {
  readonly options: SimulateOptions;
  readonly named: readonly NamedLoad[];
  readonly seconds: number;
}

/** As many steps as a plot can show. */
const PLOT_STEPS = 1000;

function run({ pod, autoscalers, replicas, scaledObject }: Subject, { options, named, seconds }: RunContext) {
  const loads = toLoads(named, pod.containers.map(({ name }) => name));
  const steps = options.html === null ? {} : { stepSeconds: Math.ceil(seconds / PLOT_STEPS) };
  return runSimulation({ autoscalers, pod, replicas, scaledObject, loads, seed: options.seed, seconds, ...steps });
}

async function writeHtml(
  { html, loads, records, prometheus }: SimulateOptions,
  comparisons: readonly Comparison[],
  candidates: readonly Ranked[],
): Promise<void> {
  if (html === null) return;
  const runs = comparisons.flatMap(({ title, runs }) =>
    runs.map(({ policy, simulation }) => ({
      name: comparisons.length > 1 ? `${title}, ${policy}` : policy,
      simulation,
      replicas: scalesReplicas(simulation) ? simulation.replicas : [],
    }))
  );
  const title = comparisons.map((one) => one.title).join(", ");
  const about = `Under ${[...loads, ...records, ...prometheus === null ? [] : [prometheus.query]].join(", ")}`;
  try {
    await Deno.writeTextFile(html, formatHtml({ title, about, runs, candidates }));
  } catch (error) {
    throw toStartError(new Error(`Cannot write "${html}": ${error instanceof Error ? error.message : error}`));
  }
}

function scalesReplicas({ replicas }: Simulation): boolean {
  return new Set(replicas.map(([, count]) => count)).size > 1;
}
