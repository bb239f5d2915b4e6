/** The flags of `podfit sample`: what it uses at the start, and the most that a request may set. */
import { createFlag, defineCommand, type Typed } from "../command/command.ts";
import { type FlagValue, parseListen, parseSize } from "../command/parse_values.ts";
import { StartError } from "../command/process.ts";
import { formatAmount } from "../../units/quantity.ts";

/** What the sample uses. */
export interface SampleLoad {
  readonly cpuMillicores: number;
  /** In addition to what the program needs itself. */
  readonly memoryBytes: number;
}

/** The options of the sample, checked. */
export interface SampleOptions {
  readonly listen: { readonly hostname: string; readonly port: number };
  readonly start: SampleLoad;
  readonly max: SampleLoad;
}

/** It has one thread, which needs some time to answer. */
const MAX_CPU_MILLICORES = 900;

const MAX_MEMORY_BYTES = 8 * 2 ** 30;

const NOTES = `
A workload to try podfit on: it uses as much CPU and memory as you say. It needs
no cluster and no rights. Change its load while it runs:

  GET /set?cpu=300m&memory=64Mi   what it uses from now on; one is enough
  GET /set                        what it is set to

The program itself needs about 30Mi of memory; --memory is used in addition.
Anyone who reaches the address may set the load, up to --max-cpu and
--max-memory. The sample ends with exit code 0 after SIGTERM or Ctrl-C.
`;

type Given = Readonly<{ cpu: string; memory: string; maxCpu: string; maxMemory: string; listen: string }>;

export const createSampleCommand = defineCommand({
  name: "sample",
  description: "a workload to try podfit on, whose CPU and memory you set",
  flags: [
    createFlag("--cpu <quantity>", "CPU that it uses, at most 900m", { fallback: "0" }),
    createFlag("--memory <quantity>", "memory that it holds, in addition to its own", { fallback: "0" }),
    createFlag("--max-cpu <quantity>", "the most CPU that a request may set, at most 900m", { fallback: "900m" }),
    createFlag("--max-memory <quantity>", "the most memory that a request may set, at most 8Gi", { fallback: "512Mi" }),
    createFlag("--listen <address>", "where it answers", { fallback: "0.0.0.0:8080" }),
  ],
  notes: NOTES,
  examples: [
    ["40 millicores and 64 MiB, on this machine only", "podfit sample --cpu 40m --memory 64Mi --listen 127.0.0.1:8080"],
    ["no load until a request sets it, at most half a core", "podfit sample --max-cpu 500m"],
  ],
  parse: ({ given }: Typed<Given>): SampleOptions => {
    const max = {
      cpuMillicores: parseUpTo({ name: "--max-cpu", text: given.maxCpu }, "cpu", MAX_CPU_MILLICORES),
      memoryBytes: parseUpTo({ name: "--max-memory", text: given.maxMemory }, "memory", MAX_MEMORY_BYTES),
    };
    return {
      listen: parseListen({ name: "--listen", text: given.listen }),
      start: parseLoad({ cpu: given.cpu, memory: given.memory }, { max, prefix: "--" }),
      max,
    };
  },
});

interface LoadTexts {
  readonly cpu?: string | undefined;
  readonly memory?: string | undefined;
}

interface LoadLimits {
  readonly max: SampleLoad;
  /** Stands before the names in errors. */
  readonly prefix?: string;
  /** For what is not written; nothing by default. */
  readonly before?: SampleLoad;
}

const NO_LOAD: SampleLoad = { cpuMillicores: 0, memoryBytes: 0 };

/** Returns the load that is asked for. Throws a StartError for what is not a quantity, or above the maximum. */
export function parseLoad({ cpu, memory }: LoadTexts, { max, prefix = "", before = NO_LOAD }: LoadLimits): SampleLoad {
  const at = (name: string, text: string): FlagValue => ({ name: `${prefix}${name}`, text });
  return {
    cpuMillicores: cpu === undefined ? before.cpuMillicores : parseUpTo(at("cpu", cpu), "cpu", max.cpuMillicores),
    memoryBytes: memory === undefined ? before.memoryBytes : parseUpTo(at("memory", memory), "memory", max.memoryBytes),
  };
}

function parseUpTo(written: FlagValue, resource: "cpu" | "memory", max: number): number {
  const amount = /^0+[a-zA-Z]*$/.test(written.text) ? 0 : parseSize(written, resource);
  if (amount <= max) return amount;
  throw new StartError(`Cannot use ${written.name} "${written.text}": at most ${formatAmount(max, resource)}`);
}
