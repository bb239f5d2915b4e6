/**
 * `podfit simulate`: runs the workloads of manifest files on a load, in virtual time.
 *
 * The result is a table, JSON or an HTML report. Several policies are compared figure by figure.
 */
import type { NamedLoad } from "../../simulate/load.ts";
import { simulate as runSimulation, type Simulation } from "../../simulate/simulate.ts";
import { EXIT, StartError, toStartError } from "../command/process.ts";
import { openPrometheus, readLoads, selectLoads } from "../loads/loads.ts";
import { readManifests } from "../manifests/files.ts";
import { type ManifestObjects, parseManifestObjects } from "../manifests/objects.ts";
import { formatNumber } from "../terminal/numbers.ts";
import { toJson, toLine, writeError, writeOutput } from "../terminal/output.ts";
import { formatTable } from "../terminal/text.ts";
import { RUN_FIGURES } from "./figures.ts";
import { formatHtml } from "./html/page.ts";
import type { SimulateOptions } from "./options.ts";
import { formatRanked, type Ranked, sweep } from "./sweep/sweep.ts";
import { type Subject, toSubjects } from "./sweep/try_policy.ts";

/** Resolves to the exit code: 0 = simulated, 1 = an error in a manifest, 2 = an invalid file. */
export async function simulate(options: SimulateOptions): Promise<number> {
  try {
    const given = await readFiles(options.filenames);
    const others = await Promise.all(options.policies.map((path) => readFiles([path])));
    const complaints = [given, ...others].flatMap((one) => one.complaints);
    if (complaints.length > 0) {
      for (const line of complaints) writeError(line);
      writeError("Cannot simulate: correct the problems above; podfit lint -f explains them");
      return EXIT.failed;
    }
    return await simulateObjects(options, { given, others });
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    writeError(error.message);
    return EXIT.unusable;
  }
}

interface ParsedFiles {
  readonly given: ManifestObjects;
  readonly others: readonly ManifestObjects[];
}

async function simulateObjects(options: SimulateOptions, { given, others }: ParsedFiles): Promise<number> {
  const subjects = findSubjects(given);
  const policies = [
    { name: toPolicyName(options.filenames), subjects },
    ...others.map(({ autoscalers }, index) => ({
      name: toPolicyName([options.policies[index] ?? ""]),
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
  return EXIT.ok;
}

async function readFiles(paths: readonly string[]): Promise<ManifestObjects> {
  const { sources, failures } = await readManifests(paths);
  if (failures.length > 0) throw new StartError(failures.join("; "));
  return parseManifestObjects(sources);
}

function findSubjects(objects: ManifestObjects): readonly Subject[] {
  const found = toSubjects(objects);
  if (!found.ok) throw new StartError(found.message);
  return found.subjects;
}

/** By the names of its files, without folders. */
function toPolicyName(paths: readonly string[]): string {
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

/** The number of steps that a plot can show. */
const PLOT_STEPS = 1000;

function run({ pod, autoscalers, replicas, scaledObject }: Subject, { options, named, seconds }: RunContext) {
  const loads = selectLoads(named, pod.containers.map(({ name }) => name));
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

/** One policy's run of one workload. */
interface PolicyRun {
  /** The name of the policy: its file. */
  readonly policy: string;
  readonly simulation: Simulation;
}

/** A workload under each policy. */
interface Comparison {
  readonly title: string;
  readonly runs: readonly PolicyRun[];
}

/** One figure under each policy, in the order of the runs. */
interface ComparedFigure {
  readonly name: string;
  readonly values: readonly number[];
  readonly format: (value: number) => string;
  /** The index of the best one; `null` where several are, or where less is not better. */
  readonly best: number | null;
}

/** Returns the figures of one container, of the runs that have it. */
function compareContainer(runs: readonly PolicyRun[], container: string): readonly ComparedFigure[] {
  const own = runs.map(({ simulation }) => simulation.containers.find((one) => one.container === container));
  const figures = RUN_FIGURES.map(({ name, read, format, isCost }): ComparedFigure => {
    const values = own.map((run) => run === undefined ? NaN : read(run));
    const best = isCost ? findBest(values.map((value) => Number(value.toPrecision(6)))) : null;
    return { name, values, format, best };
  });
  const pods = runs.map(({ simulation }) => computeMeanPods(simulation));
  if (pods.every((count) => count === 1)) return figures;
  return [{ name: "pods, mean", values: pods, format: formatNumber, best: null }, ...figures];
}

function computeMeanPods({ replicas, seconds }: Simulation): number {
  let sum = 0;
  for (const [index, [second, count]] of replicas.entries()) {
    sum += count * (Math.min(replicas[index + 1]?.[0] ?? seconds, seconds) - second);
  }
  return sum / seconds;
}

/** Returns in how many figures each policy is best, in the order of the runs. */
function countBest(figures: readonly ComparedFigure[], runs: number): readonly number[] {
  return Array.from({ length: runs }, (_, index) => figures.filter(({ best }) => best === index).length);
}

function findBest(values: readonly number[]): number | null {
  const least = Math.min(...values);
  const at = values.flatMap((value, index) => value === least ? [index] : []);
  return values.length > 1 && at.length === 1 ? at[0] ?? null : null;
}

/** Returns a table for each container of each workload, with a line on which policy is better where several ran. */
function formatComparisons(comparisons: readonly Comparison[]): string {
  return comparisons.flatMap(({ title, runs }) => {
    const simulation = runs[0]?.simulation;
    const hours = (simulation?.seconds ?? 0) / 3600;
    return (simulation?.containers ?? []).map(({ container }) => {
      const figures = compareContainer(runs, container);
      const head = `${title}, container ${container}, ${Number(hours.toFixed(2))} h`;
      return [toLine(head), "", formatFigures(figures, runs.map(({ policy }) => policy)), ""].join("\n");
    });
  }).join("\n");
}

function formatFigures(figures: readonly ComparedFigure[], policies: readonly string[]): string {
  const isCompared = policies.length > 1;
  const rows = figures.map(({ name, values, format, best }) => [
    name,
    ...values.map((value) => Number.isNaN(value) ? "-" : format(value)),
    ...(isCompared ? [best === null ? "" : policies[best] ?? ""] : []),
  ]);
  const head = ["", ...policies, ...(isCompared ? ["better"] : [])];
  const table = formatTable([head, ...rows], (column) => column > 0 && column <= policies.length).join("\n");
  if (!isCompared) return table;
  const counts = countBest(figures, policies.length);
  const compared = figures.filter(({ best }) => best !== null).length;
  const said = policies.map((policy, index) => `${toLine(policy)} in ${counts[index]}`).join(", ");
  return `${table}\n\nbetter, of ${compared} figures that differ: ${said}`;
}

/** One object per workload and policy; a missing limit is null. `ranked`: the policies of a sweep, best first. */
function formatJson(comparisons: readonly Comparison[], ranked: readonly Ranked[]): string {
  const runs = comparisons.flatMap(({ title, runs }) =>
    runs.map(({ policy, simulation }) => ({ workload: title, policy, ...withoutSeries(simulation) }))
  );
  return `${toJson(ranked.length === 0 ? { runs } : { runs, sweep: ranked }, 2)}\n`;
}

/** Without the series, which are for plots. */
function withoutSeries({ seconds, decisions, containers, ...rest }: Simulation) {
  const { stepSeconds: _, ...more } = rest;
  return { seconds, decisions, ...more, containers: containers.map(({ series: _, ...one }) => one) };
}
