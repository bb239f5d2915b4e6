/** Statuses are written fairly: a write without an answer keeps back only the namespace that it is for. */
import { assertEquals } from "#assert";
import { FailureLog, type FailureReport } from "../../../lib/daemon/health.ts";
import {
  createAutoscalerPatch,
  createScaledObjectPatch,
  type StatusToWrite,
  StatusWriter,
} from "../../../lib/daemon/status/writer.ts";
import { type ApiClient, createClient } from "../../../lib/kube/client.ts";
import { createLog } from "../../../lib/runtime/log.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";

interface Status {
  readonly text: string;
}

function statusOf(namespace: string, name: string, text = "new"): StatusToWrite<Status> {
  return { object: { namespace, name, uid: `${namespace}/${name}`, status: {} }, isStale: false, status: { text } };
}

/** What a writer has beside its objects and the one who hears of its troubles. */
function surroundingsOf(clock: VirtualClock) {
  return {
    clock,
    random: () => 0.5,
    metrics: { failed() {} },
    isKnown: () => true,
    rivals: "",
    isNodeLocal: false,
    onProgress() {},
  };
}

/** A writer whose server never answers writes in the namespaces `silent`. */
function openWriter(silent: readonly string[]) {
  const clock = new VirtualClock();
  const written: string[] = [];
  const asked: string[] = [];
  const writer = new StatusWriter<Status>({
    kind: "PodResourceAutoscaler",
    patch: ({ namespace, name }, change, signal) => {
      asked.push(`${namespace}/${name}`);
      if (silent.includes(namespace)) {
        return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      }
      written.push(`${namespace}/${name}`);
      return Promise.resolve({ failure: null, resourceVersion: null, status: change as Status });
    },
    ...surroundingsOf(clock),
    onTrouble() {},
  });
  const sweep = { signal: new AbortController().signal, isLast: false };
  return { clock, writer, sweep, written, asked };
}

Deno.test("StatusWriter writes the statuses of other namespaces while one namespace's writes get no answer", async () => {
  const { clock, writer, sweep, written, asked } = openWriter(["loud"]);
  for (let index = 0; index < 200; index++) writer.write(statusOf("loud", `web-${index}`), sweep);
  for (let index = 0; index < 30; index++) writer.write(statusOf(`shop-${index}`, "web"), sweep);
  await clock.advance(1);
  assertEquals(written.length, 30, "all others are written before the first timeout");
  assertEquals(asked.length - written.length <= 8, true, `${asked.length - written.length} places for one namespace`);
  await clock.advance(10_000);
  assertEquals(asked.length - written.length <= 8, true, "the namespace's other writes do not wait as long again");
  await writer.settle();
  writer.write(statusOf("shop-0", "api"), sweep);
  await clock.advance(1);
  assertEquals(written.at(-1), "shop-0/api");
});

Deno.test("StatusWriter writes a namespace whose write got no answer again as soon as it answers", async () => {
  const silent = ["loud"];
  const { clock, writer, sweep, written } = openWriter(silent);
  writer.write(statusOf("loud", "web"), sweep);
  await clock.advance(10_000);
  silent.length = 0;
  await clock.advance(60_000);
  writer.write(statusOf("loud", "web"), sweep);
  await writer.settle();
  assertEquals(written, ["loud/web"]);
});

Deno.test("StatusWriter writes nothing of an object that is deleted while its write waits", async () => {
  const silent = Array.from({ length: 16 }, (_, index) => `silent-${index}`);
  const { clock, writer, sweep, asked } = openWriter(silent);
  for (const namespace of silent) writer.write(statusOf(namespace, "web"), sweep);
  writer.write(statusOf("shop", "web"), sweep);
  await clock.advance(1);
  assertEquals([asked.length, asked.includes("shop/web")], [16, false], "all places are taken");
  writer.forget("shop/web");
  await clock.advance(10_000);
  await writer.settle();
  assertEquals(asked.includes("shop/web"), false);
});

Deno.test("StatusWriter has one write of an object at a time", async () => {
  const { clock, writer, sweep, asked } = openWriter(["loud"]);
  const first = writer.write(statusOf("loud", "web"), sweep);
  assertEquals(first instanceof Promise, true);
  assertEquals(writer.write(statusOf("loud", "web", "newer"), sweep), "later");
  await clock.advance(1);
  assertEquals(asked, ["loud/web"]);
  await clock.advance(10_000);
  await writer.settle();
});

Deno.test("StatusWriter asks for a status that failed to be written again, until it is written (R90)", async () => {
  const silent = ["loud"];
  const { clock, writer, sweep, written } = openWriter(silent);
  writer.write(statusOf("loud", "web"), sweep);
  await clock.advance(10_000);
  await writer.settle();
  silent.length = 0;
  // The sweep of ScaledObjects takes null as written, and would ask again only when the object changes.
  assertEquals(writer.write(statusOf("loud", "web"), sweep), "later");
  await clock.advance(60_000);
  assertEquals(writer.write(statusOf("loud", "web"), sweep) instanceof Promise, true);
  await writer.settle();
  assertEquals(written, ["loud/web"]);
});

Deno.test("StatusWriter asks for a status again that another writes over within a minute, and for no other one (R90)", async () => {
  const { clock, writer, sweep, written } = openWriter([]);
  const wanted = statusOf("loud", "web");
  const show = (text: string) => ({ ...wanted, object: { ...wanted.object, status: { text } } });
  const ask = async (shown: StatusToWrite<Status>) => {
    const answer = writer.write(shown, sweep);
    await writer.settle();
    return answer instanceof Promise ? "now" : answer;
  };
  assertEquals(await ask(wanted), "now");
  assertEquals(await ask(show("new")), null);
  await clock.advance(10_000);
  // The sweep of ScaledObjects takes null as written, and would ask again only when the object changes.
  const theirs = show("theirs");
  assertEquals([await ask(theirs), writer.getDueAtMs("loud/web") - clock.monotonic()], ["later", 50_000]);
  await clock.advance(50_000);
  assertEquals([await ask(theirs), written.length], ["now", 2]);
  // The second time within half an hour the writer may wait, but it asks again.
  await clock.advance(60_000);
  assertEquals(await ask(show("theirs again")), "now");
  await clock.advance(60_000);
  const last = show("theirs for ever");
  assertEquals(await ask(last), "later");
  await clock.advance(10 * 60_000);
  assertEquals([await ask(last), written.length], ["now", 4]);
});

Deno.test("StatusWriter writes a change of the minor field alone every 5 min, and with any other change at once (R90)", async () => {
  const { clock, writer, sweep, written } = openWriter([]);
  let shown = {};
  const put = async (text: string, time: string) => {
    const object = { ...statusOf("shop", "web").object, status: shown };
    const status = { text, time } as Status;
    const writing = writer.write({ object, isStale: false, status, minorField: "time" as never }, sweep);
    if (writing instanceof Promise) {
      await writing;
      shown = status;
    }
    return written.splice(0).length;
  };
  assertEquals(await put("a", "1"), 1);
  await clock.advance(50_000);
  assertEquals([await put("a", "2"), writer.getDueAtMs("shop/web")], [0, 300_000]);
  assertEquals(await put("b", "2"), 1);
  await clock.advance(299_999);
  assertEquals(await put("b", "3"), 0);
  await clock.advance(1);
  assertEquals(await put("b", "4"), 1);
});

Deno.test("a status that is written ends no failure of another kind of object with the same name", async () => {
  const clock = new VirtualClock();
  const lines: Record<string, unknown>[] = [];
  const write = (text: string) => void lines.push(...text.trim().split("\n").map((line) => JSON.parse(line)));
  const failures = new FailureLog({ log: createLog({ level: "info", format: "json", clock, write }), clock });
  const troubles: FailureReport[] = [];
  const toWriter = (kind: "PodResourceAutoscaler" | "ScaledObject") =>
    new StatusWriter<Status>({
      kind,
      patch: () =>
        kind === "ScaledObject"
          ? Promise.reject(new Error("no answer"))
          : Promise.resolve({ failure: null, resourceVersion: null, status: { text: "new" } }),
      ...surroundingsOf(clock),
      onTrouble(trouble) {
        troubles.push(trouble);
        failures.report(trouble);
      },
    });
  const sweep = { signal: new AbortController().signal, isLast: false };
  for (const kind of ["ScaledObject", "PodResourceAutoscaler"] as const) {
    await toWriter(kind).write(statusOf("shop", "web"), sweep);
  }
  assertEquals(troubles.map(({ kind }) => kind), ["failure", "recovered"]);
  assertEquals(failures.size, 1);
  assertEquals(lines.map(({ message, scaledObject, autoscaler }) => [message, scaledObject, autoscaler]), [
    ["Cannot write status, retrying", "shop/web", undefined],
  ]);
});

Deno.test("StatusWriter names the newest resourceVersion that it knows while a watch is stale, and none otherwise (R90)", async () => {
  const clock = new VirtualClock();
  const guards: (string | null)[] = [];
  const writer = new StatusWriter<Status>({
    kind: "ScaledObject",
    patch: ({ guard }, change) => {
      guards.push(guard);
      return Promise.resolve({ failure: null, resourceVersion: `${20 + guards.length}`, status: change as Status });
    },
    ...surroundingsOf(clock),
    onTrouble() {},
  });
  const sweep = { signal: new AbortController().signal, isLast: false };
  const write = async (text: string, resourceVersion: string, isStale: boolean) => {
    const wanted = statusOf("shop", "web", text);
    writer.write({ ...wanted, object: { ...wanted.object, resourceVersion }, isStale }, sweep);
    await writer.settle();
    await clock.advance(600_000);
  };
  await write("a", "10", false);
  await write("b", "10", true);
  await write("c", "10", true);
  await write("d", "30", true);
  assertEquals(guards, [null, "21", "22", "30"]);
});

for (
  const [createPatch, kind] of [
    [createAutoscalerPatch, "a PodResourceAutoscaler"],
    [(client: ApiClient) => createScaledObjectPatch(client, () => null), "a ScaledObject"],
  ] as const
) {
  Deno.test(`the resourceVersion of another object with the name of ${kind} is not taken for its own (C51, R90)`, async () => {
    const ask = async (uid: string) => {
      const bodies: unknown[] = [];
      const transport = async (request: Request) => {
        bodies.push(await request.json());
        return Response.json({ metadata: { name: "web", uid, resourceVersion: "51" }, status: {} });
      };
      const patch = createPatch(createClient({ origin: "http://api", transport }));
      const object = { namespace: "shop", name: "web", uid: "own", guard: "9" };
      const { resourceVersion } = await patch(object, { a: 1 }, new AbortController().signal);
      return [bodies, resourceVersion];
    };
    const bodies = [{ metadata: { resourceVersion: "9" }, status: { a: 1 } }];
    assertEquals([await ask("own"), await ask("another")], [[bodies, "51"], [bodies, null]]);
  });
}
