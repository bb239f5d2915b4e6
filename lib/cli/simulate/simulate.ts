/**
 * `podfit simulate`: runs the workloads of manifest files on a load, in virtual time.
 *
 * The result is a table, JSON or an HTML report. Several policies are compared figure by figure.
 */
import { parsePod } from "../../daemon/cluster/parse_pod.ts";
import { listResizableNames } from "../../model/pod.ts";
import { listResourceTriggers, type ScaledObjectFacts } from "../../model/scaled_object.ts";
import type { NamedLoad } from "../../simulate/load.ts";
import { simulate as runSimulation, type Simulation } from "../../simulate/simulate.ts";
import { RESOURCES } from "../../units/resources.ts";
import { EXIT, StartError, toWriteError, VERSION } from "../command/process.ts";
import {
  describeOtherPods,
  findUnknown,
  listUnknown,
  listUnused,
  openPrometheus,
  readLoads,
  selectLoads,
  selectUsed,
  type SourcedLoad,
  takeUsed,
  type UnknownResources,
  withoutUnknown,
} from "../loads/loads.ts";
import { readManifests } from "../manifests/files.ts";
import { type ManifestObjects, parseManifestObjects } from "../manifests/objects.ts";
import { isData, writeData } from "../terminal/data.ts";
import { formatNumber, formatSpan } from "../terminal/numbers.ts";
import { toLine, writeError, writeOutput } from "../terminal/output.ts";
import { openProgressLine } from "../terminal/screen.ts";
import { formatTable } from "../terminal/text.ts";
import { computePodSeconds, describeUnknown, formatChange, RUN_FIGURES } from "./figures.ts";
import { formatHtml } from "./html/page.ts";
import { type Comparison, type PolicyRun, toSimulationData } from "./json.ts";
import type { SimulateOptions } from "./options.ts";
import { formatRanked, type Ranked, sweep } from "./sweep/sweep.ts";
import { type Subject, toSubjects } from "./sweep/try_policy.ts";

/** Resolves to the exit code: 0 = simulated, 2 = an error in a manifest. Rejects with a StartError for other reasons. */
export async function simulate(options: SimulateOptions): Promise<number> {
  const given = await readFiles(options.filenames);
  const others = await Promise.all(options.policies.map((path) => readFiles([path])));
  const complaints = [given, ...others].flatMap((one) => one.complaints);
  if (complaints.length > 0) {
    for (const line of complaints) writeError(line);
    writeError("Cannot simulate: correct the problems above; podfit lint explains them");
    return EXIT.failed;
  }
  return await simulateObjects(options, { given, others });
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
  const read = await readLoads({
    csv: options.loads,
    records: options.records,
    prometheus: options.prometheus === null ? null : openPrometheus(options.prometheus, options.forMs),
    percentOfCores: options.percentOfCores,
    noise: options.hasNoise ? options.seed : null,
  });
  const known = takeUsed(read, given.workloads.flatMap(({ pod }) => listResizableNames(parsePod(pod))));
  const named = takeSimulated(known, subjects);
  for (const line of describeOtherPods(read, named)) writeError(line);
  const seconds = toSeconds(options, named);
  using progress = openProgressLine();
  // The policies and the run without autoscalers, for each workload.
  let started = 0;
  const all = subjects.length * (policies.length + 1);
  const onRun = (title: string) =>
    progress.show(`Simulating ${title} for ${formatSpan(seconds)}, run ${++started} of ${all}`);
  const context = { options, named, seconds, onRun };
  const comparisons = subjects.map((given): Comparison => {
    const { title, pod, scaledObject } = given;
    const unknown = findUnknown(named, pod.containers.map(({ name }) => name));
    refuseUnknownTrigger(scaledObject, unknown);
    const runs = policies.flatMap(({ name, subjects }): readonly PolicyRun[] => {
      const subject = subjects.find((one) => one.title === title);
      return subject === undefined ? [] : [{ policy: name, simulation: run(subject, unknown, context) }];
    });
    const baseline = run(
      { ...given, autoscalers: given.autoscalers.map((one) => ({ ...one, sides: [] })) },
      unknown,
      context,
    );
    return { title, unknown, runs, baseline };
  });
  progress.show("");
  const ranked = options.sweep === null ? [] : await sweep(options, { objects: given, named, seconds });
  const { output } = options;
  if (isData(output)) writeData(toSimulationData(comparisons, ranked, options.seed), output, 2);
  else writeOutput(`${formatComparisons(comparisons)}\n${ranked.length === 0 ? "" : `${formatRanked(ranked)}`}`);
  // Last: a file that cannot be written must not cost the result of minutes.
  await writeHtml(options, comparisons, ranked);
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

/** Says which loads are left out. Throws a StartError where none is left. */
function takeSimulated(known: readonly SourcedLoad[], subjects: readonly Subject[]): readonly SourcedLoad[] {
  const containers = subjects.flatMap(({ pod }) => listResizableNames(pod));
  const named = selectUsed(known, containers);
  if (named.length === 0) {
    const titles = subjects.map(({ title }) => title).join(", ");
    throw new StartError(
      `Cannot simulate ${titles}: each load is of another workload; add a load of ${containers.join(", ")}`,
    );
  }
  for (const source of listUnused(known, named)) {
    writeError(`Load "${source}" is left out: no PodResourceAutoscaler in the files resizes a workload that uses it`);
  }
  return named;
}

function toSeconds({ hours }: SimulateOptions, loads: readonly NamedLoad[]): number {
  if (hours !== null) return Math.round(hours * 3600);
  return Math.max(1, ...loads.map(({ load }) => Math.floor(load.seconds)));
}

interface RunContext {
  readonly options: SimulateOptions;
  readonly named: readonly NamedLoad[];
  readonly seconds: number;
  /** Gets the title of the workload when a run begins. */
  readonly onRun: (title: string) => void;
}

/** The number of steps that a plot can show, and the longest time that one plot shows step by step. */
const PLOT_STEPS = 1000;

const PLOT_SECONDS = 86_400;

function run(
  { title, pod, autoscalers: given, replicas, scaledObject }: Subject,
  unknown: UnknownResources,
  { options, named, seconds, onRun }: RunContext,
) {
  onRun(title);
  const autoscalers = withoutUnknown(given, unknown);
  const loads = selectLoads(named, pod.containers.map(({ name }) => name));
  const steps = options.html === null ? {} : { stepSeconds: Math.ceil(Math.min(seconds, PLOT_SECONDS) / PLOT_STEPS) };
  return runSimulation({ autoscalers, pod, replicas, scaledObject, loads, seed: options.seed, seconds, ...steps });
}

/** Replicas that depend on usage that no load has would be invented. */
function refuseUnknownTrigger(object: ScaledObjectFacts | null, unknown: UnknownResources): void {
  const scaledObject = object?.scaledObject ?? null;
  const triggers = scaledObject === null ? [] : listResourceTriggers(scaledObject);
  const found = triggers.find(({ type }) => Object.values(unknown).some((resources) => resources.includes(type)));
  if (object === null || found === undefined) return;
  throw new StartError(
    `Cannot simulate ScaledObject ${object.name}: it has a ${found.type} trigger, and the load has no ${found.type}; ` +
      `add a column ${found.type}, or leave the trigger out of the file`,
  );
}

async function writeHtml(
  options: SimulateOptions,
  comparisons: readonly Comparison[],
  candidates: readonly Ranked[],
): Promise<void> {
  const { html } = options;
  if (html === null) return;
  const runs = comparisons.flatMap(({ title, runs, baseline }) =>
    [...runs, { policy: BASELINE, simulation: baseline }].map(({ policy, simulation }) => ({
      name: comparisons.length > 1 ? `${title}, ${policy}` : policy,
      group: title,
      isBaseline: simulation === baseline,
      simulation,
      replicas: scalesReplicas(simulation) ? simulation.replicas : [],
    }))
  );
  const title = comparisons.map((one) => one.title).join(", ");
  const unknown = Object.assign({}, ...comparisons.map((one) => one.unknown));
  const about = listAbout(options, comparisons[0]?.baseline.seconds ?? 0);
  try {
    await Deno.writeTextFile(html, formatHtml({ title, about, runs, candidates, unknown }));
  } catch (error) {
    throw toWriteError(html, error, "use the program podfit of a release");
  }
}

/** What it takes to make the report again. */
function listAbout(options: SimulateOptions, seconds: number): readonly (readonly [name: string, value: string])[] {
  const { filenames, policies, loads, records, prometheus, percentOfCores, hasNoise, seed, sweep } = options;
  const given = (name: string, values: readonly string[]) =>
    values.length === 0 ? [] : [[name, values.join(", ")] as const];
  return [
    ...given("load", [...loads, ...records, ...prometheus === null ? [] : [prometheus.query]]),
    ["100 % is", `${percentOfCores} ${percentOfCores === 1 ? "core" : "cores"}`],
    ["noise", hasNoise ? "yes" : "no"],
    ...given("manifests", filenames),
    ...given("policies", policies),
    ...given("sweep", sweep === null ? [] : sweep.length === 0 ? ["the built-in grid"] : sweep),
    ["length", `${Number((seconds / 3600).toFixed(2))} h`],
    ["seed", seed],
    ["podfit", VERSION],
  ];
}

function scalesReplicas({ replicas }: Simulation): boolean {
  return new Set(replicas.map(([, count]) => count)).size > 1;
}

/** The column of the run without autoscalers. */
const BASELINE = "never resized";

/** One figure under each policy, in the order of the runs. */
interface ComparedFigure {
  readonly name: string;
  readonly values: readonly number[];
  readonly format: (value: number) => string;
  /** The index of the best one; `null` where several are, or where less is not better. */
  readonly best: number | null;
}

/** Returns the figures of one container, of the runs that have it; the last value is that of the baseline. */
function compareContainer({ runs, baseline, unknown }: Comparison, container: string): readonly ComparedFigure[] {
  const simulations = [...runs.map(({ simulation }) => simulation), baseline];
  const own = simulations.map(({ containers }) => containers.find((one) => one.container === container));
  const podSeconds = simulations.map(computePodSeconds);
  const missing = listUnknown(unknown, container);
  const known = RUN_FIGURES.filter(({ resource }) => resource === null || !missing.includes(resource));
  const figures = known.map(({ name, read, format, isCost }): ComparedFigure => {
    const values = own.map((run, index) => run === undefined ? NaN : read(run, podSeconds[index] ?? 0));
    const policies = values.slice(0, runs.length);
    const best = isCost ? findBest(policies.map((value) => Number(value.toPrecision(6)))) : null;
    return { name, values, format, best };
  });
  const pods = simulations.map(({ seconds }, index) => (podSeconds[index] ?? 0) / seconds);
  if (pods.every((count) => count === 1)) return figures;
  return [{ name: "pods, mean", values: pods, format: formatNumber, best: null }, ...figures];
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
  return comparisons.flatMap((comparison) => {
    const { title, runs, unknown } = comparison;
    const simulation = runs[0]?.simulation;
    const hours = (simulation?.seconds ?? 0) / 3600;
    return (simulation?.containers ?? []).map(({ container }) => {
      const head = toLine(`${title}, container ${container}, ${Number(hours.toFixed(2))} h`);
      const missing = listUnknown(unknown, container);
      if (missing.length === RESOURCES.length) return [head, "", `${describeUnknown(missing)}.`, ""].join("\n");
      const figures = compareContainer(comparison, container);
      const note = missing.length === 0 ? [] : [`${describeUnknown(missing)}.`, ""];
      return [head, "", formatFigures(figures, runs.map(({ policy }) => policy)), "", ...note].join("\n");
    });
  }).join("\n");
}

function formatFigures(figures: readonly ComparedFigure[], policies: readonly string[]): string {
  const isCompared = policies.length > 1;
  const rows = figures.map(({ name, values, format, best }) => [
    name,
    ...values.map((value) => Number.isNaN(value) ? "-" : format(value)),
    isCompared ? best === null ? "" : policies[best] ?? "" : formatChange(values[1] ?? NaN, values[0] ?? NaN),
  ]);
  const head = ["", ...policies, BASELINE, isCompared ? "better" : "change"];
  const isNumber = (column: number) => column > 0 && (!isCompared || column <= policies.length + 1);
  const table = formatTable([head, ...rows], isNumber).join("\n");
  if (!isCompared) return table;
  const counts = countBest(figures, policies.length);
  const compared = figures.filter(({ best }) => best !== null).length;
  const said = policies.map((policy, index) => `${toLine(policy)} in ${counts[index]}`).join(", ");
  return `${table}\n\nbetter, of ${compared} figures that differ: ${said}`;
}
