/** What is left on each node, pod by pod and with what podfit has commanded (L30). */
import { assertEquals } from "#assert";
import type { PodFacts } from "../../../lib/model/pod.ts";
import type { NodeCapacity } from "../../../lib/model/decision.ts";
import { NodeHeadroom } from "../../../lib/daemon/cluster/capacity.ts";
import { MI, pod } from "../../support/builders.ts";

class Board {
  readonly nodes = new Map<string, { allocatable: NodeCapacity }>();
  readonly freed: string[] = [];
  readonly rooms: NodeHeadroom;
  readonly #pods = new Map<string, PodFacts>();

  constructor({ seesAll = true } = {}) {
    this.nodes.set("node1", { allocatable: { cpuMillicores: 1000, memoryBytes: 1000 * MI } });
    this.rooms = new NodeHeadroom({ nodes: this.nodes, seesAll, onHeadroom: (node) => this.freed.push(node) });
  }

  put(uid: string, cpuMillicores: number, facts: Partial<PodFacts> = {}): PodFacts {
    const after = pod({ uid, requests: { cpuMillicores, memoryBytes: 100 * MI }, ...facts });
    this.rooms.movePod(this.#pods.get(uid) ?? null, after);
    this.#pods.set(uid, after);
    return after;
  }

  remove(uid: string): void {
    this.rooms.movePod(this.#pods.get(uid) ?? null, null);
    this.#pods.delete(uid);
  }

  read(nodeName: string | null = "node1"): readonly [number, number] | null {
    const room = this.rooms.find({ nodeName });
    return room === null ? null : [room.cpuMillicores, room.memoryBytes / MI];
  }
}

Deno.test("Rooms adds up the pods of a node as they come, change and go (L30)", () => {
  const board = new Board();
  assertEquals(board.read(), [1000, 1000]);
  board.put("a", 300);
  board.put("b", 200);
  board.put("elsewhere", 500, { nodeName: "node2" });
  board.put("pending", 500, { nodeName: null });
  assertEquals(board.read(), [500, 800]);
  board.put("a", 350);
  assertEquals(board.read(), [450, 800]);
  board.put("pending", 100);
  assertEquals(board.read(), [350, 700], "it was bound");
  board.remove("b");
  assertEquals(board.read(), [550, 800]);
});

Deno.test("Rooms counts a pod that is being deleted, and none that has ended (L30)", () => {
  const board = new Board();
  board.put("a", 300, { deleting: true });
  assertEquals(board.read(), [700, 900]);
  board.put("a", 300, { finished: true });
  assertEquals(board.read(), [1000, 1000]);
  board.remove("a");
  assertEquals(board.read(), [1000, 1000]);
});

Deno.test("Rooms knows none where pods may be out of sight, or the node is not known (L30)", () => {
  const board = new Board({ seesAll: false });
  board.put("a", 300);
  assertEquals(board.read(), null);
  const other = new Board();
  other.put("a", 300, { nodeName: "node2" });
  assertEquals([other.read("node2"), other.read(null)], [null, null]);
  other.nodes.set("node2", { allocatable: { cpuMillicores: 400, memoryBytes: null } });
  other.rooms.moveNode("node2", undefined);
  assertEquals(other.read("node2"), null);
  other.nodes.set("node2", { allocatable: { cpuMillicores: 400, memoryBytes: 100 * MI } });
  other.rooms.moveNode("node2", undefined);
  assertEquals(other.read("node2"), [100, 0]);
});

Deno.test("Rooms is negative where more is asked for than there is (L30)", () => {
  const board = new Board();
  board.put("a", 1200);
  assertEquals(board.read(), [-200, 900]);
});

Deno.test("Rooms says when a node has more room than before, and not when it has less (L30)", () => {
  const board = new Board();
  board.put("a", 300);
  board.put("a", 300, { resourceVersion: "101" });
  board.put("a", 400);
  assertEquals(board.freed, []);
  board.put("a", 399);
  board.put("a", 399, { finished: true });
  board.remove("a");
  assertEquals(board.freed, ["node1", "node1"]);
  board.nodes.set("node1", { allocatable: { cpuMillicores: 2000, memoryBytes: 1000 * MI } });
  board.rooms.moveNode("node1", { allocatable: { cpuMillicores: 1000, memoryBytes: 1000 * MI } });
  board.rooms.moveNode("node1", { allocatable: { cpuMillicores: 2000, memoryBytes: 1000 * MI } });
  assertEquals([board.freed.length, board.read()], [3, [2000, 1000]]);
});

Deno.test("Rooms takes what is commanded off at once, until the watch shows it (L30)", () => {
  const board = new Board();
  const before = board.put("a", 300, { generation: 1 });
  board.rooms.reserve(before, { cpuMillicores: 200, memoryBytes: 0 });
  assertEquals(board.read(), [500, 900]);
  board.put("a", 300, { generation: 1, resourceVersion: "101" });
  board.rooms.confirm(before, 2);
  assertEquals(board.read(), [500, 900], "not shown yet");
  board.put("a", 500, { generation: 2 });
  assertEquals(board.read(), [500, 900], "counted once");
  board.rooms.release("a");
  assertEquals(board.read(), [500, 900]);
});

Deno.test("Rooms counts growth once when the watch shows it before the answer comes (L30)", () => {
  const board = new Board();
  const before = board.put("a", 300, { generation: 1 });
  board.rooms.reserve(before, { cpuMillicores: 200, memoryBytes: 0 });
  board.put("a", 500, { generation: 2 });
  // The answer belongs to the pod that was decided on, which is the older one.
  board.rooms.confirm(before, 2);
  assertEquals(board.read(), [500, 900]);
});

Deno.test("Rooms forgets what was commanded when it comes to nothing, when the pod goes, and when another follows (L30)", () => {
  const board = new Board();
  const a = board.put("a", 300, { generation: 1 });
  board.rooms.reserve(a, { cpuMillicores: 200, memoryBytes: 0 });
  board.rooms.reserve(a, { cpuMillicores: 100, memoryBytes: 0 });
  assertEquals(board.read(), [600, 900]);
  board.rooms.release("a");
  assertEquals(board.read(), [700, 900]);
  board.rooms.reserve(a, { cpuMillicores: 100, memoryBytes: 0 });
  board.remove("a");
  assertEquals(board.read(), [1000, 1000]);
  board.rooms.reserve(a, { cpuMillicores: 0, memoryBytes: 0 });
  board.rooms.confirm(a, 1);
  assertEquals(board.read(), [1000, 1000]);
});

Deno.test("Rooms gives the same object until something changes", () => {
  const board = new Board();
  const facts = board.put("a", 300);
  const room = board.rooms.find(facts);
  board.put("a", 300, { resourceVersion: "102" });
  assertEquals(board.rooms.find(facts) === room, true);
});
