/**
 * How is usage kept as numbers? One flat table for each reading, whose memory is used again for later readings.
 *
 * A node of 110 pods has some 350 containers and pods, and a cluster hundreds of nodes: objects for all of them, each
 * 15 s, keep the garbage collector busy. Here they are built for a pod only when someone asks for its usage.
 */
import {
  type PodCpu,
  type PodUsage,
  type PodUsages,
  type Point,
  type Pressure,
  ROW,
  ROW_LENGTH,
  type UsageRows,
} from "../api/usage.ts";

/** Usage of the pods of one reading. `clear` gives it back to the pool it is of; without one it is simply emptied. */
export class UsageTable implements UsageRows, PodUsages {
  readonly #pool: UsageTablePool | null;
  /** By UID, the start of the pod's row; in the order of the source. */
  readonly #pods = new Map<string, number>();
  /** By row: how many rows of containers follow that of a pod, and the names, instances and objects. */
  readonly #containers: number[] = [];
  readonly #names: string[] = [];
  readonly #instances: string[] = [];
  readonly #usages: (PodUsage | null)[] = [];
  #numbers = new Float64Array(FIRST_ROWS * ROW_LENGTH);
  #rows = 0;
  #lastPod = -1;

  constructor(pool: UsageTablePool | null = null) {
    this.#pool = pool;
  }

  /** Another array after a row was added for which there was no space. */
  get numbers(): Float64Array {
    return this.#numbers;
  }

  get size(): number {
    return this.#pods.size;
  }

  /** Adds a pod without numbers and returns the start of its row. The UID must be new, see `has`. */
  addPod(uid: string): number {
    const row = this.#addRow("", "");
    this.#lastPod = row / ROW_LENGTH;
    this.#pods.set(uid, row);
    return row;
  }

  /** Adds a container without numbers to the newest pod and returns the start of its row. */
  addContainer(name: string, instance: string): number {
    this.#containers[this.#lastPod] = (this.#containers[this.#lastPod] ?? 0) + 1;
    return this.#addRow(name, instance);
  }

  /** Adds a pod of which there are objects. A rate has no field in a row, so its counter is NaN. */
  add(uid: string, usage: PodUsage): void {
    const podRow = this.addPod(uid);
    this.#usages[podRow / ROW_LENGTH] = usage;
    this.#numbers[podRow + ROW.usageBytes] = usage.usageBytes ?? NaN;
    if (usage.cpu !== undefined) {
      writeTime(this.#numbers, podRow, usage.cpu);
      this.#numbers[podRow + ROW.counterNs] = usage.cpu.counterNs;
    }
    for (const point of usage.points) {
      const row = this.addContainer(point.container, point.instance);
      writeTime(this.#numbers, row, point);
      this.#numbers[row + ROW.counterNs] = point.cpu.kind === "counter" ? point.cpu.counterNs : NaN;
      this.#numbers[row + ROW.workingSetBytes] = point.workingSetBytes;
      this.#numbers[row + ROW.usageBytes] = point.usageBytes ?? NaN;
      this.#numbers[row + ROW.oomKills] = point.oomKills ?? NaN;
    }
  }

  findPod(uid: string): number {
    return this.#pods.get(uid) ?? -1;
  }

  findContainer(podRow: number, name: string): number {
    const pod = podRow / ROW_LENGTH;
    const last = pod + (this.#containers[pod] ?? 0);
    for (let index = pod + 1; index <= last; index++) if (this.#names[index] === name) return index * ROW_LENGTH;
    return -1;
  }

  getInstance(row: number): string {
    return this.#instances[row / ROW_LENGTH] ?? "";
  }

  has(uid: string): boolean {
    return this.#pods.has(uid);
  }

  /** The same object each time. */
  get(uid: string): PodUsage | undefined {
    const row = this.#pods.get(uid);
    return row === undefined ? undefined : this.#usages[row / ROW_LENGTH] ??= this.#toPodUsage(row);
  }

  keys(): Iterable<string> {
    return this.#pods.keys();
  }

  *values(): Generator<PodUsage> {
    for (const [, usage] of this) yield usage;
  }

  *[Symbol.iterator](): Generator<[string, PodUsage]> {
    for (const [uid, row] of this.#pods) yield [uid, this.#usages[row / ROW_LENGTH] ??= this.#toPodUsage(row)];
  }

  clear(): void {
    if (this.#rows === 0) return;
    this.#pods.clear();
    // The objects may be large; texts are those of pods that are there again in the next reading.
    this.#usages.fill(null);
    this.#rows = 0;
    this.#pool?.release(this);
  }

  #addRow(name: string, instance: string): number {
    const index = this.#rows++;
    const row = index * ROW_LENGTH;
    if (row >= this.#numbers.length) {
      const numbers = new Float64Array(2 * this.#numbers.length);
      numbers.set(this.#numbers);
      this.#numbers = numbers;
    }
    for (let field = 0; field < ROW_LENGTH; field++) this.#numbers[row + field] = NaN;
    this.#containers[index] = 0;
    this.#names[index] = name;
    this.#instances[index] = instance;
    this.#usages[index] = null;
    return row;
  }

  #toPodUsage(row: number): PodUsage {
    const pod = row / ROW_LENGTH;
    const count = this.#containers[pod] ?? 0;
    const points = Array.from({ length: count }, (_, index) => this.#toPoint(pod + 1 + index));
    const usageBytes = toNullable(this.#numbers[row + ROW.usageBytes]);
    const cpu = this.#toPodCpu(row);
    return cpu === null ? { usageBytes, points } : { usageBytes, points, cpu };
  }

  #toPodCpu(row: number): PodCpu | null {
    const numbers = this.#numbers;
    const at = toNullable(numbers[row + ROW.at]);
    return at === null ? null : {
      at,
      resolutionMs: numbers[row + ROW.resolutionMs] ?? NaN,
      counterNs: numbers[row + ROW.counterNs] ?? NaN,
      pressure: toPressure(numbers, row),
    };
  }

  #toPoint(index: number): Point {
    const numbers = this.#numbers;
    const row = index * ROW_LENGTH;
    const oomKills = toNullable(numbers[row + ROW.oomKills]);
    const point = {
      container: this.#names[index] ?? "",
      instance: this.#instances[index] ?? "",
      at: numbers[row + ROW.at] ?? NaN,
      resolutionMs: numbers[row + ROW.resolutionMs] ?? NaN,
      cpu: { kind: "counter", counterNs: numbers[row + ROW.counterNs] ?? NaN },
      workingSetBytes: numbers[row + ROW.workingSetBytes] ?? NaN,
      usageBytes: toNullable(numbers[row + ROW.usageBytes]),
      pressure: toPressure(numbers, row),
    } as const;
    return oomKills === null ? point : { ...point, oomKills };
  }
}

/** The tables of readings that were emptied, to be filled again. */
export class UsageTablePool {
  readonly #spares: UsageTable[] = [];

  take(): UsageTable {
    return this.#spares.pop() ?? new UsageTable(this);
  }

  /** Called by the table, when it is emptied. */
  release(table: UsageTable): void {
    if (this.#spares.length < MAX_SPARES && table.numbers.length <= MAX_SPARE_ROWS * ROW_LENGTH) {
      this.#spares.push(table);
    }
  }
}

const FIRST_ROWS = 128;

/** As many nodes are read at a time. */
const MAX_SPARES = 16;

/** A node of 250 pods with three containers has as many. */
const MAX_SPARE_ROWS = 1024;

const NS_PER_UNIT = { us: 1000, ns: 1 } as const;

function writeTime(
  numbers: Float64Array,
  row: number,
  { at, resolutionMs, pressure }: Pick<Point, "at" | "resolutionMs" | "pressure">,
): void {
  numbers[row + ROW.at] = at;
  numbers[row + ROW.resolutionMs] = resolutionMs;
  if (pressure === null) return;
  numbers[row + ROW.fullNs] = pressure.fullNs ?? NaN;
  numbers[row + ROW.throttledNs] = pressure.throttledNs ?? NaN;
  numbers[row + ROW.largestCpuNs] = pressure.largestCpuNs ?? NaN;
  if (pressure.fullHint === undefined) return;
  numbers[row + ROW.fullUnitNs] = NS_PER_UNIT[pressure.fullHint.unit];
  numbers[row + ROW.fullPercent] = pressure.fullHint.percent;
}

function toPressure(numbers: Float64Array, row: number): Pressure | null {
  const fullNs = toNullable(numbers[row + ROW.fullNs]);
  const throttledNs = toNullable(numbers[row + ROW.throttledNs]);
  const largestCpuNs = toNullable(numbers[row + ROW.largestCpuNs]);
  if (fullNs === null && throttledNs === null && largestCpuNs === null) return null;
  const unitNs = toNullable(numbers[row + ROW.fullUnitNs]);
  if (unitNs === null) return { fullNs, throttledNs, largestCpuNs };
  const fullHint = {
    unit: unitNs === NS_PER_UNIT.us ? "us" : "ns",
    percent: numbers[row + ROW.fullPercent] ?? NaN,
  } as const;
  return { fullNs, fullHint, throttledNs, largestCpuNs };
}

function toNullable(number: number | undefined): number | null {
  return number === undefined || Number.isNaN(number) ? null : number;
}
