/**
 * How is usage kept as numbers? One flat table for each reading, whose memory is used again for later readings.
 *
 * A node of 110 pods has some 350 containers and pods, and a cluster hundreds of nodes: objects for all of them, each
 * 15 s, keep the garbage collector busy. Here they are built for a pod only when someone asks for its usage.
 */
import { type PodUsage, type PodUsages, ROW, ROW_LENGTH, type UsageRows } from "../api/usage.ts";
import { toPodUsage, toPoint, writePodCpu, writePoint } from "../units/usage_rows.ts";

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

  /** Adds a pod of which there are objects. */
  add(uid: string, usage: PodUsage): void {
    const podRow = this.addPod(uid);
    this.#usages[podRow / ROW_LENGTH] = usage;
    this.#numbers[podRow + ROW.usageBytes] = usage.usageBytes ?? NaN;
    if (usage.cpu !== undefined) writePodCpu(this.#numbers, podRow, usage.cpu);
    for (const point of usage.points) {
      const row = this.addContainer(point.container, point.instance);
      writePoint(this.#numbers, row, point);
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
    const points = Array.from({ length: this.#containers[pod] ?? 0 }, (_, place) => {
      const index = pod + 1 + place;
      const [container, instance] = [this.#names[index] ?? "", this.#instances[index] ?? ""];
      return toPoint(this.#numbers, index * ROW_LENGTH, { container, instance });
    });
    return toPodUsage(this.#numbers, row, points);
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
