/**
 * The last reading of a quiet pod, for who asks later what was decided. Each next one is written over it. The rows of a
 * reading are used again for others, so they are copied: into a plain array, which takes half of the memory of a
 * Float64Array of that length.
 */
import { type PodUsage, type Point, ROW_LENGTH, type RowsOfPod } from "../../api/usage.ts";
import type { NodeCapacity, Observation } from "../../model/decision.ts";
import type { PodFacts } from "../../model/pod.ts";
import { copyRow, toPodUsage, toPoint } from "../../units/usage_rows.ts";
import type { QuietInput } from "./step.ts";

export class KeptReading {
  readonly #pod: PodFacts;
  /** Objects of a source that has them. */
  #usage: PodUsage | null = null;
  /** The pod's own row, then those of its containers, and their instances; `null` = the source has no usage of it. */
  #rows: number[] | null = null;
  #instances: (string | null)[] = [];
  #clockOffsetMs = 0;
  #capacity: NodeCapacity = { cpuMillicores: null, memoryBytes: null };
  /** When the pod was evaluated with it, and when before, epoch ms. */
  now = 0;
  lastAt = 0;

  constructor(pod: PodFacts) {
    this.#pod = pod;
  }

  keep({ now, usage, clockOffsetMs, capacity }: QuietInput, lastAt: number): void {
    this.now = now;
    this.lastAt = lastAt;
    this.#clockOffsetMs = clockOffsetMs;
    this.#capacity = capacity;
    this.#usage = "rows" in usage ? null : usage;
    if ("rows" in usage) this.#keepRows(usage);
  }

  toObservation(): Observation {
    const usage = this.#usage ?? this.#toPodUsage(this.#rows ?? []);
    return { kind: "usage", usage, clockOffsetMs: this.#clockOffsetMs, capacity: this.#capacity };
  }

  #keepRows({ rows, row }: RowsOfPod): void {
    const { containers } = this.#pod;
    const kept = this.#rows ??= new Array<number>((1 + containers.length) * ROW_LENGTH).fill(NaN);
    copyRow(rows.numbers, row, { rows: kept, to: 0 });
    let index = 0;
    for (const { name } of containers) {
      const from = rows.findContainer(row, name);
      this.#instances[index++] = from < 0 ? null : rows.getInstance(from);
      if (from >= 0) copyRow(rows.numbers, from, { rows: kept, to: index * ROW_LENGTH });
    }
  }

  #toPodUsage(rows: readonly number[]): PodUsage {
    const points = this.#pod.containers.flatMap(({ name: container }, index): readonly Point[] => {
      const instance = this.#instances[index] ?? null;
      return instance === null ? [] : [toPoint(rows, (1 + index) * ROW_LENGTH, { container, instance })];
    });
    return toPodUsage(rows, 0, points);
  }
}
