// deno-lint-ignore-file no-console
/**
 * `deno task bench:suggest`: what `podfit suggest` finds on the first half of each real curve, held against the document's
 * example on the second half. Exit code 1 where it is not better in slack and resizes, or throttled for longer; some
 * minutes on one core.
 *
 *   --curves DIR    other curves than tests/verify/quality/traces: CSV as `podfit suggest --load` reads it
 *   --at-once N     how many at a time; default: 2
 *   --out FILE      where the table goes; default: tests/verify/results/suggest.md, with the project's own curves
 */
import { parseArgs } from "node:util";
import { EXAMPLE_SPEC, judge, type Spec, type Subject, toSpec, type Verdict } from "../../../lib/cli/suggest/judge.ts";
import { search } from "../../../lib/cli/suggest/search.ts";
import { parseCsvLoads } from "../../../lib/simulate/load/csv.ts";
import { addNoise, cutLoad } from "../../../lib/simulate/load.ts";
import { container, MI, pod, resources } from "../../support/builders.ts";
import { describeTaking, listCurves, mapAtOnce } from "../../support/results.ts";

/** As in tests/verify/quality. */
const MILLICORES_PER_PERCENT = 13;
const POLICIES = 200;
const TRACES = `${import.meta.dirname}/../quality/traces`;
const RESULT = `${import.meta.dirname}/../results/suggest.md`;
/** The usual round numbers, limits twice the requests. */
const SIZE = { "cpu.requests": 500, "cpu.limits": 1000, "memory.requests": 256 * MI, "memory.limits": 512 * MI };
const POD = pod({ containers: [container({ name: "app", spec: resources(SIZE) })] });

interface Row {
  readonly curve: string;
  readonly spec: Spec;
  readonly suggested: Verdict;
  readonly example: Verdict;
}

async function main(): Promise<void> {
  const text = { type: "string" } as const;
  const { values } = parseArgs({ args: Deno.args, options: { curves: text, out: text, "at-once": text, one: text } });
  if (values.one !== undefined) {
    const name = values.one.replace(/^.*\//, "").replace(/\.csv$/, "");
    console.log(JSON.stringify(await measure(name, await Deno.readTextFile(values.one))));
    return;
  }
  const folder = values.curves ?? TRACES;
  const out = values.out ?? (values.curves === undefined ? RESULT : null);
  const rows = await measureAll(listCurves(folder).map((name) => `${folder}/${name}`), Number(values["at-once"] ?? 2));
  if (out !== null) await Deno.writeTextFile(out, await formatResult(rows));
  if (rows.some((row) => !isMet(row))) Deno.exitCode = 1;
}

/** Each in a process of its own. */
async function measureAll(files: readonly string[], atOnce: number): Promise<readonly Row[]> {
  return await mapAtOnce(files, atOnce, async (file) => {
    const args = ["run", "--quiet", "-P=dev", import.meta.filename ?? "", "--one", file];
    const { stdout, success } = await new Deno.Command(Deno.execPath(), { args, stderr: "inherit" }).output();
    if (!success) throw new Error(`Cannot measure ${file}: see above`);
    const row = JSON.parse(new TextDecoder().decode(stdout)) as Row;
    console.log(formatRow(row));
    return row;
  });
}

async function measure(curve: string, text: string): Promise<Row> {
  const read = parseCsvLoads(text, { file: curve, millicoresPerPercent: MILLICORES_PER_PERCENT });
  if (!read.ok) throw new Error(read.message);
  const loads = read.loads.map(({ load }) => addNoise(load, curve));
  const cut = (from: number, to: number): Subject => ({
    container: "app",
    pod: POD,
    loads: loads.map((load) => cutLoad(load, [from * load.seconds, to * load.seconds])),
    seen: ["cpu"],
  });
  const found = await search(cut(0, 0.5), { budget: POLICIES });
  if (found === null) throw new Error(`Cannot suggest for ${curve}: no profile is valid`);
  const [spec, later] = [toSpec(found.best.candidate), cut(0.5, 1)];
  const [suggested, example] = [judge(later, spec), judge(later, EXAMPLE_SPEC)];
  if (suggested === null || example === null) throw new Error(`Cannot judge ${curve}: a policy is not valid`);
  return { curve, spec, suggested, example };
}

function isMet({ suggested, example }: Row): boolean {
  return suggested.slack < example.slack && suggested.resizesPerHour < example.resizesPerHour &&
    suggested.throttledSeconds <= example.throttledSeconds && suggested.oomKills <= example.oomKills;
}

function formatRow({ curve, suggested, example }: Row): string {
  const cells = (["slack", "under", "throttledSeconds", "resizesPerHour"] as const).map((figure) => {
    const [a, b] = [suggested[figure], example[figure]].map((value) =>
      figure === "throttledSeconds" ? value : round(value)
    );
    return `${a} / ${b}`;
  });
  return `| ${[curve, ...cells, isMet({ curve, suggested, example, spec: {} }) ? "yes" : "**no**"].join(" | ")} |`;
}

function round(value: number): string {
  return value.toFixed(value < 10 ? 2 : 0);
}

async function formatResult(rows: readonly Row[]): Promise<string> {
  return [
    "# `deno task bench:suggest`",
    `${await describeTaking()}. What \`podfit suggest\` finds on the first three ` +
    "days of each curve of tests/verify/quality/traces (noise of 10 %, seeded), on the three days after them: suggested / the " +
    "document's example. CPU slack and under in millicores, throttled in seconds; what each means: docs/evidence/quality.md.",
    [
      "| curve | slack | under | throttled s | resizes/h | better |",
      "|---|---|---|---|---|---|",
      ...rows.map(formatRow),
    ].join("\n"),
    "Suggested:",
    rows.map(({ curve, spec }) => `- ${curve}: \`${JSON.stringify(spec)}\``).join("\n"),
    "",
  ].join("\n\n").trimEnd() + "\n";
}

await main();
