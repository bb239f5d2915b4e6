/**
 * What the containers of a pod do: as its annotation says, by container name and as JSON; else what their image is known
 * to do; else nothing. Probes are taken to succeed at their first try, whatever they ask.
 */
import type { Container, Pod } from "../../api/kubernetes.ts";
import { isRecord, quote } from "../../units/untrusted.ts";
import { type Load, parseLoad } from "../model/load.ts";
import { readProgram, type Told, toLoad } from "./load_image.ts";

/** The annotation of a pod that says by container what it uses. */
export const LOAD_ANNOTATION = "sim.podfit.dev/load";

/** The programs of a pod by container, and what could not be read. */
export interface PodLoads {
  readonly loads: Readonly<Record<string, Load>>;
  /** The problems of the annotation. A container with one idles. */
  readonly problems: readonly string[];
}

/** `told`: what a container of the load image was told while it ran, `null` = nothing. */
export function readLoads(pod: Pod, told: (container: string) => Told | null): PodLoads {
  const text = pod.metadata?.annotations?.[LOAD_ANNOTATION];
  const problems: string[] = [];
  const given = text === undefined ? {} : parseAnnotation(text, problems);
  const loads: Record<string, Load> = {};
  for (const container of listContainers(pod)) {
    const load = given[container.name];
    const program = readProgram(container);
    if (load !== undefined) loads[container.name] = load;
    else if (program !== null) {
      loads[container.name] = withHooks(container, withProbes(container, toLoad(program, told(container.name))));
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
