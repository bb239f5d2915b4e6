/** Which load does a container get, and which loads are refused because no container gets them? */
import { assertEquals, assertThrows } from "#assert";
import { StartError } from "../../../lib/cli/command/process.ts";
import { describeOtherPods, type SourcedLoad, takeUsed } from "../../../lib/cli/loads/loads.ts";
import { IDLE } from "../../../lib/simulate/load.ts";

function load(source: string, container: string | null, pod: string | null = null): SourcedLoad {
  return { source, container, pod, load: IDLE, seen: ["cpu"] };
}

Deno.test("takeUsed() keeps the load that names a container, else the one that names none, and of pods the first", () => {
  const named = [
    load("rest.csv", null),
    load("a.jsonl", "app", "shop/web-1"),
    load("a.jsonl", "istio", "shop/web-1"),
    load("a.jsonl", "app", "shop/web-2"),
  ];
  assertEquals(takeUsed(named, ["app", "proxy"]), named.slice(0, 2));
  assertEquals(takeUsed([], ["app"]), []);
});

Deno.test("takeUsed() refuses a source that no container uses, and says why", () => {
  const cases: readonly (readonly [readonly SourcedLoad[], string])[] = [
    [
      [load("ap=cpu.csv", "ap")],
      'Cannot use load "ap=cpu.csv": it is of container ap, and the files have app, proxy; correct the name',
    ],
    [
      [load("a.csv", null), load("b.csv", null)],
      'Cannot use load "b.csv": container app has load "a.csv"; give one load for each container',
    ],
    [
      [load("app=a.csv", "app"), load("app=b.csv", "app")],
      'Cannot use load "app=b.csv": container app has load "app=a.csv"; give one load for each container',
    ],
    [
      [load("a.csv", null), load("app=b.csv", "app"), load("proxy=c.csv", "proxy")],
      'Cannot use load "a.csv": container app has load "app=b.csv"; give one load for each container',
    ],
    [
      [load("db.jsonl", "postgres", "shop/db-0"), load("db.jsonl", "postgres", "shop/db-1")],
      'Cannot use load "db.jsonl": it is of container postgres, and the files have app, proxy; correct the name',
    ],
  ];
  for (const [named, message] of cases) assertThrows(() => takeUsed(named, ["app", "proxy"]), StartError, message);
});

Deno.test("describeOtherPods() names the pod whose load is used, once for each source", () => {
  const named = ["web-1", "web-2", "web-3"].flatMap((pod) =>
    ["app", "proxy"].map((container) => load("usage.jsonl", container, `shop/${pod}`))
  );
  const used = takeUsed(named, ["app", "proxy"]);
  assertEquals(describeOtherPods(named, used), [
    'Of the 3 pods in "usage.jsonl", the load is that of shop/web-1; for another, name a file with the records of that pod',
  ]);
  assertEquals(describeOtherPods(used, used), []);
});
