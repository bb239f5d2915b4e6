/** Which load does a container get, and which loads are refused because no container gets them? */
import { assertEquals, assertRejects, assertThrows } from "#assert";
import { StartError } from "../../../lib/cli/command/process.ts";
import { describeOtherPods, readLoads, type SourcedLoad, takeUsed } from "../../../lib/cli/loads/loads.ts";
import { IDLE } from "../../../lib/simulate/load.ts";

function load(source: string, container: string | null, pod: string | null = null): SourcedLoad {
  return { source, container, pod, load: IDLE, seen: ["cpu"] };
}

Deno.test("readLoads() refuses a load that is longer than a run may be", async () => {
  const file = await Deno.makeTempFile({ suffix: ".csv" });
  const read = async (seconds: number) => {
    await Deno.writeTextFile(file, `seconds,millicores\n0,100\n${seconds},200\n`);
    const sources = { csv: [`app=${file}`], records: [], percentOfCores: 1, noise: "1", prometheus: null };
    return (await readLoads(sources)).map(({ load }) => load.seconds);
  };
  try {
    assertEquals(await read(400 * 86_400), [400 * 86_400]);
    await assertRejects(
      () => read(1_000_000_000_000),
      StartError,
      `Cannot use load "app=${file}": it is 11,574,074 days long, and 400 are the most; give a part of it, or divide its ` +
        "seconds by 1000 if they are milliseconds",
    );
  } finally {
    await Deno.remove(file);
  }
});

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
