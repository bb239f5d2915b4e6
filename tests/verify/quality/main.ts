// deno-lint-ignore-file no-console
/**
 * `deno task quality`: how well podfit keeps pods at their size, beside the field's recommender on the same curves, held
 * against the bars of docs/evidence/quality.md. Needs Go; some minutes on two cores. Exit code 1 when a bar is missed.
 *
 *   --curves DIR          traces to judge with instead of those in traces/ (DIR/*.csv: seconds, percent)
 *   --only NAME,...       of these curves alone
 *   --hours N             of each curve no more
 *   --policies NAME,...   of these in policies/ alone
 *   --out DIR             where curves and runs are kept; default: a folder in the user's cache
 *   --each                a table for each curve, too
 *
 * A whole run writes tests/verify/results/quality.md and quality.svg; any other prints what it has.
 */
import { parseArgs } from "node:util";
import { openProgressLine } from "../../../lib/cli/terminal/screen.ts";
import { describeTaking, mapAtOnce } from "../../support/results.ts";
import type { Curve } from "./curve.ts";
import { judge, meanOf } from "./judge.ts";
import { drawPlot } from "./plot.ts";
import { REFERENCES, writeBars, writeCurves, writeTables } from "./report.ts";
import { type Run, type Score, scoreRun } from "./score.ts";

const HERE = import.meta.dirname ?? ".";
const RESULTS = `${HERE}/../results`;
const POLICIES = ["example", "balanced", "latency", "thrifty"];
/** The one policy that has to fit a step within seconds. */
const PHASE_POLICY = "latency";
const AT_ONCE = 2;
const V8_FLAGS = "--v8-flags=--max-old-space-size=7000";

const { values } = parseArgs({
  args: Deno.args,
  options: {
    curves: { type: "string" },
    only: { type: "string" },
    hours: { type: "string" },
    policies: { type: "string" },
    out: { type: "string" },
    each: { type: "boolean", default: false },
  },
});
const isWhole = [values.only, values.hours, values.policies].every((given) => given === undefined);
const isOwn = isWhole && values.curves === undefined;
const out = values.out ?? `${cacheFolder()}/${isOwn ? "whole" : "part"}`;
const policies = values.policies?.split(",") ?? POLICIES;

await Deno.remove(out, { recursive: true }).catch(() => {});
await Deno.mkdir(out, { recursive: true });
const only = values.only?.split(",");
const progress = openProgressLine();
const curves = (await makeCurves()).filter(({ name }) => only?.includes(name) ?? true);
await runPolicies(curves);
showStep(5, "scoring the runs");
const scores = await scoreAll(curves);
progress[Symbol.dispose]();
console.log(values.each ? `${writeCurves(scores)}\n\n${writeTables(scores)}` : writeTables(scores));
if (isWhole) {
  const bars = judge(scores);
  console.log(`\n${writeBars(bars)}`);
  if (bars.some(({ isMet }) => !isMet)) Deno.exitCode = 1;
}
if (isOwn) await writeResults(scores);

/** The steps are of very different length, so each says what it does. */
function showStep(step: number, does: string): void {
  progress.show(`Step ${step} of 5: ${does}`);
}

/** Builds sim/, and has it make the curves and run the rivals. */
async function makeCurves(): Promise<readonly Curve[]> {
  const sim = `${cacheFolder()}/sim`;
  showStep(1, "building the simulator");
  await run("go", ["build", "-o", sim, "."], { cwd: `${HERE}/sim` });
  const env = values.hours === undefined ? {} : { HOURS: values.hours };
  showStep(2, "making the curves");
  await run(sim, ["curves", values.curves ?? `${HERE}/traces`, out], { env });
  showStep(3, "running the rivals");
  await run(sim, ["rivals", out], {});
  const names = [...Deno.readDirSync(`${out}/curves`)].map(({ name }) => name).sort();
  return names.map((name) => JSON.parse(Deno.readTextFileSync(`${out}/curves/${name}`)));
}

/** Each policy in a process of its own, two at a time. */
async function runPolicies(curves: readonly Curve[]): Promise<void> {
  const far = new Map(policies.map((policy) => [policy, "waits"]));
  const onFar = (policy: string, text: string) => {
    far.set(policy, text);
    showStep(4, [...far].map((one) => one.join(" ")).join(", "));
  };
  await mapAtOnce(policies, AT_ONCE, async (policy) => {
    const own = curves.filter(({ kind }) => kind !== "phase" || policy === PHASE_POLICY).map(({ name }) => name);
    const file = `${HERE}/policies/${policy}.json`;
    const args = [out, `podfit-${policy}`, file, own.join(",")];
    await run(Deno.execPath(), ["run", "-P=dev", V8_FLAGS, `${HERE}/worker.ts`, ...args], {
      onOutput: (text) => onFar(policy, text),
    });
    onFar(policy, "done");
  });
}

/** Of every run in `out`. */
async function scoreAll(curves: readonly Curve[]): Promise<readonly Score[]> {
  const scores: Score[] = [];
  for (const { name: controller } of Deno.readDirSync(`${out}/runs`)) {
    for (const curve of curves) {
      const text = await Deno.readTextFile(`${out}/runs/${controller}/${curve.name}.json`).catch(() => null);
      if (text !== null) scores.push(scoreRun(curve, JSON.parse(text) as Run));
    }
  }
  return scores;
}

async function writeResults(scores: readonly Score[]): Promise<void> {
  const text = [
    "# `deno task quality`",
    `${await describeTaking()}. What the figures mean: ` +
    "[docs/evidence/quality.md](../../../docs/evidence/quality.md).",
    "![cost beside resizes an hour](quality.svg)",
    writeTables(scores),
    "Bars:",
    writeBars(judge(scores)),
    "",
  ].join("\n\n");
  await Deno.writeTextFile(`${RESULTS}/quality.md`, text.trimEnd() + "\n");
  await Deno.writeTextFile(
    `${RESULTS}/quality.svg`,
    drawPlot("CPU of real servers: cost beside resizes", listMarks(scores)),
  );
}

function listMarks(scores: readonly Score[]) {
  const real = scores.filter(({ kind, isReal }) => kind === "cpu" && isReal);
  const names = [...new Set(real.map(({ controller }) => controller))].filter((name) => !REFERENCES.includes(name));
  return names.map((name) => {
    const own = real.filter(({ controller }) => controller === name);
    return {
      name,
      resizesPerHour: meanOf(own, "resizesPerHour"),
      cost: meanOf(own, "cost"),
      isOwn: name.startsWith("podfit"),
    };
  });
}

function cacheFolder(): string {
  return `${Deno.env.get("XDG_CACHE_HOME") ?? `${Deno.env.get("HOME")}/.cache`}/podfit-quality`;
}

interface RunOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Gets the last line of what it prints; without this, all of it is printed. */
  readonly onOutput?: (line: string) => void;
}

async function run(program: string, args: readonly string[], { onOutput, ...options }: RunOptions): Promise<void> {
  const stdout = onOutput === undefined ? "inherit" : "piped";
  const command = new Deno.Command(program, { args: [...args], ...options, stdout, stderr: "inherit" });
  const fail = (cause: unknown) => {
    throw new Error(`Cannot run ${program}: is it installed?`, { cause });
  };
  const child = await Promise.resolve().then(() => command.spawn()).catch(fail);
  if (onOutput !== undefined) {
    for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
      onOutput(text.trimEnd().split("\n").at(-1) ?? "");
    }
  }
  const { success, code } = await child.status;
  if (!success) throw new Error(`Cannot measure: ${program} ended with ${code}`);
}
