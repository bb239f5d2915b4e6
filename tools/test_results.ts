/**
 * What became of each test of one run, from the JUnit XML that `deno test --junit-path` writes. A step stands beside its
 * test, as "test > step".
 */

/** `error`: cancelled by an error outside of any test. Tests that the filter leaves out are skipped. */
export type TestOutcome = "passed" | "failed" | "skipped" | "error";

/** By the name of the test or step. */
export type TestOutcomes = ReadonlyMap<string, TestOutcome>;

export interface TestCase {
  /** As `./tests/a_test.ts`. */
  readonly file: string;
  readonly name: string;
  readonly outcome: TestOutcome;
}

/** Tests of different files may have one name: see `parseJunit` for one file. */
export function parseJunitCases(xml: string): readonly TestCase[] {
  const cases = xml.matchAll(/<testcase name="([^"]*)" classname="([^"]*)"[^>]*>([^]*?)<\/testcase>/g);
  return [...cases].map(([, name = "", file = "", content = ""]) => ({
    file: unescapeXml(file),
    name: unescapeXml(name),
    outcome: readOutcome(content),
  }));
}

export function parseJunit(xml: string): TestOutcomes {
  return new Map(parseJunitCases(xml).map(({ name, outcome }) => [name, outcome]));
}

/** The names of a test's steps, and of theirs. */
export function listSteps(outcomes: TestOutcomes, test: string): readonly string[] {
  const start = `${test} > `;
  return [...outcomes.keys()].filter((name) => name.startsWith(start)).map((name) => name.slice(start.length));
}

/** A value of `--filter` that takes these tests and no others. */
export function toFilter(tests: readonly string[]): string {
  return `/^(${tests.map(toPattern).join("|")})$/`;
}

/** A regular expression that this text alone matches. `RegExp.escape` writes escapes that RE2 does not know. */
export function toPattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
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
