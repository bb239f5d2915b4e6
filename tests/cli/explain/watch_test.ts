/** `podfit explain --watch` on an embedded cluster, through `pods/proxy`: when it explains anew, and what it does where a podfit ends. */
import { assert, assertEquals, assertMatch, assertRejects } from "#assert";
import { DebugError } from "../../../lib/cli/connection/records.ts";
import type { Explanation } from "../../../lib/cli/explanation/explanation.ts";
import { openPodfits } from "../../../lib/cli/connection/podfits.ts";
import { explainFromSources, watchExplanation, type WatchOptions } from "../../../lib/cli/explain/explain.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";
import { DebugRun } from "../../support/debug_run.ts";

interface Shown {
  readonly at: number;
  readonly origin: string;
}

/** Watches the pod until it is disposed of. */
function watchWeb({ run: { clock }, server }: DebugRun) {
  const ending = new AbortController();
  const { signal } = ending;
  const shown: Shown[] = [];
  const troubles: string[] = [];
  const watching = watchExplanation({
    clock,
    signal,
    open: () => openPodfits(server, { namespace: "default", pod: "web", podfitNamespace: "default" }, signal),
    explain: (listeners) =>
      explainFromSources(listeners, { kind: "pod", name: "web" }, {
        namespace: "default",
        signal,
        now: () => clock.now(),
      }),
    onExplained: ({ origin }) => shown.push({ at: clock.now(), origin }) > 0,
    onTrouble: (text) => troubles.push(text),
  });
  watching.catch(() => {});
  const dispose = async () => {
    ending.abort();
    await watching.catch(() => {});
  };
  return { shown, troubles, watching, [Symbol.asyncDispose]: dispose };
}

const WATCH = "/proxy/debug/records?namespace=default&pod=web&watch=true&past=false";
const count = (asked: readonly string[], part: string) => asked.filter((path) => path.includes(part)).length;

Deno.test("explain --watch follows the podfit that owns the pod: anew at each evaluation, once a second at most", async () => {
  await using debug = await DebugRun.start();
  debug.startPodfit("podfit-0");
  await debug.advance(20);
  await using watch = watchWeb(debug);
  await debug.until("it was not shown ten times", () => watch.shown.length >= 10);
  const { shown } = watch;
  assertEquals([count(debug.asked, WATCH), count(debug.asked, "pods?labelSelector")], [1, 1]);
  const gaps = shown.slice(1).map(({ at }, before) => at - (shown[before]?.at ?? 0));
  assert(gaps.every((gap) => gap >= 1000), gaps.join(", "));
  const evaluated = debug.lines.pod("web").map(({ since }) => since).filter((at) => at > (shown[0]?.at ?? 0));
  assert(evaluated.length > 5, evaluated.join(", "));
  const waits = evaluated.map((at) => (shown.find((one) => one.at >= at)?.at ?? Infinity) - at);
  // A second, and a step of the run.
  assert(waits.every((ms) => ms <= 1250), waits.join(", "));
  assertMatch(shown.at(-1)?.origin ?? "", /^It has this size because podfit changed cpu\.requests 100m -> /);
  assertEquals(watch.troubles, []);
});

Deno.test("explain --watch says that a podfit ended, and goes on with the one that leads then", async () => {
  await using debug = await DebugRun.start();
  debug.startPodfit("podfit-0");
  await debug.advance(20);
  debug.startPodfit("podfit-1");
  await using watch = watchWeb(debug);
  await debug.advance(20);
  const before = watch.shown.length;
  await debug.stopPodfit("podfit-0");
  await debug.until("nothing was shown of the next", () => watch.shown.length > before + 3);
  assertEquals(
    watch.troubles[0],
    'podfit "default/podfit-0" closed the stream: it restarts, or the pod is gone; asking again every 5s',
  );
  assertEquals(count(debug.asked, `podfit-1:8081${WATCH}`), 1);
});

Deno.test("explain --watch says that nobody answers while podfit restarts, and goes on when it is back", async () => {
  await using debug = await DebugRun.start();
  debug.startPodfit("podfit-0");
  await debug.advance(20);
  await using watch = watchWeb(debug);
  await debug.advance(20);
  await debug.stopPodfit("podfit-0");
  await debug.advance(20);
  const before = watch.shown.length;
  assertMatch(
    watch.troubles.at(-1) ?? "",
    /^Cannot ask podfit "default\/podfit-0": error trying to reach service: .*; asking again every 5s$/,
  );
  debug.startPodfit("podfit-0");
  await debug.until("nothing was shown", () => watch.shown.length > before + 3);
});

Deno.test("explain --watch ends with a word once the pod is gone", async () => {
  await using debug = await DebugRun.start();
  debug.startPodfit("podfit-0");
  await debug.advance(20);
  await using watch = watchWeb(debug);
  await debug.advance(5);
  let isOver = false;
  void watch.watching.catch(() => isOver = true);
  await debug.run.delete("pods/web");
  await debug.until("it went on", () => isOver);
  const { message } = await assertRejects(() => watch.watching, DebugError);
  assertEquals(message, 'Cannot find pod "web" in namespace "default": there is none');
});

/** Watches what never ends its answer, and gives what is asked of it. */
function watchFake(kind: Explanation["kind"], fields: Partial<WatchOptions> = {}) {
  const clock = new VirtualClock();
  const ending = new AbortController();
  const asked: string[] = [];
  const troubles: string[] = [];
  const watching = watchExplanation({
    clock,
    signal: ending.signal,
    open: () =>
      Promise.resolve([{
        name: "fake",
        open(query) {
          asked.push(JSON.stringify(query));
          return Promise.resolve(new Response(new ReadableStream()));
        },
        async *read() {},
      }]),
    explain: () => {
      asked.push("explain");
      return Promise.resolve({ kind, namespace: "shop", name: "web" } as Explanation);
    },
    onExplained: () => true,
    onTrouble: (text) => troubles.push(text),
    ...fields,
  });
  watching.catch(() => {});
  const dispose = async () => {
    ending.abort();
    await watching.catch(() => {});
  };
  return { clock, asked, troubles, watching, [Symbol.asyncDispose]: dispose };
}

Deno.test("explain --watch asks anew, without a word, after a minute without an evaluation", async () => {
  await using watch = watchFake("scaledObject");
  const followed = '{"namespace":"shop","scaledObject":"web","watch":true,"past":false}';
  await watch.clock.advance(60_000);
  assertEquals(watch.asked, ["explain", followed, "explain"]);
  await watch.clock.advance(6_000);
  assertEquals(watch.asked, ["explain", followed, "explain", "explain", followed, "explain"]);
  assertEquals(watch.troubles, []);
});

Deno.test("explain --watch asks each 5s for a workload that nobody decides of", async () => {
  await using watch = watchFake("workload");
  await watch.clock.advance(11_000);
  assertEquals(watch.asked, ["explain", "explain", "explain"]);
});

for (const kind of ["pod", "workload"] as const) {
  Deno.test(`explain --watch of a ${kind} ends with the reader of its output, as head is`, async () => {
    await using watch = watchFake(kind, { onExplained: () => false });
    let isOver = false;
    void watch.watching.then(() => isOver = true);
    await watch.clock.advance(1);
    assertEquals([isOver, watch.asked.filter((one) => one === "explain").length], [true, 1]);
  });
}

Deno.test("explain --watch rejects what goes wrong at first, and what does not pass", async () => {
  const [missing, forbidden] = [new DebugError("NothingKnown", "nothing"), new DebugError("NoRight", "no right")];
  await using first = watchFake("pod", { open: () => Promise.reject(missing) });
  await assertRejects(() => first.watching, DebugError, "nothing");
  let asked = 0;
  await using later = watchFake("workload", {
    open: () => asked++ === 0 ? Promise.resolve([]) : Promise.reject(forbidden),
  });
  await later.clock.advance(5_000);
  await assertRejects(() => later.watching, DebugError, "no right");
});
