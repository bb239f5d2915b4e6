/** Reads the files of `--load` and `--from-record`, asks Prometheus, and says which container each is the load of. */
import { readCsv } from "../../simulate/load/csv.ts";
import type { NamedLoad, ReadLoads } from "../../simulate/load/load.ts";
import { addNoise } from "../../simulate/load/noise.ts";
import { readPrometheus } from "../../simulate/load/prometheus.ts";
import { readRecords } from "../../simulate/load/record.ts";
import type { Load, Loads } from "../../simulate/engine/load.ts";
import type { PrometheusSource } from "./prometheus.ts";
import { StartError, toStartError } from "../run/start_error.ts";

/** Where loads come from. */
export interface LoadSources {
  /** FILE or CONTAINER=FILE. */
  readonly csv: readonly string[];
  readonly records: readonly string[];
  readonly percentOfCores: number;
  /** The seed of noise upon them; `null` = none. */
  readonly noise: string | null;
  /** `null` = none is asked. */
  readonly prometheus: PrometheusSource | null;
}

/** All of them, in the order given. Throws a StartError for what cannot be read. */
export async function readLoads(sources: LoadSources): Promise<readonly NamedLoad[]> {
  const millicoresPerPercent = sources.percentOfCores * 10;
  const loads: NamedLoad[] = [];
  for (const given of sources.csv) {
    const { container, file } = toNamed(given);
    const read = take(readCsv(await readText(file), { file, millicoresPerPercent }));
    loads.push(...read.map((one) => ({ ...one, container: container ?? one.container })));
  }
  for (const file of sources.records) loads.push(...take(readRecords(await readText(file), { file })));
  const { noise, prometheus } = sources;
  if (prometheus !== null) loads.push(...take(await readPrometheus(prometheus.range, prometheus.get)));
  return noise === null ? loads : loads.map((one) => ({ ...one, load: addNoise(one.load, noise) }));
}

/** The load of each container: the one that names it, else the one that names none. */
export function toLoads(named: readonly NamedLoad[], containers: readonly string[]): Loads {
  const loads: Record<string, Load> = {};
  for (const name of containers) {
    const found = named.find(({ container }) => container === name) ??
      named.find(({ container }) => container === null);
    if (found !== undefined) loads[name] = found.load;
  }
  return loads;
}

/** `app=curve.csv` is a load of `app`, `curve.csv` and `./a=b.csv` of every container. */
function toNamed(given: string): { readonly container: string | null; readonly file: string } {
  const match = /^([a-z0-9]([-a-z0-9]*[a-z0-9])?)=(.+)$/.exec(given);
  return match === null ? { container: null, file: given } : { container: match[1] ?? null, file: match[3] ?? given };
}

function take(read: ReadLoads): readonly NamedLoad[] {
  if (!read.ok) throw new StartError(read.message);
  return read.loads;
}

async function readText(file: string): Promise<string> {
  try {
    return await Deno.readTextFile(file);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) throw new StartError(`Cannot read load "${file}": no such file`);
    throw toStartError(new Error(`Cannot read load "${file}": ${error instanceof Error ? error.message : error}`));
  }
}
