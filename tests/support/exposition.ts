/**
 * Is a page what the Prometheus text format 0.0.4 asks for, strictly? One line per problem: a scraper is more lenient,
 * and then shows less than was meant.
 * https://prometheus.io/docs/instrumenting/exposition_formats/
 */

interface FamilyLines {
  readonly name: string;
  readonly kind: string;
  /** Labels without `le`, and what is known of that histogram so far. */
  readonly histograms: Map<string, { bound: number; count: number; isSummed: boolean; isCounted: boolean }>;
}

const NAME = "[a-zA-Z_:][a-zA-Z0-9_:]*";
const LABEL = String.raw`[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"`;
const NUMBER = String.raw`[+-]Inf|NaN|-?[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?`;
const SAMPLE = new RegExp(`^(${NAME})(?:\\{(${LABEL}(?:,${LABEL})*)\\})? (${NUMBER})$`);
const HELP = new RegExp(`^# HELP (${NAME}) (?:[^\\\\]|\\\\[\\\\n])*$`);
const TYPE = new RegExp(`^# TYPE (${NAME}) (counter|gauge|histogram)$`);

export function findFormatProblems(page: string): readonly string[] {
  const problems: string[] = [];
  if (!page.endsWith("\n")) problems.push("the last line does not end");
  const families = new Map<string, FamilyLines>();
  const seen = new Set<string>();
  let helped = "";
  let family: FamilyLines | null = null;
  for (const line of page.split("\n").slice(0, -1)) {
    const say = (problem: string) => problems.push(`${problem}: ${line}`);
    if (line.startsWith("# HELP")) {
      helped = HELP.exec(line)?.[1] ?? "";
      if (helped === "") say("no HELP line");
    } else if (line.startsWith("#")) {
      const [, name = "", kind = ""] = TYPE.exec(line) ?? [];
      if (name === "" || name !== helped) say("no TYPE line after its HELP line");
      if (families.has(name)) say("a family in two places");
      families.set(name, family = { name, kind, histograms: new Map() });
    } else {
      const [, name = "", labels = "", value = ""] = SAMPLE.exec(line) ?? [];
      const pairs = [...labels.matchAll(new RegExp(LABEL, "g"))].map(([pair]) => pair);
      const key = `${name}{${pairs.toSorted().join()}}`;
      if (name === "") say("no sample");
      else if (seen.has(key)) say("a series twice");
      else if (new Set(pairs.map((pair) => pair.split("=")[0])).size < pairs.length) say("a label twice");
      else if (family === null) say("a sample without a family");
      else judge(family, { name, pairs, value: Number(value.replace("Inf", "Infinity")) }, say);
      seen.add(key);
    }
  }
  for (const { name, histograms } of families.values()) {
    for (const [labels, { bound, isSummed, isCounted }] of histograms) {
      if (bound !== Infinity || !isSummed || !isCounted) {
        problems.push(`a histogram with parts missing: ${name}{${labels}}`);
      }
    }
  }
  return problems;
}

function judge(
  { name: family, kind, histograms }: FamilyLines,
  { name, pairs, value }: { readonly name: string; readonly pairs: readonly string[]; readonly value: number },
  say: (problem: string) => void,
): void {
  if (kind !== "histogram") {
    if (name !== family) say("a sample of another family");
    if (kind === "counter" && !(value >= 0)) say("a counter below zero");
    return;
  }
  const labels = pairs.filter((pair) => !pair.startsWith("le=")).join();
  const known = histograms.get(labels) ?? { bound: -Infinity, count: 0, isSummed: false, isCounted: false };
  histograms.set(labels, known);
  if (name === `${family}_bucket`) {
    const le = /^le="(.+)"$/.exec(pairs.find((pair) => pair.startsWith("le=")) ?? "")?.[1] ?? "NaN";
    const bound = Number(le.replace("+Inf", "Infinity"));
    if (!(bound > known.bound)) say("buckets out of order");
    if (!(value >= known.count)) say("buckets that do not add up");
    Object.assign(known, { bound, count: value });
  } else if (name === `${family}_sum`) known.isSummed = true;
  else if (name === `${family}_count`) {
    known.isCounted = true;
    if (value !== known.count) say("a count that is not its last bucket's");
  } else say("a sample of another family");
}
