/** What kubelets that are broken or hostile can make podfit hold, when many of them answer at once. */
import { assert, assertEquals } from "#assert";
import { openDirectSource, type SummarySource } from "../../lib/usage/kubelet/fetch_summary.ts";
import { settleEventLoop, VirtualClock } from "../support/virtual_clock.ts";
import { apiServer, assertFailed, nodeAt } from "../support/kubelet_source.ts";

const KIB = 1024;
const MIB = 1024 * KIB;
const LARGE = 512 * KIB;
const CHUNK = 64 * KIB;

/** Kubelets whose bodies are read from memory; what was taken of them and is still held counts. */
class Kubelets {
  readonly held = new Map<number, number>();
  most = 0;
  mostLarge = 0;
  /** Bytes after which the body of this node goes silent. */
  readonly stallsAt = new Map<number, number>();

  open(clock: VirtualClock, { bytes, isByob }: { readonly bytes: number; readonly isByob: boolean }): SummarySource {
    const send = (url: string) => {
      const node = Number(/10\.0\.0\.(\d+)/.exec(url)?.[1]);
      return Promise.resolve(new Response(this.#body(node, { bytes, isByob })));
    };
    return openDirectSource(apiServer(), { clock, client: { send, [Symbol.dispose]() {} } });
  }

  drop(node: number): void {
    this.held.delete(node);
  }

  #body(node: number, { bytes, isByob }: { readonly bytes: number; readonly isByob: boolean }): ReadableStream {
    let sent = 0;
    const pull = (controller: ReadableStreamDefaultController<Uint8Array> | ReadableByteStreamController) => {
      if (sent >= (this.stallsAt.get(node) ?? Infinity)) return SILENT;
      if (sent >= bytes) {
        controller.close();
        if ("byobRequest" in controller) controller.byobRequest?.respond(0);
        return DONE;
      }
      sent += CHUNK;
      this.held.set(node, sent);
      this.#note();
      controller.enqueue(new Uint8Array(CHUNK).fill(32));
      return DONE;
    };
    return isByob ? new ReadableStream({ type: "bytes", pull }) : new ReadableStream({ pull }, { highWaterMark: 0 });
  }

  #note(): void {
    const all = [...this.held.values()];
    this.most = Math.max(this.most, all.reduce((sum, bytes) => sum + bytes, 0));
    // One chunk may be on its way to the reader.
    this.mostLarge = Math.max(this.mostLarge, all.filter((bytes) => bytes > LARGE + CHUNK).length);
  }
}

const SILENT = new Promise<void>(() => {});
const DONE = Promise.resolve();
const HOSTILE = 40;

for (const isByob of [true, false]) {
  const how = isByob ? "into podfit's memory" : "in chunks";
  Deno.test(`openDirectSource() holds two large answers of all nodes at a time, which it reads ${how}`, async () => {
    const clock = new VirtualClock();
    const kubelets = new Kubelets();
    using source = kubelets.open(clock, { bytes: 8 * MIB, isByob });
    const kinds = await Promise.all(Array.from({ length: HOSTILE }, async (_, node) => {
      const at = { ...nodeAt(`10.0.0.${node}`, 10250), maxPods: 1e9 };
      const answer = await source.fetchSummary(at, new AbortController().signal);
      // As a poll does, which parses it in between.
      await settleEventLoop();
      kubelets.drop(node);
      if (answer.kind === "summary") answer.release?.();
      return answer.kind === "summary" ? answer.bytes.length : answer.message;
    }));
    assertEquals(kinds, Array.from({ length: HOSTILE }, () => 8 * MIB));
    assertEquals(kubelets.mostLarge, 2);
    const most = HOSTILE * (LARGE + CHUNK) + 2 * 8 * MIB;
    assert(kubelets.most <= most, `${kubelets.most} bytes were held, at most ${most} expected`);
    assertEquals(clock.pending, 0);
  });
}

Deno.test("openDirectSource() ends a large answer that goes silent after 2 s, and reads the next", async () => {
  const clock = new VirtualClock();
  const kubelets = new Kubelets();
  for (const node of [0, 1]) kubelets.stallsAt.set(node, MIB);
  using source = kubelets.open(clock, { bytes: 2 * MIB, isByob: true });
  const fetching = [0, 1, 2].map((node) =>
    source.fetchSummary(nodeAt(`10.0.0.${node}`, 10250), new AbortController().signal)
  );
  await clock.advance(1999);
  assertEquals(kubelets.held.get(2), LARGE);
  await clock.advance(1);
  const [first, second, third] = await Promise.all(fetching);
  for (const answer of [first, second]) {
    assert(answer !== undefined);
    assertFailed(answer, "timeout", "an answer of more than 512 KiB must end within 2 s of its turn");
  }
  assert(third?.kind === "summary");
  assertEquals(third.bytes.length, 2 * MIB);
  third.release?.();
  assertEquals(clock.pending, 0);
});

Deno.test("openDirectSource() gives up its place among large answers when its poll ends", async () => {
  const clock = new VirtualClock();
  const kubelets = new Kubelets();
  for (const node of [0, 1]) kubelets.stallsAt.set(node, MIB);
  using source = kubelets.open(clock, { bytes: 2 * MIB, isByob: true });
  const ending = new AbortController();
  const fetching = [0, 1, 2].map((node) => source.fetchSummary(nodeAt(`10.0.0.${node}`, 10250), ending.signal));
  const settled = Promise.allSettled(fetching);
  await clock.advance(500);
  ending.abort(new Error("shutting down"));
  assertEquals((await settled).map(({ status }) => status), ["rejected", "rejected", "rejected"]);
  assertEquals(clock.pending, 0);
  kubelets.stallsAt.clear();
  const answer = await source.fetchSummary(nodeAt("10.0.0.3", 10250), new AbortController().signal);
  assertEquals(answer.kind, "summary");
  if (answer.kind === "summary") answer.release?.();
});
