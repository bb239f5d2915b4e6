/**
 * How do the values of a scan become rows? They are checked as `parseSummary` checks them, so that both give the same.
 *
 * Texts of a pod are compared with those of its last reading, and decoded only if they differ.
 */
import { ROW } from "../../api/usage.ts";
import { createDeduplicator } from "../../runtime/buffers.ts";
import { findNumber, NS_PER_UNIT } from "../../units/usage_rows.ts";
import { UTF8 } from "../json/scanner.ts";
import { UsageTable, UsageTablePool } from "../rows.ts";
import {
  findPsiUnit,
  isAmount,
  isPercent,
  isTotal,
  MAX_BYTES,
  MAX_COUNTER_NS,
  MAX_NAME_LENGTH,
  MAX_PODS,
  SECOND_MS,
  type SummaryOptions,
  type SummaryReading,
  toLatestAt,
  toUsageBytes,
} from "./parse_summary.ts";

/** Thrown where a summary is not as expected. */
export const GIVE_UP = new Error("The summary is not as expected");

/**
 * Where the scanner puts the values of an object: a text has two columns, its start and its end; a time has three: its
 * ms and its text. NaN = absent.
 */
export const COLUMN = {
  name: 0,
  started: 2,
  startedText: 3,
  at: 5,
  counter: 8,
  /** 1 if the object is there. */
  hasCpu: 9,
  hasMemory: 10,
  hasFull: 11,
  hasSome: 12,
  full: 13,
  avg10: 14,
  avg60: 15,
  some: 16,
  usage: 17,
  workingSet: 18,
  memoryStall: 19,
  /** For what is not read again. */
  unread: 20,
} as const;

const COLUMNS = 21;

/** Where the columns begin of the node, of its present pod and of that pod's present container. */
export const NODE = 0;
export const POD = COLUMNS;
export const CONTAINER = 2 * COLUMNS;

/** Pods of one node by a hash of their UID, because a kubelet lists them in no order. */
export type KnownPods = Map<number, KnownPod>;

/** The texts of a pod in its last reading. */
interface KnownPod {
  readonly uid: string;
  containers: readonly KnownContainer[];
  /** The scan that it was last in. */
  scan: number;
}

interface KnownContainer {
  readonly name: string;
  instance: string;
}

/** The rows of one summary after the other. */
export class SummaryRows {
  /** Filled by the scanner. */
  readonly values = new Float64Array(3 * COLUMNS);
  readonly #tables = new UsageTablePool();
  #bytes: Uint8Array = new Uint8Array();
  #known: KnownPods = new Map();
  #isTracked: (uid: string) => boolean = () => false;
  #nodeNow: number | undefined = undefined;
  #latestAt = NaN;
  #table = new UsageTable();
  #scan = 0;
  #pods = 0;
  #skipped = 0;
  /** The pod that is scanned, and the start of its row: -1 before its UID, UNTRACKED if it is not wanted. */
  #pod: KnownPod = { uid: "", containers: [], scan: 0 };
  #podRow = -1;
  #containers = 0;
  #nodeName = "";
  /** Names of containers are few. */
  readonly #share = createDeduplicator((name: string) => name);

  /** `known` is that of the node, and is brought up to date. */
  begin(bytes: Uint8Array, known: KnownPods, { tracked, nodeNow }: SummaryOptions): void {
    this.#bytes = bytes;
    this.#known = known;
    this.#isTracked = typeof tracked === "function" ? tracked : (uid) => tracked.has(uid);
    this.#nodeNow = nodeNow;
    this.#latestAt = NaN;
    this.#table = this.#tables.take();
    this.#scan++;
    this.#pods = 0;
    this.#skipped = 0;
    this.values.fill(NaN);
  }

  /** Forgets the bytes. */
  release(): void {
    this.#bytes = new Uint8Array();
  }

  /** Gives back the rows of a summary that was not as expected. */
  discard(): void {
    this.#table.clear();
  }

  /** Returns the whole reading. */
  end(): SummaryReading {
    const node = { name: this.#getNodeName(), at: findNumber(this.values, NODE + COLUMN.at) };
    // The node has come after its pods.
    if (!Number.isNaN(this.#latestAt) && this.#latestAt !== toLatestAt(node.at, this.#nodeNow)) throw GIVE_UP;
    this.#forgetPods();
    return { kind: "summary", node, pods: this.#table, rows: this.#table, skipped: this.#skipped };
  }

  /** Called before the first pod of the node, or the first container of a pod. `base`: POD or CONTAINER. */
  beginList(base: number): void {
    if (base === POD) {
      this.#latestAt = toLatestAt(findNumber(this.values, NODE + COLUMN.at), this.#nodeNow);
      return;
    }
    if (this.#podRow < 0) throw GIVE_UP;
    this.#containers = 0;
  }

  /** Called before the fields of a pod or a container. */
  beginEntry(base: number): void {
    if (base === POD) this.#podRow = -1;
    else if (this.#containers === MAX_SCANNED_CONTAINERS) throw GIVE_UP;
    for (let column = 0; column < COLUMNS; column++) this.values[base + column] = NaN;
  }

  /** Called after them. */
  endEntry(base: number): void {
    if (base === POD) this.#endPod();
    else this.#endContainer();
  }

  /** Called when the UID is there. Returns whether the pod is wanted; then it has a row. */
  addPod(): boolean {
    const start = this.values[POD + COLUMN.name] ?? NaN;
    const end = this.values[POD + COLUMN.name + 1] ?? NaN;
    if (!(end > start)) throw GIVE_UP;
    const key = hash(this.#bytes, start, end);
    let pod = this.#known.get(key);
    if (pod === undefined || !this.#isText(pod.uid, start, end)) {
      pod = { uid: this.#decode(start, end), containers: [], scan: 0 };
      if (this.#known.size < MAX_KNOWN_PODS) this.#known.set(key, pod);
    }
    if (pod.scan !== this.#scan) this.#pods++;
    pod.scan = this.#scan;
    if (!this.#isTracked(pod.uid)) {
      this.#podRow = UNTRACKED;
      return false;
    }
    if (this.#table.has(pod.uid) || this.#table.size === MAX_PODS) throw GIVE_UP;
    this.#pod = pod;
    this.#podRow = this.#table.addPod(pod.uid);
    return true;
  }

  /** Writes the row of a container, or counts it as `parseSummary` does. */
  #endContainer(): void {
    const { values } = this;
    const [hasName, hasStart] = [this.#hasText(CONTAINER + COLUMN.name), this.#hasText(CONTAINER + COLUMN.startedText)];
    const at = values[CONTAINER + COLUMN.at] ?? NaN;
    const counterNs = values[CONTAINER + COLUMN.counter];
    const workingSetBytes = values[CONTAINER + COLUMN.workingSet];
    const usageBytes = this.#getUsageBytes(CONTAINER);
    const known = hasName && hasStart ? this.#getContainer(this.#containers) : null;
    this.#containers++;
    if (
      known === null || values[CONTAINER + COLUMN.hasCpu] !== 1 || values[CONTAINER + COLUMN.hasMemory] !== 1 ||
      !(at <= this.#latestAt) || usageBytes === undefined || !isAmount(counterNs, MAX_COUNTER_NS) ||
      !isAmount(workingSetBytes, MAX_BYTES) || this.#table.findContainer(this.#podRow, known.name) !== -1
    ) {
      this.#skipped++;
      return;
    }
    const row = this.#table.addContainer(known.name, this.#getInstance(known));
    const { numbers } = this.#table;
    numbers[row + ROW.at] = at;
    numbers[row + ROW.resolutionMs] = SECOND_MS;
    numbers[row + ROW.counterNs] = counterNs;
    numbers[row + ROW.workingSetBytes] = workingSetBytes;
    numbers[row + ROW.usageBytes] = usageBytes ?? NaN;
    const stall = values[CONTAINER + COLUMN.memoryStall];
    // As in `parseMemoryStall`. Most containers never wait.
    if (isPercent(stall) && stall > 0) numbers[row + ROW.memoryStallPercent] = stall;
    this.#writePressure(CONTAINER, row);
  }

  /** Writes the numbers of the pod itself. */
  #endPod(): void {
    if (this.#podRow === UNTRACKED) return;
    if (this.#podRow < 0) throw GIVE_UP;
    const { values } = this;
    const { numbers } = this.#table;
    const row = this.#podRow;
    const usageBytes = this.#getUsageBytes(POD);
    if (usageBytes === undefined) this.#skipped++;
    numbers[row + ROW.usageBytes] = usageBytes ?? NaN;
    const at = values[POD + COLUMN.at] ?? NaN;
    const counterNs = values[POD + COLUMN.counter];
    if (!(at <= this.#latestAt) || !isAmount(counterNs, MAX_COUNTER_NS) || counterNs === 0) return;
    numbers[row + ROW.at] = at;
    numbers[row + ROW.resolutionMs] = SECOND_MS;
    numbers[row + ROW.counterNs] = counterNs;
    this.#writePressure(POD, row);
  }

  /** As in `parsePressure`. */
  #writePressure(base: number, row: number): void {
    const { values } = this;
    if (values[base + COLUMN.hasFull] !== 1) return;
    const total = values[base + COLUMN.full];
    const someTotal = values[base + COLUMN.hasSome] === 1 ? values[base + COLUMN.some] : 0;
    const avg10 = values[base + COLUMN.avg10];
    const avg60 = values[base + COLUMN.avg60];
    if (!isTotal(total) || !isTotal(someTotal) || !isPercent(avg10) || !isPercent(avg60)) return;
    const at = values[base + COLUMN.at] ?? NaN;
    const startedAt = values[base + COLUMN.started] ?? NaN;
    const unit = findPsiUnit(Math.max(total, someTotal), Number.isNaN(startedAt) ? 0 : at - startedAt);
    if (unit === null) return;
    const { numbers } = this.#table;
    numbers[row + ROW.fullNs] = total * NS_PER_UNIT[unit];
    numbers[row + ROW.fullUnitNs] = NS_PER_UNIT[unit];
    numbers[row + ROW.fullPercent] = Math.max(avg10, avg60);
  }

  /** `null` = the source has none; `undefined` = it is implausible. */
  #getUsageBytes(base: number): number | null | undefined {
    const bytes = this.values[base + COLUMN.usage] ?? NaN;
    return Number.isNaN(bytes) ? null : toUsageBytes(bytes);
  }

  /** Returns whether there is a text that may be a name. */
  #hasText(at: number): boolean {
    const length = (this.values[at + 1] ?? NaN) - (this.values[at] ?? NaN);
    return length > 0 && length <= MAX_NAME_LENGTH;
  }

  /** `index`: its place in the list, where it most likely was the last time. */
  #getContainer(index: number): KnownContainer {
    const start = this.values[CONTAINER + COLUMN.name] ?? NaN;
    const end = this.values[CONTAINER + COLUMN.name + 1] ?? NaN;
    const { containers } = this.#pod;
    const guess = containers[index];
    if (guess !== undefined && this.#isText(guess.name, start, end)) return guess;
    for (const one of containers) if (this.#isText(one.name, start, end)) return one;
    const found = { name: this.#share(this.#decode(start, end)), instance: "" };
    // Not push(), which would leave room for 16 more in the list of each pod.
    this.#pod.containers = containers.length === MAX_SCANNED_CONTAINERS ? [found] : [...containers, found];
    return found;
  }

  #getInstance(known: KnownContainer): string {
    const start = this.values[CONTAINER + COLUMN.startedText] ?? NaN;
    const end = this.values[CONTAINER + COLUMN.startedText + 1] ?? NaN;
    if (!this.#isText(known.instance, start, end)) known.instance = this.#decode(start, end);
    return known.instance;
  }

  #getNodeName(): string | null {
    if (!this.#hasText(NODE + COLUMN.name)) return null;
    const start = this.values[NODE + COLUMN.name] ?? NaN;
    const end = this.values[NODE + COLUMN.name + 1] ?? NaN;
    if (!this.#isText(this.#nodeName, start, end)) this.#nodeName = this.#decode(start, end);
    return this.#nodeName;
  }

  /** Pods that have gone, once they are many. */
  #forgetPods(): void {
    const known = this.#known;
    if (known.size <= 2 * this.#pods + SPARE_PODS) return;
    for (const [key, { scan }] of known) if (scan !== this.#scan) known.delete(key);
  }

  #isText(text: string, start: number, end: number): boolean {
    return isTextAt(this.#bytes, text, { start, end });
  }

  #decode(start: number, end: number): string {
    return UTF8.decode(this.#bytes.subarray(start, end));
  }
}

/** Returns whether the text is there. Works for ASCII text only. */
export function isTextAt(
  bytes: Uint8Array,
  text: string,
  { start, end }: { readonly start: number; readonly end: number },
): boolean {
  if (text.length !== end - start) return false;
  // The ends differ most.
  for (let index = text.length - 1; index >= 0; index--) {
    if (bytes[start + index] !== text.charCodeAt(index)) return false;
  }
  return true;
}

const UNTRACKED = -2;

/** In one pod, which has few; more would be slow to compare with each other. */
const MAX_SCANNED_CONTAINERS = 64;

/** Of one node. */
const MAX_KNOWN_PODS = 2000;
const SPARE_PODS = 16;

/** A small integer, which a Map need not put into memory. */
const MAX_HASH = 2 ** 30 - 1;

/** Odd, and without a pattern: 2^32 divided by the golden ratio. */
const MULTIPLIER = 0x9e3779b1;

/** By the whole UID. Two of the same hash differ in their text. */
function hash(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0;
  for (let at = start; at < end; at++) {
    hash = Math.imul(hash ^ (bytes[at] ?? 0), MULTIPLIER);
    hash ^= hash >>> 15;
  }
  return hash & MAX_HASH;
}
