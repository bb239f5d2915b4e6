/**
 * Where the load of a simulation comes from: CSV files, records of a running podfit, or Prometheus.
 *
 * simulate and suggest use it. Each container gets the load that names it, or the one that names no container.
 */
import type { Autoscaler } from "../../model/autoscaler.ts";
import { BodyTooLarge, readText } from "../../kube/body.ts";
import { systemClock } from "../../runtime/clock.ts";
import { addNoise, type FetchLoads, type Load, type Loads, type NamedLoad } from "../../simulate/load.ts";
import { parseCsvLoads } from "../../simulate/load/csv.ts";
import {
  fetchPrometheusLoads,
  type GetText,
  MAX_ANSWER_BYTES,
  type PrometheusRange,
} from "../../simulate/load/prometheus.ts";
import { parseRecordLoads } from "../../simulate/load/usage.ts";
import { type Resource, RESOURCES } from "../../units/resources.ts";
import { MAX_DAYS } from "../command/load_flags.ts";
import type { PrometheusQuery } from "../command/parse_values.ts";
import { describeFileError, StartError } from "../command/process.ts";
import { formatNumber } from "../terminal/numbers.ts";

/** Where loads come from. */
export interface LoadSources {
  /** FILE or CONTAINER=FILE. */
  readonly csv: readonly string[];
  readonly records: readonly string[];
  readonly percentOfCores: number;
  /** The seed of the noise; `null` = no noise. */
  readonly noise: string | null;
  /** `null` = Prometheus is not asked. */
  readonly prometheus: PrometheusSource | null;
}

/** A load and where it is from. */
export interface SourcedLoad extends NamedLoad {
  /** As the command line has it: `app=curve.csv`, or the query. */
  readonly source: string;
}

/** Resolves to all of them, in the given order. Rejects with a StartError for an unreadable one. */
export async function readLoads(sources: LoadSources): Promise<readonly SourcedLoad[]> {
  const millicoresPerPercent = sources.percentOfCores * 10;
  const loads: SourcedLoad[] = [];
  for (const given of sources.csv) {
    const { container, file } = toNamed(given);
    const read = getLoadsOrThrow(parseCsvLoads(await readLoadFile(file), { file, millicoresPerPercent }));
    loads.push(...read.map((one) => ({ ...one, container: container ?? one.container, source: given })));
  }
  for (const file of sources.records) {
    const read = getLoadsOrThrow(parseRecordLoads(await readLoadFile(file), { file }));
    loads.push(...read.map((one) => ({ ...one, source: file })));
  }
  const { noise, prometheus } = sources;
  if (prometheus !== null) {
    const read = getLoadsOrThrow(await fetchPrometheusLoads(prometheus.range, prometheus.get));
    loads.push(...read.map((one) => ({ ...one, source: prometheus.range.query })));
  }
  for (const one of loads) checkLength(one);
  return noise === null ? loads : loads.map((one) => ({ ...one, load: addNoise(one.load, noise) }));
}

const DAY_SECONDS = 86_400;

/** A run of it would not end. */
function checkLength({ source, load: { seconds } }: SourcedLoad): void {
  const days = seconds / DAY_SECONDS;
  if (days <= MAX_DAYS) return;
  throw new StartError(
    `Cannot use load "${source}": it is ${
      formatNumber(days)
    } days long, and ${MAX_DAYS} are the most; give a part of it, ` +
      "or divide its seconds by 1000 if they are milliseconds",
  );
}

/**
 * Returns the loads that these containers use. Throws a StartError for a source without any: a load that somebody names
 * and that changes nothing is a slip. Records and Prometheus may have further containers and pods.
 */
export function takeUsed(named: readonly SourcedLoad[], containers: readonly string[]): readonly SourcedLoad[] {
  const used = selectUsed(named, containers);
  const [source] = listUnused(named, used);
  if (source !== undefined) {
    throw new StartError(`Cannot use load "${source}": ${explainUnused(named, { source, containers })}`);
  }
  return used;
}

/** Returns the loads that these containers use. */
export function selectUsed(named: readonly SourcedLoad[], containers: readonly string[]): readonly SourcedLoad[] {
  const used = new Set(containers.flatMap((one) => findNamed(named, one) ?? []));
  return named.filter((one) => used.has(one));
}

/** Returns the sources that have none of the used loads. */
export function listUnused(named: readonly SourcedLoad[], used: readonly SourcedLoad[]): readonly string[] {
  const sources = new Set(used.map(({ source }) => source));
  return [...new Set(named.map(({ source }) => source))].filter((one) => !sources.has(one));
}

function explainUnused(
  named: readonly SourcedLoad[],
  { source, containers }: { readonly source: string; readonly containers: readonly string[] },
): string {
  const own = named.filter((one) => one.source === source);
  const taken = containers.find((name) => own.some(({ container }) => container === null || container === name));
  if (taken !== undefined) {
    const { source: other } = findNamed(named, taken) ?? {};
    return `container ${taken} has load "${other}"; give one load for each container`;
  }
  const names = [...new Set(own.map(({ container }) => container))].slice(0, MAX_NAMES).join(", ");
  return `it is of container ${names}, and the files have ${[...new Set(containers)].join(", ")}; correct the name`;
}

const MAX_NAMES = 5;

/** Returns a sentence for each used pod whose source has other pods with the same container. */
export function describeOtherPods(named: readonly SourcedLoad[], used: readonly SourcedLoad[]): readonly string[] {
  return [
    ...new Set(used.flatMap(({ source, pod, container }) => {
      const others = named.filter((one) => one.source === source && one.container === container && one.pod !== pod);
      if (pod === null || others.length === 0) return [];
      return [
        `Of the ${
          others.length + 1
        } pods in "${source}", the load is that of ${pod}; for another, name a file with the ` +
        "records of that pod",
      ];
    })),
  ];
}

/** The resources that no load has, by container. An invented amount would show savings that do not exist. */
export type UnknownResources = Readonly<Record<string, readonly Resource[]>>;

/** Returns the resources that are in no load, for each container that misses one. */
export function findUnknown(named: readonly NamedLoad[], containers: readonly string[]): UnknownResources {
  return Object.fromEntries(containers.flatMap((container) => {
    const seen = findNamed(named, container)?.seen ?? [];
    const unknown = RESOURCES.filter((one) => !seen.includes(one));
    return unknown.length === 0 ? [] : [[container, unknown] as const];
  }));
}

/** Returns the load of each container: the one that names it, else the one that names none. What it lacks is 0. */
export function selectLoads(named: readonly NamedLoad[], containers: readonly string[]): Loads {
  const masked = new Map<NamedLoad, Load>();
  return Object.fromEntries(containers.flatMap((container) => {
    const found = findNamed(named, container);
    if (found === undefined) return [];
    const load = masked.get(found) ?? maskUnknown(found);
    masked.set(found, load);
    return [[container, load] as const];
  }));
}

function findNamed<T extends NamedLoad>(named: readonly T[], name: string): T | undefined {
  return named.find(({ container }) => container === name) ?? named.find(({ container }) => container === null);
}

/** Returns the load with 0 of what it lacks. */
export function maskUnknown({ load, seen }: Pick<NamedLoad, "load" | "seen">): Load {
  const zero = {
    ...seen.includes("cpu") ? {} : { cpuMillicores: 0 },
    ...seen.includes("memory") ? {} : { workingSetBytes: 0 },
  };
  return seen.length === RESOURCES.length ? load : { ...load, at: (second) => ({ ...load.at(second), ...zero }) };
}

/** Own properties only: a container may be named `constructor`. */
export function listUnknown(unknown: UnknownResources, container: string): readonly Resource[] {
  return Object.hasOwn(unknown, container) ? unknown[container] ?? [] : [];
}

/** Returns autoscalers that leave unknown resources alone. One without any still has usage read, for replicas. */
export function withoutUnknown(autoscalers: readonly Autoscaler[], unknown: UnknownResources): readonly Autoscaler[] {
  return autoscalers.map((one) => {
    const missing = listUnknown(unknown, one.containerName);
    return { ...one, sides: one.sides.filter(({ resource }) => !missing.includes(resource)) };
  });
}

/** `app=curve.csv` is a load of `app`, `curve.csv` and `./a=b.csv` of every container. */
function toNamed(given: string): { readonly container: string | null; readonly file: string } {
  const match = /^([a-z0-9]([-a-z0-9]*[a-z0-9])?)=(.+)$/.exec(given);
  return match === null ? { container: null, file: given } : { container: match[1] ?? null, file: match[3] ?? given };
}

function getLoadsOrThrow(read: FetchLoads): readonly NamedLoad[] {
  if (!read.ok) throw new StartError(read.message);
  return read.loads;
}

async function readLoadFile(file: string): Promise<string> {
  try {
    return await Deno.readTextFile(file);
  } catch (error) {
    throw new StartError(`Cannot read load "${file}": ${describeFileError(error)}`, { cause: error });
  }
}

/** The query. */
export interface PrometheusSource {
  readonly range: PrometheusRange;
  readonly get: GetText;
}

/** The last `spanMs` up to now. */
export function openPrometheus({ memoryQuery, ...asked }: PrometheusQuery, spanMs: number): PrometheusSource {
  const to = systemClock.now();
  const range = { ...asked, from: to - spanMs, to, ...memoryQuery === null ? {} : { memoryQuery } };
  return { range, get: fetchText };
}

const ANSWER_MS = 60_000;

async function fetchText(url: string): Promise<{ readonly status: number; readonly text: string }> {
  using timeout = systemClock.timeout(ANSWER_MS);
  try {
    const response = await fetch(url, { signal: timeout.signal, headers: { accept: "application/json" } });
    const text = await readText(response, { limitBytes: MAX_ANSWER_BYTES, signal: timeout.signal });
    return { status: response.status, text };
  } catch (error) {
    if (error instanceof BodyTooLarge) {
      throw new Error("the answer has more than 32 MiB; ask for less", { cause: error });
    }
    if (timeout.signal.aborted) throw new Error(`no answer within ${ANSWER_MS / 1000} s`, { cause: error });
    throw error;
  }
}
