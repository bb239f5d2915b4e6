/** `podfit replay`: the same decisions, what differs, and what another policy would have decided, as a process says it. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "#assert";
import { formatLine, type PodLine } from "../../../lib/record/record.ts";
import { checkLine, describeDecision, findDifferences, formatAt } from "../../../lib/cli/replay/replay.ts";
import { stringify } from "../../../lib/runtime/yaml.ts";
import { autoscalerObject } from "../../support/api_objects.ts";
import { SIZE } from "../../support/builders.ts";
import { recordStory } from "../../support/recorded_story.ts";

const LINES: readonly PodLine[] = recordStory({ load: { cpu: 90 }, answer: "enact" }).map((record) => {
  const { namespace, name, uid } = record.input.pod;
  return { kind: "pod", namespace, name, uid, count: 1, since: record.input.now, record };
});
const TEXTS = LINES.map(formatLine);

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly error: string;
}

async function replay(files: Readonly<Record<string, string>>, ...args: readonly string[]): Promise<Ran> {
  const directory = await Deno.makeTempDir();
  try {
    for (const [name, text] of Object.entries(files)) await Deno.writeTextFile(`${directory}/${name}`, text);
    const main = new URL("../../../main.ts", import.meta.url).pathname;
    const options = { args: ["run", "-q", "-P=lint", main, "replay", ...args], cwd: directory };
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), options).output();
    const decoder = new TextDecoder();
    return { code, out: decoder.decode(stdout), error: decoder.decode(stderr) };
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

Deno.test("podfit replay ends with 0 where the same is decided", async () => {
  const { code, out, error } = await replay({ "trace.jsonl": `${TEXTS.join("\n")}\n\n` }, "trace.jsonl");
  const count = LINES.length;
  assertEquals([code, out, error], [0, `${count} records of ${count} evaluations: all decided the same\n`, ""]);
});

Deno.test("podfit replay ends with 1 where something else is decided, and says which field was and is what", async () => {
  const at = LINES.findIndex(({ record }) => record.outcome.request !== null);
  const changed = TEXTS.with(
    at,
    (TEXTS[at] ?? "").replace('"kind":"resize","action":"scaleUp"', '"kind":"resize","action":"scaleDown"'),
  );
  const { code, out } = await replay({ "trace.jsonl": changed.join("\n") }, "trace.jsonl");
  assertEquals(code, 1);
  assertMatch(out, new RegExp(`^line ${at + 1}, pod "shop/web-[^"]*" at 2026-11-20T11:\\d\\d:\\d\\dZ, differs:\n`));
  assertStringIncludes(
    out,
    '\n  outcome.decisions.0.decision.action\n    was "scaleDown"\n    is  "scaleUp"\n' +
      `${LINES.length} records of ${LINES.length} evaluations: 1 decided otherwise, ${LINES.length - 1} the same\n`,
  );
});

Deno.test("podfit replay ends with 2 where a file cannot be read, and names line and cause", async () => {
  const cut = { "trace.jsonl": `${TEXTS[0]}\n${TEXTS[1]?.slice(0, 500)}` };
  assertEquals(await replay(cut, "trace.jsonl"), {
    code: 2,
    out: "",
    error:
      'podfit: Cannot read "trace.jsonl", line 2: Cannot read the line: it is not a whole JSON object, so it may ' +
      "be cut off\n",
  });
  const none = await replay({ "empty.jsonl": "\n" }, "none.jsonl");
  assertEquals([none.code, none.error], [
    2,
    'podfit: Cannot read "none.jsonl": no such file or directory; check the path\n',
  ]);
  const empty = await replay({ "empty.jsonl": "\n" }, "empty.jsonl");
  assertEquals([empty.code, empty.error], [2, 'podfit: Cannot replay "empty.jsonl": it holds no record\n']);
});

Deno.test("podfit replay --policy says side by side what another policy would have decided, and sums up both", async () => {
  const cpu = { requests: { scaleUpThreshold: 200, scaleDownThreshold: 1, targetUtilization: 50 } };
  const lazy = autoscalerObject({ policy: { consecutiveSamples: 1, cpu } });
  const files = { "trace.jsonl": TEXTS.join("\n"), "lazy.yaml": stringify(lazy) };
  const { code, out, error } = await replay(files, "trace.jsonl", "--policy", "lazy.yaml");
  assertEquals([code, error], [0, ""], error);
  assertMatch(out, /^2026-\S+Z {2}shop\/web-\S+ main {2}scaleUp cpu\S+ \S+ -> .* \| hold /m);
  assertMatch(out, /^resizes: [1-9]\d* \([1-9]\d* up, 0 down\) recorded, 0 \(0 up, 0 down\) by lazy\.yaml$/m);
  assertMatch(out, /^at the end shop\/web-\S+ main: .* recorded, .* by lazy\.yaml$/m);
});

Deno.test("podfit replay --policy refuses what is no policy, or one for another container", async () => {
  const elsewhere = autoscalerObject({ containerName: "side" });
  const files = { "trace.jsonl": TEXTS.join("\n"), "other.yaml": stringify(elsewhere), "no.yaml": "kind: Pod\n" };
  const other = await replay(files, "trace.jsonl", "--policy", "other.yaml");
  assertEquals(other.code, 2, other.out);
  assertStringIncludes(other.error, 'the trace has no pod with an autoscaler for container "side"');
  const no = await replay(files, "trace.jsonl", "--policy", "no.yaml");
  assertEquals([no.code, no.error], [
    2,
    'podfit: Cannot read "no.yaml": it holds 0 PodResourceAutoscalers, and one is needed\n',
  ]);
});

Deno.test("findDifferences() names each field that differs, by its path", () => {
  const was = { a: 1, b: [1, { c: null }], d: undefined, e: 1n, constructor: "x" };
  assertEquals(findDifferences(was, { ...was, f: undefined }), []);
  assertEquals(findDifferences(was, { a: 2, b: [1, { c: 0 }, 3], e: 1n }), [
    { path: "a", was: 1, is: 2 },
    { path: "b.1.c", was: null, is: 0 },
    { path: "b.2", was: undefined, is: 3 },
    { path: "constructor", was: "x", is: undefined },
  ]);
  assertEquals(findDifferences([], {}), [{ path: "", was: [], is: {} }]);
});

Deno.test("checkLine() does not throw where an edited record brings the fold to an error", () => {
  const [line] = LINES;
  assert(line !== undefined);
  const broken = { ...line, record: { ...line.record, before: { ...line.record.before, views: null } } };
  const [difference] = checkLine(broken as unknown as PodLine);
  assertEquals(difference?.path, "");
  assertStringIncludes(String(difference?.is), "an error");
});

Deno.test("describeDecision() and formatFishAt() say each in a few words", () => {
  const to = { ...SIZE, "cpu.requests": 200 };
  const message = "would resize: cpu.requests 100m -> 200m (mode: recommend)";
  assertEquals([
    describeDecision(null),
    describeDecision({ kind: "hold", reason: "InBand", message: "" }),
    describeDecision({ kind: "blocked", action: "scaleUp", reason: "Cooldown", message: "" }),
    describeDecision({ kind: "blocked", action: "scaleUp", reason: "DryRun", message }),
    describeDecision({ kind: "resize", action: "scaleUp", from: { ...SIZE, "cpu.requests": 100 }, to }),
    describeDecision({ kind: "revert", reason: "ResizeDeferred", from: SIZE, to }),
    formatAt(0),
    formatAt(1e300),
  ], [
    "nothing decided",
    "hold InBand",
    "blocked scaleUp Cooldown",
    "scaleUp cpu.requests 100m -> 200m",
    "scaleUp cpu.requests 100m -> 200m",
    "revert ResizeDeferred",
    "1970-01-01T00:00:00Z",
    "1e+300",
  ]);
});
