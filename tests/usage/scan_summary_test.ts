/** Does the scanner read of every summary what the plain parser reads, and does it give up at anything else? */
import { assert, assertEquals } from "#assert";
import fc from "fast-check";
import { ROW } from "../../lib/api/usage.ts";
import { parseSummary, type SummaryOptions, type SummaryReading } from "../../lib/usage/kubelet/parse_summary.ts";
import { SummaryReader, SummaryScanner } from "../../lib/usage/kubelet/scan_summary.ts";
import { podStats } from "../verify/fuzz/targets/usage.ts";

const AT = Date.UTC(2026, 10, 20, 11);
const ALL: SummaryOptions = { tracked: () => true, nodeNow: AT };
const WARM = new SummaryReader(new SummaryScanner());

/** What a scanner reads that has read others before, and one that has not; both must be as the plain parser has it. */
function read(
  text: string | Uint8Array,
  options = ALL,
): { readonly reading: SummaryReading; readonly isScanned: boolean } {
  const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
  const expected = toPlain(parseSummary(bytes, options));
  const cold = new SummaryReader(new SummaryScanner()).read(bytes, options);
  const [warm, again] = [WARM.read(bytes, options), WARM.read(bytes, options)];
  const readings = [cold, warm, again];
  for (const reading of readings) assertEquals(toPlain(reading), expected);
  const scanned = readings.map((reading) => reading.kind === "summary" && reading.rows !== undefined);
  assertEquals(new Set(scanned).size, 1, "what was read before decides whether it gives up");
  return { reading: warm, isScanned: scanned[0] === true };
}

function toPlain(reading: SummaryReading): unknown {
  if (reading.kind === "malformed") return reading;
  const { node, pods, skipped } = reading;
  return { node, pods: [...pods], skipped };
}

function mustScan(text: string, options = ALL) {
  const { reading, isScanned } = read(text, options);
  assert(isScanned && reading.kind === "summary", `it gave up: ${text.slice(0, 200)}`);
  return reading;
}

function mustGiveUp(text: string, options = ALL): void {
  assert(!read(text, options).isScanned, `it was scanned: ${text.slice(0, 200)}`);
}

const SUMMARY = { node: { nodeName: "node1", cpu: { time: "2026-11-20T10:59:50Z" } }, pods: [podStats("a")] };
const TEXT = JSON.stringify(SUMMARY);

/** The summary with this text instead of a value. */
function replaced(before: string, after: string): string {
  assert(TEXT.includes(before), before);
  return TEXT.replace(before, () => after);
}

const KUBELET = new URL("../testdata/kubelet/", import.meta.url);
const RECORDED = ["cadvisor", "just-started", "steady-multi", "cgroup2"]
  .map((name) => Deno.readTextFileSync(new URL(`../testdata/summary/${name}.json`, import.meta.url)));

Deno.test("a scanner reads recorded summaries, indented and compact, with the numbers of the plain parser", () => {
  for (const text of RECORDED) {
    for (const indent of [undefined, 1, 2, "\t"]) mustScan(JSON.stringify(JSON.parse(text), null, indent));
    mustScan(text);
    mustScan(text.replaceAll("\n", "\r\n"));
  }
});

Deno.test("a scanner reads the recorded courses of pods that start, restart and run out of memory", () => {
  for (const course of ["fresh", "oom", "restart", "starting", "cadvisor"]) {
    const lines = Deno.readTextFileSync(new URL(`summaries_${course}.ndjson`, KUBELET)).trim().split("\n");
    for (const line of lines) {
      const text = JSON.stringify(JSON.parse(line).summary, null, 1);
      // In one of them the UIDs were left out.
      assertEquals(read(text).isScanned, !text.includes('"podRef"') || text.includes('"uid"'), text);
    }
  }
});

Deno.test("a row has the numbers of a container, and NaN for what is not there", () => {
  const reading = mustScan(TEXT);
  const rows = reading.rows;
  assert(rows !== undefined);
  const row = rows.findContainer(rows.findPod("a"), "main");
  const { numbers } = rows;
  assertEquals(Object.fromEntries(Object.entries(ROW).map(([name, field]) => [name, numbers[row + field]])), {
    at: AT - 10_000,
    resolutionMs: 1000,
    counterNs: 123_456_789,
    workingSetBytes: 67_108_864,
    usageBytes: 70_000_000,
    fullNs: 900_000,
    fullUnitNs: 1000,
    fullPercent: 1,
    throttledNs: NaN,
    largestCpuNs: NaN,
    oomKills: NaN,
    memoryStallPercent: NaN,
  });
  assertEquals(rows.getInstance(row), "2026-11-20T10:00:00Z");
});

Deno.test("a scanner reads for how long a container waited for memory as the plain parser does (L15)", () => {
  const stallOf = (psi: unknown) => {
    const [pod] = SUMMARY.pods as readonly { readonly containers: readonly { readonly memory: object }[] }[];
    const [container] = pod?.containers ?? [];
    const memory = { ...container?.memory, psi };
    const text = JSON.stringify({ ...SUMMARY, pods: [{ ...pod, containers: [{ ...container, memory }] }] });
    const { reading, isScanned } = read(text);
    return [isScanned, reading.kind === "summary" && reading.pods.get("a")?.points[0]?.memoryStallPercent];
  };
  const some = { total: 9, avg10: 40, avg60: 3, avg300: 1 };
  assertEquals(stallOf({ full: { ...some, avg10: 12.5 }, some }), [true, 12.5]);
  assertEquals(stallOf({ some, full: { ...some, avg10: 0 } }), [true, undefined]);
  assertEquals(stallOf({ some }), [true, undefined]);
  assertEquals(stallOf({ full: {} }), [true, undefined]);
  assertEquals(stallOf({ full: { avg10: 101 } }), [true, undefined]);
  assertEquals(stallOf({ full: { avg10: "12" } }), [false, undefined]);
});

Deno.test("a scanner reads only tracked pods, and asks each time which those are", () => {
  const text = JSON.stringify({ ...SUMMARY, pods: ["a", "b", "c"].map((uid) => podStats(uid)) });
  const tracked = new Set(["b"]);
  const uids = () => [...mustScan(text, { tracked }).pods.keys()];
  assertEquals(uids(), ["b"]);
  tracked.add("c");
  assertEquals(uids(), ["b", "c"]);
  tracked.delete("b");
  assertEquals(uids(), ["c"]);
});

Deno.test("a pod of another UID with the same hash is another pod", () => {
  const scanner = new SummaryScanner();
  const known = new Map();
  const scan = (uid: string) => {
    const bytes = new TextEncoder().encode(JSON.stringify({ pods: [podStats(uid, `of-${uid}`)] }));
    const reading = scanner.scan(bytes, known, ALL);
    return reading?.kind === "summary" ? [...reading.pods].map(([uid, { points }]) => [uid, points[0]?.container]) : [];
  };
  assertEquals(scan("a"), [["a", "of-a"]]);
  // As if both had the hash of the first.
  for (const [hash, pod] of known) known.set(hash, { ...pod, uid: "b" });
  assertEquals(scan("a"), [["a", "of-a"]]);
  assertEquals(scan("b"), [["b", "of-b"]]);
});

Deno.test("what a scanner remembers of a pod goes with the pod", () => {
  const scanner = new SummaryScanner();
  const known = new Map();
  const scan = (pods: readonly unknown[]) =>
    scanner.scan(new TextEncoder().encode(JSON.stringify({ ...SUMMARY, pods })), known, ALL);
  for (let round = 0; round < 20; round++) {
    scan(Array.from({ length: 50 }, (_, pod) => podStats(`uid-${round}-${pod}`)));
    assert(known.size <= 150, `${known.size} pods`);
  }
  scan([podStats("a")]);
  assertEquals(known.size, 1);
});

Deno.test("a scanner follows new instances, other orders and other names of containers", () => {
  const containers = ["main", "proxy", "log"].map((name) => ({ ...(podStats("a", name) as Pod).containers[0], name }));
  const pods = (list: readonly unknown[]) =>
    JSON.stringify({ pods: [{ ...(podStats("a") as object), containers: list }] });
  const names = (list: readonly unknown[]) =>
    mustScan(pods(list)).pods.get("a")?.points.map(({ container, instance }) => `${container} ${instance}`);
  const started = (index: number, startTime: string) => ({ ...containers[index], startTime });
  mustScan(pods(containers));
  mustScan(pods(containers.toReversed()));
  assertEquals(names([started(0, "2026-11-20T10:30:00Z"), started(2, "2026-11-20T10:00:00.5Z")]), [
    "main 2026-11-20T10:30:00Z",
    "log 2026-11-20T10:00:00.5Z",
  ]);
  assertEquals(names([started(0, "2026-11-20T10:30:01Z"), { ...containers[1], name: "other" }]), [
    "main 2026-11-20T10:30:01Z",
    "other 2026-11-20T10:00:00Z",
  ]);
  // A name that comes twice counts as left out.
  assertEquals(mustScan(pods([containers[0], containers[0]])).skipped, 1);
});

interface Pod {
  readonly containers: readonly object[];
}

/** Text of numbers, and whether it is JSON. */
const NUMBERS = ["0", "-0", "1", "-1", "1.5", "0.1", "12.345678901", "1e3", "1E+2", "1e-7", "1e999", "999999999"];
const LONG = ["1234567890", "999999999999999", "9007199254740993", "18446744073709551615", "18446744073709551616"];
const BROKEN = ["01", "1.", ".5", "1e", "+1", "-", "0x1", "1_0", "NaN", "1 2", "12a", "--1"];

Deno.test("a scanner reads numbers in any form of JSON as the plain parser does", () => {
  for (const number of [...NUMBERS, ...LONG]) {
    for (const before of ["123456789", "67108864", "70000000", '"total":900', '"avg10":1', '"avg60":1']) {
      const [key = "", value] = before.includes(":") ? before.split(/(?<=:)/) : ["", before];
      assert(value !== undefined);
      for (const space of ["", " ", "\t\n"]) mustScan(TEXT.replaceAll(before, `${key}${number}${space}`));
    }
  }
});

Deno.test("a scanner gives up at numbers that are none, and the plain parser says what they are", () => {
  for (const number of BROKEN) {
    for (const before of ["123456789", "67108864", "70000000"]) mustGiveUp(TEXT.replaceAll(before, number));
  }
});

Deno.test("a scanner gives up at values of another kind", () => {
  for (const value of ["null", "true", '"1"', "[]", "{}"]) mustGiveUp(replaced("123456789", value));
  for (const value of ["null", "7", "[]", "{}", '"a\\u0062"', '"\u00e4"']) {
    mustGiveUp(replaced('"name":"main"', `"name":${value}`));
    mustGiveUp(replaced('"uid":"a"', `"uid":${value}`));
    mustGiveUp(replaced('"startTime":"2026-11-20T10:00:00Z"', `"startTime":${value}`));
  }
  for (const text of ["[]", "7", '"a"', "null", '{"pods":{}}', '{"pods":7}', '{"node":null}', '{"pods":[7]}']) {
    mustGiveUp(text);
  }
  for (const text of ['{"pods":[{}]}', '{"pods":[{"podRef":{}}]}', '{"pods":[{"podRef":{"uid":""}}]}']) {
    mustGiveUp(text);
  }
});

Deno.test("a scanner reads lists that are empty or null, and fields that are absent", () => {
  for (const text of ["{}", '{"pods":null}', '{"pods":[]}', ' { "pods" : [ ] } ', '{"node":{},"pods":[]}']) {
    mustScan(text);
  }
  const { containers: _, ...bare } = podStats("a") as Pod & object;
  for (const pod of [bare, { ...bare, containers: null }, { ...bare, containers: [] }, { podRef: { uid: "a" } }]) {
    assertEquals(mustScan(JSON.stringify({ pods: [pod] })).pods.get("a")?.points, []);
  }
  for (const field of ["name", "startTime", "cpu", "memory"]) {
    const [container] = (podStats("a") as Pod).containers;
    const pod = { ...bare, containers: [{ ...container, [field]: undefined }] };
    assertEquals(mustScan(JSON.stringify({ pods: [pod] })).skipped, 1, field);
  }
});

Deno.test("a scanner gives up at a field that comes twice, also in the text that it expects", () => {
  for (
    const key of [
      '"podRef":{',
      '"cpu":{',
      '"memory":{',
      '"psi":{',
      '"full":{',
      '"containers":[',
      '"pods":[',
      '"node":{',
    ]
  ) {
    const [open = "", close = ""] = [key.slice(-1), key.endsWith("[") ? "]" : "}"];
    mustGiveUp(replaced(key, `${key.slice(0, -1)}${open}${close},${key}`));
  }
  for (const field of ['"name":"main"', '"uid":"a"', '"usageBytes":70000000', '"usageCoreNanoSeconds":123456789']) {
    mustGiveUp(replaced(field, `${field},${field}`));
  }
  // Of what is not read only the brackets count.
  mustScan(replaced('"usageNanoCores":5', '"usageNanoCores":5,"usageNanoCores":6,"x":{"a":1,"a":2}'));
});

Deno.test("a scanner gives up at keys with escapes that may be those of fields", () => {
  mustGiveUp(replaced('"cpu":', '"c\\u0070u":'));
  mustGiveUp(replaced('"pods":', '"p\\u006fds":'));
  mustGiveUp(replaced('"avg300":', '"avg\\u0033":'));
});

Deno.test("a scanner accepts escapes, other scripts and brackets in strings that it skips", () => {
  for (
    const skipped of [
      '"a\\"b"',
      '"\\\\"',
      '"\\u007b["',
      '"{[}]"',
      '"\u00e4\u{1f600}"',
      '""',
      '[1,["]"],{"}":"]"}]',
      "-1.5e3",
    ]
  ) {
    mustScan(replaced('"namespace":"shop"', `"namespace":${skipped}`));
    mustScan(replaced('"usageNanoCores":5', `"usageNanoCores":${skipped},"\u00e4":${skipped}`));
  }
});

Deno.test("a scanner takes a node that comes after its pods, or in another order, to the plain parser", () => {
  mustGiveUp(JSON.stringify({ pods: SUMMARY.pods, node: SUMMARY.node }), { tracked: () => true });
  const { podRef, ...rest } = podStats("a") as { readonly podRef: object };
  mustGiveUp(JSON.stringify({ pods: [{ ...rest, podRef }] }));
  mustScan(JSON.stringify({ pods: [{ startTime: "2026-11-20T10:00:00Z", podRef, ...rest }] }));
});

Deno.test("a scanner gives up at more containers than any pod has, and at a UID that comes twice", () => {
  const { containers: [container], ...pod } = podStats("a") as Pod;
  const many = (count: number) => Array.from({ length: count }, (_, index) => ({ ...container, name: `c${index}` }));
  mustScan(JSON.stringify({ pods: [{ ...pod, containers: many(64) }] }));
  mustGiveUp(JSON.stringify({ pods: [{ ...pod, containers: many(65) }] }));
  mustGiveUp(JSON.stringify({ pods: [podStats("a"), podStats("b"), podStats("a")] }));
  // Pods that are not tracked may have anything.
  mustScan(JSON.stringify({ pods: [{ ...pod, containers: many(65) }, podStats("b")] }), { tracked: new Set(["b"]) });
});

Deno.test("a summary that ends too early, wherever that is, has the error of the plain parser", () => {
  for (let length = 0; length < TEXT.length; length += 3) mustGiveUp(TEXT.slice(0, length));
  mustGiveUp(`${TEXT}x`);
  mustGiveUp(`${TEXT}{}`);
  mustGiveUp(`\ufeff${TEXT}`);
  mustScan(` \n${TEXT}\t\r\n `);
});

Deno.test("a scanner reads a part of a larger memory, and nothing behind it", () => {
  const bytes = new TextEncoder().encode(`xxx${TEXT}${"1".repeat(50)}`);
  for (const length of [TEXT.length, TEXT.length - 1]) {
    assertEquals(read(bytes.subarray(3, 3 + length)).isScanned, length === TEXT.length);
  }
  // The number goes on behind the end.
  assert(!read(new TextEncoder().encode("{}7").subarray(0, 1)).isScanned);
});

Deno.test("brackets without an end are too deep for no scanner", () => {
  for (const unit of ["[", '{"a":', '{"cpu":', '{"pods":[', "[{"]) mustGiveUp(`{"x":${unit.repeat(200_000)}`);
  mustScan(`{"x":${"[".repeat(200_000)}${"]".repeat(200_000)}}`);
});

Deno.test("a scanner gives up at text that is new all the time, and reads the next summary", () => {
  const keys = Array.from({ length: 5000 }, (_, index) => `"k${index}":1`).join();
  mustGiveUp(replaced('"usageNanoCores":5', keys));
  mustScan(TEXT);
  // More kinds of text than it keeps of all kubelets.
  for (let kind = 0; kind < 30; kind++) {
    const some = Array.from({ length: 700 }, (_, index) => `"k${kind}-${index}":1`).join();
    mustScan(replaced('"usageNanoCores":5', some));
    mustScan(TEXT);
  }
});

const two = (number: number) => String(number).padStart(2, "0");
const part = (max: number) => fc.oneof({ weight: 8, arbitrary: fc.nat(max) }, { weight: 1, arbitrary: fc.nat(99) });
const time = fc.oneof(
  fc.tuple(
    fc.constantFrom("2026", "2025", "1969", "1970", "0000", "9999", "+02026", "20 6", '20"6'),
    part(13),
    part(32),
    part(25),
    part(61),
    part(61),
  )
    .chain(([year, month, day, hour, minute, second]) =>
      fc.constantFrom("Z", "", "z", ".5Z", ".5", "+01:00", "-00:00", " Z", "Z(x)").map((zone) =>
        `${year}-${two(month)}-${two(day)}T${two(hour)}:${two(minute)}:${two(second)}${zone}`
      )
    ),
  fc.constantFrom("2026-02-30T10:00:00Z", "2026-11-20T24:00:00Z", "1970-01-01T00:00:00Z", "2026-11-20t10:00:00Z"),
  fc.constantFrom("Nov 20 026T10:00:00Z", "2026 PM   T13:00:00Z", "2026-11-20T10:00:00AM", "x".repeat(300), ""),
);

Deno.test("a scanner reads times as the plain parser does, whatever their form and however often they come", () => {
  fc.assert(
    fc.property(fc.array(time, { minLength: 1, maxLength: 3 }), fc.boolean(), (times, isStart) => {
      const texts = [...times, ...times].map((text) => JSON.stringify(text));
      const field = isStart ? "startTime" : "time";
      let at = 0;
      read(TEXT.replaceAll(new RegExp(`"${field}":"[^"]*"`, "g"), () => `"${field}":${texts[at++ % texts.length]}`));
    }),
    { numRuns: 400 },
  );
});

Deno.test("a scanner accepts spaces wherever JSON has them", () => {
  const space = fc.stringMatching(/^[ \n\t\r]{0,9}$/);
  fc.assert(
    fc.property(fc.array(space, { minLength: 1, maxLength: 40 }), (spaces) => {
      let at = 0;
      const next = () => spaces[at++ % spaces.length] ?? "";
      mustScan(TEXT.replaceAll(/("[^"]*")|[{}[\],:]/g, (token) => `${next()}${token}${next()}`));
    }),
    { numRuns: 400 },
  );
});
