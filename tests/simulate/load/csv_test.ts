import { assertEquals } from "#assert";
import { parseCsvLoads } from "../../../lib/simulate/load/csv.ts";
import type { Load } from "../../../lib/simulate/load.ts";

const MIB = 2 ** 20;

function load(text: string, options: { readonly millicoresPerPercent?: number } = {}): Load {
  const read = parseCsvLoads(text, { file: "a.csv", ...options });
  if (!read.ok) throw new Error(read.message);
  assertEquals(read.loads.length, 1);
  return read.loads[0]?.load ?? { seconds: 0, at: () => ({ cpuMillicores: 0, workingSetBytes: 0 }) };
}

Deno.test("parseCsvLoads() reads seconds and millicores, with straight lines between rows", () => {
  const { seconds, at } = load("seconds,millicores\n0,100\n300,400\n600,400\n");
  assertEquals(seconds, 600);
  assertEquals([0, 100, 300, 450, 600, 900, 50].map((second) => at(second).cpuMillicores), [
    100,
    200,
    400,
    400,
    400,
    400,
    150,
  ]);
  assertEquals(at(7).workingSetBytes, 200 * MIB);
});

Deno.test("parseCsvLoads() counts seconds from the first row, which may be before 0, and takes a percent for what it is told", () => {
  const text = "seconds,percent\n-300,5\n0,10\n";
  assertEquals(load(text).seconds, 300);
  assertEquals([0, 300].map((second) => load(text).at(second).cpuMillicores), [50, 100]);
  assertEquals(load(text, { millicoresPerPercent: 20 }).at(0).cpuMillicores, 100);
});

Deno.test("parseCsvLoads() reads quantities in any order of columns, with comments, quotes, CRLF and a BOM", () => {
  const text = '\uFEFF# mine\r\nMemory,seconds,"cpu",cache\r\n64Mi,0,250m,1Mi\r\n\r\n128Mi, 10 ,1.5,"3Mi"\r\n';
  assertEquals(load(text).at(0), { cpuMillicores: 250, workingSetBytes: 64 * MIB, pageCacheBytes: MIB });
  assertEquals(load(text).at(5), { cpuMillicores: 875, workingSetBytes: 96 * MIB, pageCacheBytes: 2 * MIB });
});

Deno.test("parseCsvLoads() takes what follows # for a comment, wherever it begins", () => {
  const text = "  # of Monday\nseconds,cpu # in cores\n0,100m\n60,200m # peak\n120,12Q # slip\n";
  assertEquals(load(text.replace("12Q", "300m")).at(60).cpuMillicores, 200);
  assertEquals(parseCsvLoads(text, { file: "a.csv" }), {
    ok: false,
    message: 'a.csv:5:5: Cannot parse quantity "12Q": unknown suffix "Q"',
  });
});

Deno.test("parseCsvLoads() takes memory alone, with constant CPU", () => {
  assertEquals(load("seconds,bytes\n0,1\n2,3\n").at(1), { cpuMillicores: 100, workingSetBytes: 2 });
});

Deno.test("parseCsvLoads() says in which line and column what is wrong", () => {
  const cases: Readonly<Record<string, string>> = {
    "": "Cannot read load a.csv: it is empty",
    "seconds,cpu\n0,1": "Cannot read load a.csv: it needs at least two rows",
    "cpu\n1\n": 'a.csv:1:1: Cannot find column "seconds": the first line has to name it',
    "seconds\n1\n": "a.csv:1:1: Cannot find a load: name a column cpu, millicores, percent, memory or bytes",
    "seconds, disk\n":
      'a.csv:1:10: Cannot use column "disk": the first line names the columns: seconds, cpu, millicores, percent, memory, bytes, cache',
    "seconds,cpu,percent\n": 'a.csv:1:13: Cannot use column "percent": another column has the cpu',
    "seconds,constructor\n":
      'a.csv:1:9: Cannot use column "constructor": the first line names the columns: seconds, cpu, millicores, percent, memory, bytes, cache',
    "seconds,cpu\n0,1\n\n5,12Q\n": 'a.csv:4:3: Cannot parse quantity "12Q": unknown suffix "Q"',
    "seconds,cpu\n0,-1\n1,1\n": 'a.csv:2:3: Cannot use "-1": a load is not negative',
    "seconds,millicores\n0,1\n1,NaN\n": 'a.csv:3:3: Cannot parse number "NaN": write 1.5',
    "seconds,millicores\n0,1\n1,1e300\n": 'a.csv:3:3: Cannot parse number "1e300": write 1.5',
    "seconds,millicores\n0,1\n1,\n": 'a.csv:3:3: Cannot parse number "": write 1.5',
    "seconds,percent\n0,1\n1,-2\n": 'a.csv:3:3: Cannot use "-2": a load is not negative',
    "seconds,cpu\n0,1\n1\n": "a.csv:3:2: Cannot read the row: 1 of 2 columns",
    "seconds,cpu\n0,1,2\n1,1\n": 'a.csv:2:5: Cannot read "2": the header names no such column',
    "seconds,cpu\n5,1\n5,1\n": "a.csv:3:1: Cannot use 5 seconds: the row before has 5; sort the rows",
  };
  for (const [text, message] of Object.entries(cases)) {
    assertEquals(parseCsvLoads(text, { file: "a.csv" }), { ok: false, message }, text);
  }
});

Deno.test("parseCsvLoads() reads the traces of the project", async () => {
  const folder = new URL("../../verify/quality/traces/", import.meta.url);
  const names = [...Deno.readDirSync(folder)].map(({ name }) => name).filter((name) => name.endsWith(".csv"));
  assertEquals(names.length, 5);
  for (const name of names) {
    const { seconds } = load(await Deno.readTextFile(new URL(name, folder)));
    assertEquals(seconds, 6 * 86_400, name);
  }
});
