import { assertEquals } from "#assert";
import type { FamilyRow } from "../../../lib/daemon/metrics/families.ts";
import { Family } from "../../../lib/daemon/metrics/family.ts";

const COUNTER: FamilyRow = { kind: "counter", name: "c", help: "", labels: ["namespace", "name", "reason"] };
const GAUGE: FamilyRow = { kind: "gauge", name: "g", help: "", labels: ["namespace"] };
const HISTOGRAM: FamilyRow = { kind: "histogram", name: "h", help: "", labels: [], buckets: [1, 5] };

function samples(family: Family): string[] {
  return [...family.write()].slice(1).join("").split("\n").slice(0, -1);
}

Deno.test("Family adds to a counter, sets a gauge and observes in a histogram", () => {
  const [counter, gauge, histogram] = [new Family(COUNTER), new Family(GAUGE), new Family(HISTOGRAM)];
  const labels = { namespace: "a", name: "b", reason: "c", more: "ignored" };
  for (const value of [1, 5, 5.1, 0]) {
    counter.record(labels, value);
    gauge.record(labels, value);
    histogram.record(labels, value);
  }
  assertEquals(samples(counter), ['c{namespace="a",name="b",reason="c"} 11.1']);
  assertEquals(samples(gauge), ['g{namespace="a"} 0']);
  const buckets = ['h_bucket{le="1"} 2', 'h_bucket{le="5"} 3', 'h_bucket{le="+Inf"} 4'];
  assertEquals(samples(histogram), [...buckets, "h_sum 11.1", "h_count 4"], "a bound belongs to its bucket");
});

Deno.test("Family has its header and no series before the first use", () => {
  for (const row of [COUNTER, GAUGE, HISTOGRAM]) {
    const family = new Family(row);
    for (const value of [NaN, Infinity, -Infinity]) family.record({ namespace: "a", name: "b", reason: "c" }, value);
    assertEquals([...family.write()], [`# HELP ${row.name} \n# TYPE ${row.name} ${row.kind}\n`]);
  }
});

Deno.test("Family forgets the series of one owner, whatever its name looks like", () => {
  const family = new Family(COUNTER);
  const owners = [
    { namespace: "a", name: "b" },
    { namespace: "a", name: "c" },
    { namespace: "b", name: "b" },
    { namespace: 'a",name="b', name: "" },
    { namespace: "a\\", name: 'b"' },
  ];
  for (const owner of owners) for (const reason of ["x", "y"]) family.record({ ...owner, reason }, 1);
  const all = samples(family);
  family.forget({ namespace: "a", name: "b" });
  assertEquals(samples(family), all.slice(2));
  family.forget({ namespace: "a\\", name: 'b"' });
  assertEquals(samples(family), all.slice(2, -2));
  family.keep([{ namespace: "b", name: "b" }, { namespace: "z", name: "z" }]);
  assertEquals(samples(family), all.slice(4, 6));
  family.keep([]);
  assertEquals(samples(family), []);
});

Deno.test("Family records labels again as it records them, also after their series was removed", () => {
  const owner = { namespace: "a", name: "b", reason: "c" };
  for (const remove of [(one: Family) => one.forget(owner), (one: Family) => one.keep([]), () => {}]) {
    const [again, anew] = [new Family(COUNTER), new Family(COUNTER)];
    for (const value of [2, NaN, 3]) {
      again.recordAgain(owner, value);
      anew.record({ ...owner }, value);
    }
    remove(again);
    remove(anew);
    again.recordAgain(owner, 4);
    again.record({ ...owner }, 1);
    anew.record({ ...owner }, 5);
    assertEquals(samples(again), samples(anew));
  }
  const empty = new Family(COUNTER);
  empty.recordAgain(owner, NaN);
  assertEquals(samples(empty), [], "it makes no series for a value that is not finite");
});

Deno.test("Family starts anew for an owner that has come back", () => {
  const family = new Family(COUNTER);
  const labels = { namespace: "a", name: "b", reason: "c" };
  family.record(labels, 7);
  family.forget(labels);
  family.record(labels, 1);
  assertEquals(samples(family), ['c{namespace="a",name="b",reason="c"} 1']);
});

Deno.test("Family writes each series once at most, while owners come and go", () => {
  const family = new Family(GAUGE);
  for (const namespace of ["a", "b", "c"]) family.record({ namespace }, 1);
  const writing = family.write();
  writing.next();
  const texts = [writing.next().value];
  for (const namespace of ["a", "b"]) family.forget({ namespace });
  for (const namespace of ["a", "d"]) family.record({ namespace }, 2);
  texts.push(...writing);
  assertEquals(texts.join(""), 'g{namespace="a"} 1\ng{namespace="c"} 1\n');
  assertEquals(samples(family), ['g{namespace="c"} 1', 'g{namespace="a"} 2', 'g{namespace="d"} 2']);
});

Deno.test("Family puts the constant labels before all others", () => {
  const family = new Family(COUNTER, { id: 'x"' });
  family.record({ namespace: "a", name: "b", reason: "c" }, 1);
  assertEquals(samples(family), [String.raw`c{id="x\"",namespace="a",name="b",reason="c"} 1`]);
});

Deno.test("Family keeps label values to 256 characters, different ones different, and forgets their owner (C52)", () => {
  const family = new Family(COUNTER);
  const long = "x".repeat(65_536);
  for (const reason of ["y".repeat(256), long, `${long}z`]) family.record({ namespace: "a", name: long, reason }, 1);
  const values = samples(family).map((line) => /reason="([^"]*)"/.exec(line)?.[1] ?? "");
  assertEquals(values[0], "y".repeat(256));
  assertEquals(values.map(({ length }) => length), [256, 256, 256]);
  assertEquals(new Set(values).size, 3);
  assertEquals(samples(family).every(({ length }) => length < 600), true);
  family.forget({ namespace: "a", name: long });
  assertEquals(samples(family), []);
});
