/** Does a table of rows hold the same usage as the objects that it replaces? */
import { assert, assertEquals } from "#assert";
import fc from "fast-check";
import { type PodUsage, type Point, type Pressure, ROW, ROW_LENGTH } from "../../lib/api/usage.ts";
import { UsageTable, UsageTablePool } from "../../lib/usage/rows.ts";

const number = fc.double({ min: 0, max: 2 ** 64, noNaN: true });
const name = fc.string({ minLength: 1, maxLength: 8 });

const pressure: fc.Arbitrary<Pressure | null> = fc.option(fc.oneof(
  fc.record({
    fullNs: number,
    fullHint: fc.record({ unit: fc.constantFrom("us", "ns"), percent: number }),
    throttledNs: fc.constant(null),
    largestCpuNs: fc.constant(null),
  }),
  fc.record({ fullNs: fc.option(number), throttledNs: number, largestCpuNs: fc.option(number) }),
));

const point: fc.Arbitrary<Point> = fc.record({
  container: name,
  instance: name,
  at: number,
  resolutionMs: fc.constantFrom(1, 1000),
  cpu: fc.record({ kind: fc.constant("counter"), counterNs: number }),
  workingSetBytes: number,
  usageBytes: fc.option(number),
  pressure,
  oomKills: fc.nat(),
}, {
  requiredKeys: ["container", "instance", "at", "resolutionMs", "cpu", "workingSetBytes", "usageBytes", "pressure"],
});

const usage: fc.Arbitrary<PodUsage> = fc.record({
  cpu: fc.record({ at: number, resolutionMs: fc.constant(1000), counterNs: number, pressure }),
  usageBytes: fc.option(number),
  points: fc.uniqueArray(point, { maxLength: 5, selector: ({ container }) => container }),
}, { requiredKeys: ["usageBytes", "points"] });

const usages = fc.uniqueArray(fc.tuple(name, usage), { maxLength: 80, selector: ([uid]) => uid });

/** The same rows in another table, without the objects. */
function copyRows(from: UsageTable, names: ReadonlyMap<string, readonly string[]>): UsageTable {
  const to = new UsageTable();
  for (const [uid, containers] of names) {
    const podRow = from.findPod(uid);
    copyRow(to.addPod(uid), podRow);
    for (const container of containers) {
      const row = from.findContainer(podRow, container);
      copyRow(to.addContainer(container, from.getInstance(row)), row);
    }
  }
  return to;

  function copyRow(toRow: number, fromRow: number): void {
    for (let field = 0; field < ROW_LENGTH; field++) to.numbers[toRow + field] = from.numbers[fromRow + field] ?? NaN;
  }
}

Deno.test("UsageTable gives the objects that it was given, and equal ones of its rows alone", () => {
  fc.assert(fc.property(usages, (pods) => {
    const table = new UsageTable();
    for (const [uid, one] of pods) table.add(uid, one);
    assertEquals([...table], pods);
    assertEquals([...table.keys()], pods.map(([uid]) => uid));
    const names = new Map(pods.map(([uid, { points }]) => [uid, points.map(({ container }) => container)]));
    const copy = copyRows(table, names);
    assertEquals([...copy], pods);
    assertEquals([...copy.values()], pods.map(([, one]) => one));
    for (const uid of copy.keys()) assert(copy.get(uid) === copy.get(uid));
  }));
});

Deno.test("UsageTable finds the row of a container by its pod and name, and of no other", () => {
  const table = new UsageTable();
  const row = (uid: string, container: string) => table.findContainer(table.findPod(uid), container);
  const app = { ...POINT, container: "app" };
  table.add("a", { usageBytes: null, points: [app, { ...app, container: "proxy", workingSetBytes: 7 }] });
  table.add("b", { usageBytes: 9, points: [{ ...app, counterNs: 1, instance: "other" } as Point] });
  assertEquals(table.numbers[row("a", "proxy") + ROW.workingSetBytes], 7);
  assertEquals([table.getInstance(row("a", "app")), table.getInstance(row("b", "app"))], ["first", "other"]);
  assertEquals([row("b", "proxy"), table.findPod("c"), table.get("c")], [-1, -1, undefined]);
  assertEquals(table.numbers[table.findPod("b") + ROW.usageBytes], 9);
  assert(Number.isNaN(table.numbers[table.findPod("a") + ROW.usageBytes]));
});

const POINT: Point = {
  container: "app",
  instance: "first",
  at: 1,
  resolutionMs: 1000,
  cpu: { kind: "counter", counterNs: 5 },
  workingSetBytes: 6,
  usageBytes: null,
  pressure: null,
};

Deno.test("a table that was emptied is filled again, without anything of before", () => {
  const pool = new UsageTablePool();
  const first = pool.take();
  for (let pod = 0; pod < 200; pod++) first.add(`uid-${pod}`, { usageBytes: 1, points: [{ ...POINT, oomKills: 3 }] });
  first.clear();
  assertEquals([first.size, [...first]], [0, []]);
  // A second time gives nothing back.
  first.clear();
  const second = pool.take();
  assert(second === first);
  assert(pool.take() !== first);
  second.addPod("uid-1");
  second.addContainer("proxy", "second");
  const empty = { ...POINT, container: "proxy", instance: "second", at: NaN, resolutionMs: NaN, workingSetBytes: NaN };
  assertEquals(second.get("uid-1"), {
    usageBytes: null,
    points: [{ ...empty, cpu: { kind: "counter", counterNs: NaN } }],
  });
  assertEquals([second.findPod("uid-0"), second.findContainer(0, "app")], [-1, -1]);
});
