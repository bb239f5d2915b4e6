/**
 * What became of each test of one run, from the JUnit XML that `deno test --junit-path` writes. A step stands beside its
 * test, as "test > step".
 */

/** `error`: cancelled by an error outside of any test. Tests that the filter leaves out are skipped. */
export type TestOutcome = "passed" | "failed" | "skipped" | "error";

/** By the name of the test or step. */
export type TestOutcomes = ReadonlyMap<string, TestOutcome>;

export function parseJunit(xml: string): TestOutcomes {
  const outcomes = new Map<string, TestOutcome>();
  for (const [, name = "", content = ""] of xml.matchAll(/<testcase name="([^"]*)"[^>]*>([^]*?)<\/testcase>/g)) {
    outcomes.set(unescapeXml(name), readOutcome(content));
  }
  return outcomes;
}

/** The names of a test's steps, and of theirs. */
export function listSteps(outcomes: TestOutcomes, test: string): readonly string[] {
  const start = `${test} > `;
  return [...outcomes.keys()].filter((name) => name.startsWith(start)).map((name) => name.slice(start.length));
}

/** A value of `--filter` that takes these tests and no others. */
export function toFilter(tests: readonly string[]): string {
  return `/^(${tests.map((name) => name.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")).join("|")})$/`;
}

const ENTITIES: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" };

function readOutcome(content: string): TestOutcome {
  if (content.includes("<failure")) return "failed";
  if (content.includes("<error")) return "error";
  return content.includes("<skipped") ? "skipped" : "passed";
}

function unescapeXml(text: string): string {
  return text.replace(/&(\w+);/g, (all, name: string) => ENTITIES[name] ?? all);
}
