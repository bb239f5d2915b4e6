/** `/debug/records`: which questions are answered, with what, and for whom. */
import { assert, assertEquals, assertMatch } from "#assert";
import { createHandler, debugRoutes, type Handler, parseDebugQuery } from "../../../lib/daemon/server/routes.ts";
import type { Access } from "../../../lib/daemon/server/reader_access.ts";
import type { FlightRecords, OnRecordLine, RecordSubject } from "../../../lib/daemon/recorder.ts";

/** One pod, `shop/web`, with two lines. */
function newRecords(): FlightRecords & { readonly tell: OnRecordLine; readonly watching: () => number } {
  const hearing = new Set<OnRecordLine>();
  const isKnown = ({ kind, namespace, name }: RecordSubject) => `${kind} ${namespace}/${name}` === "pod shop/web";
  return {
    get: (subject) => isKnown(subject) ? ["a\n", "b\n"] : null,
    listLatest: (namespace) => namespace === "empty" ? [] : ["b\n", `${namespace}\n`],
    watch(subject, onLine) {
      if (!isKnown(subject)) return null;
      hearing.add(onLine);
      return { [Symbol.dispose]: () => void hearing.delete(onLine) };
    },
    tell: (line) => hearing.forEach((onLine) => onLine(line)),
    watching: () => hearing.size,
  };
}

function ask(handler: Handler, query: string, init?: RequestInit): Promise<Response> {
  return Promise.resolve(handler(new Request(`http://podfit/debug/records${query}`, init)));
}

const handlerOf = (records: FlightRecords) => createHandler([debugRoutes(records, null)]);

const ANSWERS: Readonly<Record<string, readonly [status: number, body: string]>> = {
  "?namespace=shop&pod=web": [200, "a\nb\n"],
  "?namespace=shop&pod=web&watch=false": [200, "a\nb\n"],
  "?latest=true": [200, "b\nnull\n"],
  "?namespace=shop": [200, "b\nshop\n"],
  "?namespace=empty&latest=true": [200, ""],
};
for (const [query, expected] of Object.entries(ANSWERS)) {
  Deno.test(`/debug/records${query} is answered`, async () => {
    const response = await ask(handlerOf(newRecords()), query);
    assertEquals([response.status, await response.text()], expected);
    assertEquals(response.headers.get("content-type"), "application/x-ndjson");
  });
}

Deno.test("/debug/records says of what nothing is known", async () => {
  const message =
    'Nothing is known of scaledObject "shop/web": this podfit has evaluated none of that name; where several ' +
    "run, ask the leader, or the agent of the pod's node\n";
  for (const query of ["", "&watch=true", "&watch=true&past=false"]) {
    const response = await ask(handlerOf(newRecords()), `?namespace=shop&scaledObject=web${query}`);
    assertEquals([response.status, await response.text()], [404, message]);
  }
});

const REFUSED: Readonly<Record<string, string>> = {
  "": "nothing is asked for",
  "?latest=false": "nothing is asked for",
  "?pod=web": "namespace is missing",
  "?namespace=shop&pod=web&scaledObject=web": "pod and scaledObject do not go together",
  "?namespace=shop&pod=": "pod is empty",
  "?namespace=shop&namespace=b&pod=web": "namespace is given twice",
  "?namespace=shop&pod=web&latest=true": "latest is not for one pod or scaledObject",
  "?namespace=shop&pod=web&past=false": "past=false is for watch=true",
  "?namespace=shop&watch=true": "watch needs a pod or scaledObject",
  "?namespace=shop&pod=web&watch=yes": "watch is neither true nor false",
  "?name=web": 'unknown parameter "name"',
};
for (const [query, why] of Object.entries(REFUSED)) {
  Deno.test(`/debug/records${query} is refused: ${why}`, async () => {
    const response = await ask(handlerOf(newRecords()), query);
    const text = await response.text();
    assertEquals([response.status, text.split(";")[0]], [400, `Cannot parse the query: ${why}`]);
    assertMatch(text, /^[^\n]+\n$/);
  });
}

Deno.test("parseDebugQuery() decides by the last word on each of its parameters, and past is told unless it is not wanted", () => {
  const query = parseDebugQuery(new URLSearchParams("namespace=shop&pod=web&watch=true&past=false"));
  const subject = { kind: "pod", namespace: "shop", name: "web" };
  assertEquals(query, { kind: "one", subject, isWatched: true, withPast: false } as typeof query);
});

Deno.test("/debug/records goes on with each later line until the pod is gone", async () => {
  const records = newRecords();
  const response = await ask(handlerOf(records), "?namespace=shop&pod=web&watch=true");
  const text = response.text();
  assertEquals(records.watching(), 1);
  records.tell("c\n");
  await new Promise((resolve) => setTimeout(resolve));
  records.tell("d\n");
  records.tell(null);
  assertEquals([await text, records.watching()], ["a\nb\nc\nd\n", 0]);
});

Deno.test("/debug/records begins with the next line where past is not wanted", async () => {
  const records = newRecords();
  const response = await ask(handlerOf(records), "?namespace=shop&pod=web&watch=true&past=false");
  records.tell("c\n");
  records.tell(null);
  assertEquals(await response.text(), "c\n");
});

Deno.test("/debug/records cuts off a reader who does not read, and keeps no more for one", async () => {
  const records = newRecords();
  const response = await ask(handlerOf(records), "?namespace=shop&pod=web&watch=true");
  for (let line = 0; line < 257; line++) records.tell("c\n");
  const error = await response.text().then(() => null, (error) => error);
  assertEquals([error instanceof Error, error?.message, records.watching()], [
    true,
    'Cannot follow pod "web": its reader is too slow',
    0,
  ]);
});

Deno.test("/debug/records forgets a reader who has gone, also one who waits", async () => {
  const records = newRecords();
  const response = await ask(handlerOf(records), "?namespace=shop&pod=web&watch=true&past=false");
  const reader = response.body?.getReader();
  assert(reader !== undefined);
  const reading = reader.read();
  await new Promise((resolve) => setTimeout(resolve));
  await reader.cancel();
  assertEquals([(await reading).done, records.watching()], [true, 0]);
  const head = await ask(handlerOf(records), "?namespace=shop&pod=web&watch=true", { method: "HEAD" });
  assertEquals([head.status, await head.text(), records.watching()], [200, "", 0]);
});

Deno.test("/debug/records is for those who may get that path", async () => {
  const access: Access = { kind: "denied", user: "alice" };
  const handler = createHandler([debugRoutes(newRecords(), () => Promise.resolve(access))]);
  const response = await ask(handler, "?latest=true");
  assertEquals([response.status, await response.text()], [
    403,
    'Forbidden: user "alice" may not read this; grant the verb "get" on the nonResourceURL "/debug/records"\n',
  ]);
});
