/** Is a finding printed as its readers expect: people, programs, and GitHub? */
import { assertEquals } from "#assert";
import type { LocatedStatement } from "../../../lib/cli/lint/findings.ts";
import { formatReport, summarize } from "../../../lib/cli/lint/lint.ts";
import { createStyle } from "../../../lib/cli/terminal/text.ts";
import { toCharacters } from "../../../lib/cli/terminal/output.ts";

const FINDING: LocatedStatement = {
  level: "advice",
  rule: "slow-up",
  file: "a,b:c%.yaml",
  place: { line: 7, column: 5 },
  kind: "PodResourceAutoscaler",
  object: "shop/web",
  path: "spec.policy.cooldown",
  message: "100 % of it,\r\n::error::and: more",
};
const CLUSTER: LocatedStatement = { ...FINDING, level: "error", rule: "invalid", file: null, place: null };
const REPORT = { checked: new Map(), others: 0, unchecked: [], failures: [] };

Deno.test("text names the file or the object, the level, and what may be looked up", () => {
  const lines = print([FINDING, CLUSTER], "text");
  assertEquals(lines, [
    "a,b:c%.yaml:7:5: advice: shop/web: spec.policy.cooldown: 100 % of it, ::error::and: more [slow-up]",
    "PodResourceAutoscaler shop/web: error: spec.policy.cooldown: 100 % of it, ::error::and: more",
  ]);
});

Deno.test("text is coloured only with a style that has colours, and never inside of a message", () => {
  const text = formatReport({ ...REPORT, findings: [FINDING] }, { format: "text", style: createStyle(true) });
  assertEquals(
    toCharacters(text).replaceAll("\x1b", "^"),
    "^[1ma,b:c%.yaml:7:5^[22m: ^[1madvice^[22m: shop/web: " +
      "spec.policy.cooldown: 100 % of it, ::error::and: more ^[2m[slow-up]^[22m\n",
  );
});

Deno.test("github escapes properties and messages, so that no file and no message makes a command of its own", () => {
  assertEquals(print([FINDING, CLUSTER], "github"), [
    "::notice file=a%2Cb%3Ac%25.yaml,line=7,col=5,title=podfit%3A slow-up::shop/web: spec.policy.cooldown: " +
    "100 %25 of it, ::error::and: more",
    "::error title=podfit%3A invalid::PodResourceAutoscaler shop/web: spec.policy.cooldown: 100 %25 of it, ::error::and: more",
  ]);
});

Deno.test("the summary counts advice only where there is some", () => {
  const checked = new Map([["autoscaler" as const, 1]]);
  const words = [[], [FINDING], [FINDING, FINDING]].map((findings) => summarize({ ...REPORT, checked, findings }));
  assertEquals(words, [
    "1 autoscaler: 0 errors, 0 warnings",
    "1 autoscaler: 0 errors, 0 warnings, 1 piece of advice",
    "1 autoscaler: 0 errors, 0 warnings, 2 pieces of advice",
  ]);
});

function print(findings: readonly LocatedStatement[], format: "text" | "github"): readonly string[] {
  return toCharacters(formatReport({ ...REPORT, findings }, { format })).trimEnd().split("\n");
}
