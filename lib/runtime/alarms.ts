/** What is due next? The alarms of a virtual clock; an embedded cluster sets thousands of them. */

/** Something that happens when a clock reaches `dueMs`, in ms since the clock's start. */
export interface Alarm {
  /** Orders alarms of the same time: the order in which they were set. */
  readonly sequence: number;
  readonly dueMs: number;
  readonly ring: () => void;
}

/** A binary heap by due time and sequence. */
export class Alarms {
  readonly #heap: Alarm[] = [];
  readonly #waiting = new Set<Alarm>();

  /** How many alarms wait, cancelled ones excluded. */
  get size(): number {
    return this.#waiting.size;
  }

  /** Adds an alarm in logarithmic time. */
  add(alarm: Alarm): void {
    this.#waiting.add(alarm);
    let index = this.#heap.push(alarm) - 1;
    for (let parent = (index - 1) >> 1; index > 0 && this.#isBefore(index, parent); parent = (index - 1) >> 1) {
      this.#swap(index, parent);
      index = parent;
    }
  }

  /** Cancels an alarm in constant time: it stays in the heap until its time has come. */
  cancel(alarm: Alarm): void {
    this.#waiting.delete(alarm);
    if (this.#waiting.size === 0) this.#heap.length = 0;
  }

  /** Removes and gives the next alarm that is due at `untilMs` or before; `null` when there is none. */
  take(untilMs: number): Alarm | null {
    for (let first = this.#heap[0]; first !== undefined; first = this.#heap[0]) {
      const isWaiting = this.#waiting.has(first);
      if (isWaiting && first.dueMs > untilMs) return null;
      this.#removeFirst();
      if (isWaiting) {
        this.#waiting.delete(first);
        return first;
      }
    }
    return null;
  }

  #removeFirst(): void {
    this.#swap(0, this.#heap.length - 1);
    this.#heap.pop();
    for (let index = 0;;) {
      const [left, right] = [2 * index + 1, 2 * index + 2];
      let least = index;
      if (left < this.#heap.length && this.#isBefore(left, least)) least = left;
      if (right < this.#heap.length && this.#isBefore(right, least)) least = right;
      if (least === index) return;
      this.#swap(index, least);
      index = least;
    }
  }

  #isBefore(a: number, b: number): boolean {
    const [one, other] = [this.#heap[a], this.#heap[b]];
    if (one === undefined || other === undefined) return false;
    return one.dueMs === other.dueMs ? one.sequence < other.sequence : one.dueMs < other.dueMs;
  }

  #swap(a: number, b: number): void {
    const [one, other] = [this.#heap[a], this.#heap[b]];
    if (one === undefined || other === undefined) return;
    [this.#heap[a], this.#heap[b]] = [other, one];
  }
}
