/** The flight recorder: it keeps the decisions about each pod, sends them to followers, and removes deleted pods. */
import { assert, assertEquals } from "#assert";
import { createFlightRecorder, type FlightRecorder } from "../../lib/daemon/recorder.ts";
import type { RecordLine } from "../../lib/record/record.ts";
import { parseLine } from "../../lib/record/parse.ts";
import { VirtualClock } from "../support/virtual_clock.ts";
import { pod, request, SECOND } from "../support/builders.ts";
import { evaluation, type EvaluationFacts } from "../support/evaluations.ts";

const WEB = { kind: "pod", namespace: "shop", name: "web" } as const;

class Recording implements AsyncDisposable {
  readonly clock = new VirtualClock();
  readonly recorder: FlightRecorder = createFlightRecorder(this.clock);
  readonly #ending = new AbortController();
  readonly #ended = this.recorder.run(this.#ending.signal);

  evaluate(name = "web", { uid = name, ...facts }: EvaluationFacts & { readonly uid?: string } = {}): void {
    const { input = {} } = facts;
    const given = { ...input, now: this.clock.now(), pod: pod({ namespace: "shop", name, uid }) };
    this.recorder.sink(evaluation({ ...facts, input: given }));
  }

  lines(name = "web"): readonly RecordLine[] | null {
    const read = this.recorder.get({ ...WEB, name });
    return read === null ? null : [...read].join("").trimEnd().split("\n").map(toLine);
  }

  latest(namespace: string | null = null): readonly string[] {
    return [...this.recorder.listLatest(namespace)].map((line) => toLine(line).name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort();
    await this.#ended;
    assertEquals(this.clock.pending, 0);
  }
}

function toLine(text: string): RecordLine {
  const parsed = parseLine(text);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.value;
}

const NOTICE = { autoscaler: "uid", name: "MetricsUnavailable", message: "" } as const;

Deno.test("what was decided of a pod is read back, packed or not", async () => {
  await using recording = new Recording();
  assertEquals(recording.lines(), null);
  for (let count = 0; count < 30; count++) {
    recording.evaluate("web", { outcome: count % 2 === 0 ? { notices: [NOTICE] } : {} });
    await recording.clock.advance(SECOND);
  }
  const counts = recording.lines()?.map(({ count }) => count) ?? [];
  assertEquals(counts, Array(15).fill(2));
  assertEquals(recording.latest(), ["web"]);
});

Deno.test("who follows a pod hears of each evaluation of it, and that it is gone", async () => {
  await using recording = new Recording();
  const heard: (string | null)[] = [];
  assertEquals(recording.recorder.watch(WEB, () => {}), null);
  recording.evaluate();
  using following = recording.recorder.watch(WEB, (line) => heard.push(line));
  assert(following !== null);
  recording.evaluate();
  recording.evaluate("other");
  recording.evaluate();
  recording.recorder.dropPod({ namespace: "shop", name: "web", uid: "web" });
  assertEquals(heard.map((line) => line === null ? null : toLine(line).count), [1, 1, null]);
});

Deno.test("who follows a pod of a StatefulSet is not told that it is gone while another has its name", async () => {
  await using recording = new Recording();
  const heard: (string | null)[] = [];
  recording.evaluate("web", { uid: "old" });
  using _following = recording.recorder.watch(WEB, (line) => heard.push(line));
  recording.evaluate("web", { uid: "new" });
  recording.recorder.dropPod({ namespace: "shop", name: "web", uid: "old" });
  assertEquals([heard.length, recording.lines()?.map(({ uid }) => uid)], [1, ["old", "new"]]);
});

Deno.test("a pod that is gone can be asked about for ten minutes, and is none of the latest", async () => {
  await using recording = new Recording();
  recording.evaluate();
  recording.recorder.dropPod({ namespace: "shop", name: "web", uid: "web" });
  await recording.clock.advance(590 * SECOND);
  assertEquals([recording.lines()?.length, recording.latest(), recording.recorder.watch(WEB, () => {})], [1, [], null]);
  await recording.clock.advance(130 * SECOND);
  assertEquals(recording.lines(), null);
});

Deno.test("a pod that comes back is there again, but not by a late answer", async () => {
  await using recording = new Recording();
  recording.evaluate();
  recording.recorder.dropPod({ namespace: "shop", name: "web", uid: "web" });
  const answer = { kind: "gone" } as const;
  recording.evaluate("web", { input: { observation: { kind: "answered", request: request(), answer } } });
  assertEquals(recording.latest(), []);
  recording.evaluate();
  assertEquals(recording.latest(), ["web"]);
});

Deno.test("so many pods that are gone are kept and no more, the last ones", async () => {
  await using recording = new Recording();
  for (let count = 0; count < 510; count++) {
    recording.evaluate(`web-${count}`);
    recording.recorder.dropPod({ namespace: "shop", name: `web-${count}`, uid: `web-${count}` });
  }
  assertEquals([recording.lines("web-9"), recording.lines("web-10")?.length, recording.lines("web-509")?.length], [
    null,
    1,
    1,
  ]);
});

Deno.test("what nobody has evaluated for an hour is forgotten", async () => {
  await using recording = new Recording();
  recording.evaluate();
  recording.evaluate("quiet");
  await recording.clock.advance(3_500 * SECOND);
  recording.evaluate();
  await recording.clock.advance(200 * SECOND);
  assertEquals([recording.latest(), recording.lines("quiet")], [["web"], null]);
});

Deno.test("the latest are those of a namespace, where one is given", async () => {
  await using recording = new Recording();
  recording.evaluate("web");
  recording.evaluate("api");
  assertEquals([recording.latest("shop"), recording.latest("other")], [["web", "api"], []]);
});

Deno.test("who follows is told when podfit ends", async () => {
  const heard: (string | null)[] = [];
  await using recording = new Recording();
  recording.evaluate();
  recording.recorder.watch(WEB, (line) => heard.push(line));
  await recording[Symbol.asyncDispose]();
  assertEquals(heard, [null]);
});
