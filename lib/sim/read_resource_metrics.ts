/** Reads `/metrics/resource` of a kubelet as metrics-server does: of each container its counter, memory and start. */

/** A container at one time. */
export interface ResourcePoint {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  /** Epoch ms. */
  readonly startedAt: number;
  readonly at: number;
  readonly cpuNs: number;
  readonly workingSetBytes: number;
}

/** Gives the containers of which all is there that a point needs; zeros of one that has ended are none. */
export function readPoints(text: string): readonly ResourcePoint[] {
  const found = new Map<string, Partial<Record<string, Sample>>>();
  for (const [, family = "", labels = "", value, at] of text.matchAll(SAMPLE)) {
    found.set(labels, { ...found.get(labels), [family]: { value: Number(value), at: Number(at ?? NaN) } });
  }
  return [...found].flatMap(([labels, { cpu_usage_seconds_total: cpu, memory_working_set_bytes: memory, ...rest }]) => {
    const { start_time_seconds: start } = rest;
    const [, container = "", namespace = "", pod = ""] = LABELS.exec(labels) ?? [];
    if (cpu === undefined || memory === undefined || cpu.value === 0 || memory.value === 0) return [];
    return [{
      namespace,
      pod,
      container,
      startedAt: 1000 * (start?.value ?? 0),
      at: cpu.at,
      cpuNs: Math.round(cpu.value * 1e9),
      workingSetBytes: memory.value,
    }];
  });
}

interface Sample {
  readonly value: number;
  /** Epoch ms. */
  readonly at: number;
}

const SAMPLE = /^container_(\w+)\{([^}]*)\} (\S+)(?: (\d+))?$/gm;
const LABELS = /^container="([^"]*)",namespace="([^"]*)",pod="([^"]*)"$/;
