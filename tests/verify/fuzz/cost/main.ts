// deno-lint-ignore-file no-console
/**
 * The search of `deno task fuzz --cost [--only TARGET,...] [--tries 300] [--seed S] [--write]`: the costliest inputs of
 * each parser, and of formulas. `--write` puts the table into tests/verify/results/fuzz-cost.md.
 */
import process from "node:process";
import { escapeUnseen } from "../../../../lib/runtime/unseen.ts";
import { draw } from "../../../../lib/simulate/model/random.ts";
import { describeTaking } from "../../../support/results.ts";
import type { Pattern } from "./pattern.ts";
import {
  type Cost,
  findExcess,
  type Finding,
  MAX_EXPONENT,
  MAX_HEAP_RATIO,
  MAX_JSON_RATIO,
  MAX_MS,
  searchCost,
} from "./search.ts";
import { COST_TARGETS } from "./targets.ts";

/** What is asked for. */
export interface CostOptions {
  readonly only: readonly string[] | undefined;
  readonly seed: number;
  readonly tries: number;
  readonly isWritten: boolean;
}

/** Resolves to the exit code. Throws for a target that is not there. */
export async function runCostSearch({ only, seed, tries, isWritten }: CostOptions): Promise<number> {
  const names = COST_TARGETS.map(({ name }) => name);
  const unknown = only?.filter((name) => !names.includes(name)) ?? [];
  if (unknown.length > 0) throw new Error(`Cannot search "${unknown.join()}": there are ${names.join(", ")}`);
  console.log(`fuzz --cost: seed ${seed}`);
  const worst: Finding[] = [];
  const failures: string[] = [];
  for (const target of COST_TARGETS.filter(({ name }) => only?.includes(name) ?? true)) {
    let drawn = 0;
    const random = () => draw([seed, target.name, drawn++]);
    const findings = searchCost(target, { tries, random, measure });
    const [first] = findings;
    if (first === undefined) continue;
    worst.push(first);
    console.log(`  ${writeCells(first).join(", ")}`);
    const failed = findings.map((finding) => ({ finding, excess: findExcess(finding) })).find(({ excess }) => excess);
    if (failed !== undefined) failures.push(`${target.name}: ${failed.excess}: ${describe(failed.finding.pattern)}`);
  }
  const text = await writeReport(worst, failures);
  console.log(`\n${text}`);
  if (isWritten) await Deno.writeTextFile(new URL("../../results/fuzz-cost.md", import.meta.url), text);
  return failures.length === 0 ? 0 : 1;
}

const RUNS = 3;

/** The least time of three runs, and the most memory that one of them has added before it is collected. */
function measure(run: () => unknown): Cost {
  let [ms, bytes] = [Infinity, 0];
  for (let left = RUNS; left > 0; left--) {
    const before = Deno.memoryUsage().heapUsed;
    const startedMs = performance.now();
    const cpu = process.cpuUsage();
    const kept = run();
    const { user, system } = process.cpuUsage(cpu);
    // Other programs lengthen the one, and threads of V8 the other.
    const tookMs = Math.min(performance.now() - startedMs, (user + system) / 1000);
    bytes = Math.max(bytes, kept === before ? 0 : Deno.memoryUsage().heapUsed - before);
    ms = Math.min(ms, tookMs);
    // Once is enough of what takes long.
    if (tookMs > 1000) break;
  }
  return { ms, mib: bytes / 2 ** 20 };
}

function writeCells({ target, bytes, ms, mib, largest, exponent, pattern }: Finding): readonly string[] {
  return [
    target,
    String(bytes),
    ms.toFixed(1),
    mib.toFixed(1),
    String(largest?.bytes ?? "-"),
    largest?.ms.toFixed(1) ?? "-",
    largest?.jsonMs?.toFixed(1) ?? "-",
    largest?.mib.toFixed(1) ?? "-",
    exponent === null ? "none" : exponent.toFixed(2),
    describe(pattern),
  ];
}

const SHOWN = 60;

function describe({ open, unit, core = "", shut = "", close }: Pattern): string {
  const quote = (text: string) => {
    return escapeUnseen(JSON.stringify(text.length > SHOWN ? `...${text.slice(-SHOWN)}` : text));
  };
  const cells = [quote(open), `${quote(unit)} repeated`, ...(shut === "" ? [] : [quote(core + shut)]), quote(close)];
  return `\`${cells.join(" ").replaceAll("`", "'").replaceAll("|", "\\|")}\``;
}

async function writeReport(worst: readonly Finding[], failures: readonly string[]): Promise<string> {
  const head = ["target", "bytes", "ms", "MiB"];
  head.push("largest, bytes", "ms", "JSON.parse, ms", "MiB", "growth", "worst input");
  const rows = [head, head.map(() => "---"), ...worst.map(writeCells)];
  return `# \`deno task fuzz --cost\`

${await describeTaking()}, on a machine that others may use too. These are the costliest inputs that the search has found for each
parser. The first three figures are those of 64 KiB. "largest" is the largest input that can reach the parser. "growth" is the power
of its size by which its time grows. MiB: what one run adds to the heap before it is collected.

Bounds:

- 64 KiB take at most ${MAX_MS} ms.
- The largest input takes at most ${MAX_MS} ms, or ${MAX_JSON_RATIO} times what JSON.parse alone takes for it.
- The largest input adds at most ${MAX_HEAP_RATIO} bytes to the heap for each byte, and 16 MiB.
- Time grows at most by the power ${MAX_EXPONENT} of the size.

Files that only commands read, and kubeconfigs, have no bound of time.

${rows.map((cells) => `| ${cells.join(" | ")} |`).join("\n")}

${
    failures.length === 0
      ? "All are within bounds."
      : `Beyond bounds:\n\n${failures.map((one) => `- ${one}`).join("\n")}`
  }
`;
}
