// deno-lint-ignore-file no-console
/**
 * The search of `deno task fuzz --cost [--only TARGET,...] [--tries 300] [--seed S] [--write]`: the costliest inputs of
 * each parser, and of formulas. `--write` puts the table into tests/verify/results/fuzz-cost.md.
 */
import { draw } from "../../../../lib/simulate/model/random.ts";
import { describeTaking } from "../../../support/results.ts";
import type { Pattern } from "./pattern.ts";
import { type Cost, findExcess, type Finding, MAX_EXPONENT, MAX_MS, searchCost } from "./search.ts";
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
    const kept = run();
    const tookMs = performance.now() - startedMs;
    bytes = Math.max(bytes, kept === before ? 0 : Deno.memoryUsage().heapUsed - before);
    ms = Math.min(ms, tookMs);
    // Once is enough of what takes long.
    if (tookMs > 1000) break;
  }
  return { ms, mib: bytes / 2 ** 20 };
}

function writeCells({ target, bytes, ms, mib, legalMs, exponent, pattern }: Finding): readonly string[] {
  return [
    target,
    String(bytes),
    ms.toFixed(1),
    mib.toFixed(1),
    legalMs === null ? "not tried" : legalMs.toFixed(0),
    exponent === null ? "none" : exponent.toFixed(2),
    describe(pattern),
  ];
}

const SHOWN = 60;

function describe({ open, unit, core = "", shut = "", close }: Pattern): string {
  const quote = (text: string) => JSON.stringify(text.length > SHOWN ? `...${text.slice(-SHOWN)}` : text);
  const cells = [quote(open), `${quote(unit)} repeated`, ...(shut === "" ? [] : [quote(core + shut)]), quote(close)];
  return `\`${cells.join(" ").replaceAll("`", "'").replaceAll("|", "\\|")}\``;
}

async function writeReport(worst: readonly Finding[], failures: readonly string[]): Promise<string> {
  const head = ["target", "bytes", "ms", "MiB", "ms at the largest legal size", "growth", "worst input"];
  const rows = [head, head.map(() => "---"), ...worst.map(writeCells)];
  return `# \`deno task fuzz --cost\`

${await describeTaking()}. The costliest input that the search has found for each parser, of 64 KiB or of its largest legal size.
"growth": by which power of its size its time grows. MiB: added to the heap by one run, before it is collected.
Bounds: ${MAX_MS} ms of CPU, and growth by a power of ${MAX_EXPONENT}. Files that commands read, and kubeconfigs, have only the latter.

${rows.map((cells) => `| ${cells.join(" | ")} |`).join("\n")}

${
    failures.length === 0
      ? "All are within bounds."
      : `Beyond bounds:\n\n${failures.map((one) => `- ${one}`).join("\n")}`
  }
`;
}
