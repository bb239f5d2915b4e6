/**
 * What requests leave of each node (L30): its allocatable less what all its pods count for that have not ended, tracked or
 * not, and less what podfit commanded and the watch does not show yet. Kept pod by pod: adding up 30,000 pods for each
 * decision would take seconds.
 */
import type { PodFacts } from "../../core/pod/pod_facts.ts";
import type { Room } from "../../core/pod/room.ts";
import type { Amounts } from "../../units/resources.ts";
import type { NodeFacts } from "./facts.ts";

/** What is known of nodes, and who hears of room. */
export interface RoomsOptions {
  readonly nodes: ReadonlyMap<string, Pick<NodeFacts, "allocatable">>;
  /** False where pods of a node may be out of sight: then no room is known. */
  readonly seesAll: boolean;
  /** A node has more room than before. Must not throw. */
  readonly onRoom: (node: string) => void;
}

interface Sum {
  cpuMillicores: number;
  memoryBytes: number;
  /** Undefined = to be worked out anew. */
  room: Room | null | undefined;
}

/** A growth that was commanded: it counts until the watch shows the pod with it. */
interface Commanded extends Amounts {
  readonly node: string;
  /** The answer's; `null` until there is one. */
  readonly generation: number | null;
}

/** The rooms of all nodes. */
export class Rooms {
  readonly #options: RoomsOptions;
  readonly #sums = new Map<string, Sum>();
  readonly #commanded = new Map<string, Commanded>();

  constructor(options: RoomsOptions) {
    this.#options = options;
  }

  /** What the pod's node has left; `null` = not known. The same object until it changes. */
  read({ nodeName }: Pick<PodFacts, "nodeName">): Room | null {
    if (nodeName === null || !this.#options.seesAll) return null;
    const sum = this.#open(nodeName);
    if (sum.room === undefined) sum.room = this.#workOut(nodeName, sum);
    return sum.room;
  }

  /** A pod came (`before` is `null`), changed or went (`after` is `null`). */
  movePod(before: PodFacts | null, after: PodFacts | null): void {
    const { uid } = after ?? before ?? { uid: "" };
    const commanded = this.#commanded.get(uid);
    if (commanded !== undefined && (after === null || isShown(commanded, after))) this.release(uid);
    const [from, to] = [readNode(before), readNode(after)];
    if (from === to && isSame(before?.requests, after?.requests)) return;
    if (from !== null && before !== null) this.#add(from, before.requests, -1);
    if (to !== null && after !== null) this.#add(to, after.requests, 1);
    if (from !== null && before !== null && (from !== to || isLess(after?.requests, before.requests))) {
      this.#options.onRoom(from);
    }
  }

  /** A node came, changed or went. */
  moveNode(name: string, before: Pick<NodeFacts, "allocatable"> | undefined): void {
    const after = this.#options.nodes.get(name)?.allocatable;
    const { cpuMillicores = null, memoryBytes = null } = before?.allocatable ?? {};
    if (after !== undefined && after.cpuMillicores === cpuMillicores && after.memoryBytes === memoryBytes) return;
    const sum = this.#sums.get(name);
    if (sum === undefined) return;
    sum.room = undefined;
    this.#forget(name, sum);
    this.#options.onRoom(name);
  }

  /** podfit sends a resize by which the pod will count for that much more. */
  command({ uid, nodeName }: Pick<PodFacts, "uid" | "nodeName">, growth: Amounts): void {
    if (this.#commanded.has(uid)) this.release(uid);
    if (nodeName === null || (growth.cpuMillicores === 0 && growth.memoryBytes === 0)) return;
    this.#commanded.set(uid, { ...growth, node: nodeName, generation: null });
    this.#add(nodeName, growth, 1);
  }

  /** It was accepted: `pod` as the watch shows it now, which may have it already. */
  accept(pod: PodFacts, generation: number | null): void {
    const commanded = this.#commanded.get(pod.uid);
    if (commanded === undefined) return;
    this.#commanded.set(pod.uid, { ...commanded, generation });
    if (generation !== null && (pod.generation ?? 0) >= generation) this.release(pod.uid);
  }

  /** It did not come to anything, or counts in the pod itself. */
  release(uid: string): void {
    const commanded = this.#commanded.get(uid);
    if (commanded === undefined) return;
    this.#commanded.delete(uid);
    this.#add(commanded.node, commanded, -1);
    this.#options.onRoom(commanded.node);
  }

  #workOut(node: string, { cpuMillicores, memoryBytes }: Sum): Room | null {
    const allocatable = this.#options.nodes.get(node)?.allocatable;
    if (allocatable === undefined || allocatable.cpuMillicores === null || allocatable.memoryBytes === null) {
      return null;
    }
    return {
      cpuMillicores: allocatable.cpuMillicores - cpuMillicores,
      memoryBytes: allocatable.memoryBytes - memoryBytes,
    };
  }

  #add(node: string, { cpuMillicores, memoryBytes }: Amounts, sign: 1 | -1): void {
    const sum = this.#open(node);
    sum.cpuMillicores += sign * cpuMillicores;
    sum.memoryBytes += sign * memoryBytes;
    sum.room = undefined;
    this.#forget(node, sum);
  }

  /** Nodes come and go: of one that is gone nothing stays. */
  #forget(node: string, { cpuMillicores, memoryBytes }: Sum): void {
    if (cpuMillicores === 0 && memoryBytes === 0 && !this.#options.nodes.has(node)) this.#sums.delete(node);
  }

  #open(node: string): Sum {
    const sum = this.#sums.get(node) ?? { cpuMillicores: 0, memoryBytes: 0, room: undefined };
    this.#sums.set(node, sum);
    return sum;
  }
}

/** The node on which the pod counts; `null` = on none, or not any more. */
function readNode(pod: PodFacts | null): string | null {
  return pod === null || pod.finished ? null : pod.nodeName;
}

function isShown({ generation }: Commanded, pod: PodFacts): boolean {
  return generation !== null && (pod.generation === null || pod.generation >= generation);
}

function isSame(a: Amounts | undefined, b: Amounts | undefined): boolean {
  return a?.cpuMillicores === b?.cpuMillicores && a?.memoryBytes === b?.memoryBytes;
}

function isLess(after: Amounts | undefined, before: Amounts): boolean {
  return after === undefined || after.cpuMillicores < before.cpuMillicores || after.memoryBytes < before.memoryBytes;
}
