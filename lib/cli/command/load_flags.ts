/** Which flags name the load that simulate and suggest run policies on? */
import { createFlag } from "./command.ts";
import { parseBetween, parsePrometheusFlags, type PrometheusQuery } from "./parse_values.ts";

/** No run and no load is longer. */
export const MAX_DAYS = 400;

/** The load, checked. */
export interface LoadOptions {
  /** FILE or CONTAINER=FILE. */
  readonly loads: readonly string[];
  readonly records: readonly string[];
  /** `null` = Prometheus is not asked. */
  readonly prometheus: PrometheusQuery | null;
  /** How many cores 100 % in a load are. */
  readonly percentOfCores: number;
}

/** The flags as commander parses them. */
export type LoadGiven = Readonly<{
  load?: readonly string[];
  fromRecord?: readonly string[];
  from?: readonly string[];
  memoryQuery?: string;
  percentOf: string;
  noise?: boolean;
}>;

export const LOAD_FLAGS = [
  createFlag("--load <file>", "CSV of what containers want; CONTAINER=FILE for one of them; repeatable", {
    isRepeatable: true,
  }),
  createFlag("--from-record <file>", "records as `podfit record` writes them, as a load; repeatable", {
    isRepeatable: true,
  }),
  createFlag("--from <source...>", "prometheus URL QUERY: usage by container, or a selector of cAdvisor's series"),
  createFlag("--memory-query <query>", "query for bytes of memory by container"),
  createFlag("--percent-of <cores>", "how many cores 100 percent in a load are", { fallback: "1" }),
  createFlag("--noise", "add 10 % of noise to CPU, which five-minute means hide"),
];

/** Returns the parsed flags, and whether any of them names a load. Throws a StartError for a wrong one. */
export function toLoadOptions(given: LoadGiven): LoadOptions & { readonly hasLoad: boolean } {
  const { load: loads = [], fromRecord: records = [] } = given;
  const prometheus = parsePrometheusFlags(given.from, given.memoryQuery);
  const percentOfCores = parseBetween({ name: "--percent-of", text: given.percentOf }, [0.001, 10_000]);
  return {
    loads,
    records,
    prometheus,
    percentOfCores,
    hasLoad: loads.length + records.length > 0 || prometheus !== null,
  };
}
