import { assertEquals } from "#assert";
import { decideSize } from "../../../lib/vertical/decide.ts";
import { NEW_POD_STATE } from "../../../lib/model/state.ts";
import { type PodLine, toRecord } from "../../../lib/record/record.ts";
import { collectUsage, parseRecordLoads } from "../../../lib/simulate/load/usage.ts";
import { input, MI, pod, point, type PointOverrides, SECOND, START, usage } from "../../support/builders.ts";

function line(points: readonly PointOverrides[], name = "web"): string {
  const given = input({ pod: pod({ name }), observation: usage(points.map((one) => point(one))) });
  const record = toRecord({ before: NEW_POD_STATE, input: given, outcome: decideSize(NEW_POD_STATE, given) });
  const full: PodLine = { kind: "pod", namespace: "default", name, uid: "u", count: 1, since: START, record };
  return JSON.stringify(full);
}

Deno.test("readRecords() gives a load for each container of each pod, CPU from counters", () => {
  const text = [
    line([{ counterNs: 0, workingSetBytes: 10 * MI, usageBytes: 12 * MI }]),
    line([{ at: START + 10 * SECOND, counterNs: 2e9, workingSetBytes: 20 * MI, usageBytes: 22 * MI }]),
    JSON.stringify({ kind: "scaledObject" }),
    line([{ container: "main", rate: { millicores: 70, windowMs: 10 * SECOND } }], "api"),
    "",
    line([{ at: START + 20 * SECOND, counterNs: 6e9, workingSetBytes: 20 * MI, usageBytes: 20 * MI }]),
  ].join("\n");
  const read = parseRecordLoads(text, { file: "a.jsonl" });
  if (!read.ok) throw new Error(read.message);
  assertEquals(read.loads.map(({ pod, container, load }) => [pod?.split("/")[1], container, load.seconds]), [
    ["web", "main", 20],
    ["api", "main", 5],
  ]);
  // 200m on the mean of the first ten seconds, 400m of the next.
  const at = (second: number) => read.loads[0]?.load.at(second);
  assertEquals(at(5), { cpuMillicores: 200, workingSetBytes: 15 * MI, pageCacheBytes: 2 * MI });
  assertEquals(at(15)?.cpuMillicores, 400);
  assertEquals(read.loads[1]?.load.at(0).cpuMillicores, 70);
});

Deno.test("collectUsage() takes no CPU across a restart, and no point twice", () => {
  const collected = collectUsage();
  collected.add("a/b", [point({ counterNs: 5e9 })]);
  collected.add("a/b", [point({ counterNs: 5e9 })]);
  collected.add("a/b", [point({ at: START + 10 * SECOND, counterNs: 1e9, instance: "run-2" })]);
  assertEquals(collected.toLoads(), []);
  collected.add("a/b", [point({ at: START + 20 * SECOND, counterNs: 2e9, instance: "run-2" })]);
  assertEquals(collected.toLoads().map(({ load }) => [load.seconds, load.at(0).cpuMillicores]), [[20, 100]]);
});

Deno.test("readRecords() says in which line what is wrong", () => {
  const cut = line([{}]);
  const cases: Readonly<Record<string, string>> = {
    [`${cut}\n{"kind":"pod"`]: "a.jsonl:2:1: Cannot read the line: it is not a JSON object, or it is cut off",
    "[]": "a.jsonl:1:1: Cannot read the line: it is not a JSON object, or it is cut off",
    '{"kind":"node"}': 'a.jsonl:1:1: Cannot read the line: its kind is "node", not "pod" or "scaledObject"',
    '{"kind":"pod","record":{"version":99}}':
      "a.jsonl:1:1: record.version: Cannot read a record of version 99: this podfit reads version 2",
    [cut]:
      "Cannot read a load from a.jsonl: it has 1 reading of usage, and a load needs two of one container; record for longer",
    "":
      "Cannot read a load from a.jsonl: it has 0 readings of usage, and a load needs two of one container; record for longer",
  };
  for (const [text, message] of Object.entries(cases)) {
    assertEquals(parseRecordLoads(text, { file: "a.jsonl" }), { ok: false, message });
  }
});
