/**
 * What do the containers of a pod do? Their annotation says it, else their image, else they idle.
 * The annotation of the pod decides, then what the image is known to do. Otherwise a container does nothing. Probes
 * succeed at their first try.
 */
import type { Container, Pod } from "../../api/kubernetes.ts";
import { parseAmount } from "../../units/quantity.ts";
import { isRecord, quote } from "../../units/untrusted.ts";
import { type Curve, IDLE, type Load, parseLoad } from "../model/load.ts";

/** `findRequest`: the load that a container of the load image was sent while it ran, `null` = none. */
export function parseLoads(pod: Pod, findRequest: (container: string) => LoadRequest | null): PodLoads {
  const text = pod.metadata?.annotations?.[LOAD_ANNOTATION];
  const problems: string[] = [];
  const given = text === undefined ? {} : parseAnnotation(text, problems);
  const loads: Record<string, Load> = {};
  for (const container of listContainers(pod)) {
    const load = given[container.name];
    const program = parseProgram(container);
    if (load !== undefined) loads[container.name] = load;
    else if (program !== null) {
      loads[container.name] = withHooks(
        container,
        withProbes(container, toProgramLoad(program, findRequest(container.name))),
      );
    }
  }
  const names = new Set(listContainers(pod).map(({ name }) => name));
  for (const name of Object.keys(given)) if (!names.has(name)) problems.push(`${name}: the pod has no such container`);
  return { loads, problems };
}

/** All containers of a pod, init containers first. */
export function listContainers({ spec }: Pod): readonly Container[] {
  return [...spec?.initContainers ?? [], ...spec?.containers ?? []];
}

/** The image whose containers use what they are asked to. */
export const LOAD_IMAGE = "localhost/load:1";

/** How much a container of the load image uses. */
export interface LoadSetting {
  readonly cpuMillicores: number;
  readonly memoryMiB: number;
}

/** `null` for a container that is neither of the load image nor `podfit sample`. */
export function parseProgram({ image, env = [], args = [] }: Container): LoadProgram | null {
  if (SAMPLE_IMAGE.test(image ?? "") && args[0] === "sample") return parseSample(args);
  if (image !== LOAD_IMAGE) return null;
  const read = (name: string) => env.find((variable) => variable.name === name)?.value ?? "";
  const [cpu, memory, port] = [read("CPU"), read("MEM"), read("PORT") || "8080"];
  if (![cpu, memory].every((text) => /^\+?\d*$/.test(text))) return { kind: "fails", code: 2 };
  if (!(Number(port) > 0 && Number(port) < 65_536)) return { kind: "fails", code: 1 };
  return { kind: "runs", port: Number(port), setting: { cpuMillicores: Number(cpu), memoryMiB: Number(memory) } };
}

/** podfit's image, of any registry and version. */
const SAMPLE_IMAGE = /(^|\/)podfit([:@]|$)/;

/** What the program needs itself (measured). */
const SAMPLE_MIB = 26;

function parseSample(args: readonly string[]): LoadProgram {
  const read = (name: string) => args.find((arg) => arg.startsWith(`--${name}=`))?.slice(name.length + 3) ?? "0";
  const [cpu, memory] = [parseAmount(read("cpu"), "cpu"), parseAmount(read("memory"), "memory")];
  if (!cpu.ok || !memory.ok) return { kind: "fails", code: 2 };
  const setting = { cpuMillicores: cpu.amount, memoryMiB: SAMPLE_MIB + Math.ceil(memory.amount / 2 ** 20) };
  return { kind: "runs", port: 8080, setting };
}

/** A setting that an instance was given while it ran. */
export interface LoadRequest {
  readonly setting: LoadSetting;
  /** The age of the instance at that time. */
  readonly ageMs: number;
}

/** A program that holds memory also has a page table and the spans of its heap (1.2 and 2.0 MB were measured). */
export function parseMemory({ memoryMiB }: LoadSetting): number {
  return memoryMiB * 2 ** 20 + (memoryMiB > 0 ? 2_000_000 : 1_200_000);
}

/** The annotation of a pod that says by container what it uses. */
const LOAD_ANNOTATION = "sim.podfit.dev/load";

/** The programs of a pod by container, and what could not be read. */
interface PodLoads {
  readonly loads: Readonly<Record<string, Load>>;
  /** The problems of the annotation. A container with one idles. */
  readonly problems: readonly string[];
}

function parseAnnotation(text: string, problems: string[]): Readonly<Record<string, Load>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    problems.push(error instanceof Error ? error.message : String(error));
    return {};
  }
  if (!isRecord(value)) {
    problems.push(`must be an object by container name, not ${quote(value)}`);
    return {};
  }
  const loads: Record<string, Load> = {};
  for (const [name, one] of Object.entries(value)) {
    const parsed = parseLoad(one);
    if (parsed.ok) loads[name] = parsed.load;
    else problems.push(...parsed.problems.map(({ path, message }) => `${[name, path].join(".")}: ${message}`));
  }
  return loads;
}

const FIRST_PROBE_MS = 100;

function withProbes({ startupProbe, readinessProbe }: Container, load: Load): Load {
  const delays = [startupProbe, readinessProbe].flatMap((probe) =>
    probe === undefined ? [] : [(probe.initialDelaySeconds ?? 0) * 1000 + FIRST_PROBE_MS]
  );
  return delays.length === 0 ? load : { ...load, readyAfterMs: Math.max(load.readyAfterMs, ...delays) };
}

/** A hook that sleeps comes before SIGTERM, and within the same grace. */
function withHooks({ lifecycle }: Container, load: Load): Load {
  const seconds = lifecycle?.preStop?.sleep?.seconds ?? 0;
  return { ...load, stops: { ...load.stops, afterMs: load.stops.afterMs + seconds * 1000 } };
}

/** What a container of the load image does with its environment. */
type LoadProgram =
  | { readonly kind: "runs"; readonly port: number; readonly setting: LoadSetting }
  /** It cannot work with its environment, and ends. */
  | { readonly kind: "fails"; readonly code: number };

/** The load that a program makes, with what its instance was asked to use since. */
function toProgramLoad(program: LoadProgram, request: LoadRequest | null): Load {
  if (program.kind === "fails") return { ...IDLE, exits: { afterMs: 10, code: program.code } };
  const { setting } = program;
  const curve = (read: (setting: LoadSetting) => number): Curve =>
    request === null ? { kind: "constant", value: read(setting) } : {
      kind: "step",
      clock: "container",
      atMs: Math.max(request.ageMs, MIN_AGE_MS),
      before: read(setting),
      after: read(request.setting),
    };
  return { ...IDLE, cpuMillicores: curve(parseCpu), workingSetBytes: curve(parseMemory) };
}

/** In addition to its load: Go's runtime and the timers of its burners (measured). */
function parseCpu({ cpuMillicores }: LoadSetting): number {
  return cpuMillicores + IDLE_MILLICORES;
}

const IDLE_MILLICORES = 1;

/** The least age: by then it is known that a new instance runs, which keeps to its environment. */
const MIN_AGE_MS = 300;
