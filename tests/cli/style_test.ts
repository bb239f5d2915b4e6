/** Is there colour where somebody looks at it, and nowhere else? */
import { assertEquals } from "#assert";
import { type ColorWhen, createStyle, isColored } from "../../lib/cli/terminal/text.ts";
import { toCharacters } from "../../lib/cli/terminal/output.ts";
import { runPodfit } from "../support/podfit_process.ts";
import { EXAMPLE } from "../support/manifests.ts";

Deno.test("colour is for terminals, unless NO_COLOR says none or --color says otherwise", () => {
  const cases: readonly (readonly [ColorWhen, boolean, string | undefined, boolean])[] = [
    ["auto", true, undefined, true],
    ["auto", true, "", true],
    ["auto", true, "1", false],
    ["auto", false, undefined, false],
    ["always", false, "1", true],
    ["never", true, undefined, false],
  ];
  for (const [when, isTerminal, noColor, expected] of cases) {
    assertEquals(isColored(when, { isTerminal, noColor }), expected, `${when} ${isTerminal} ${noColor}`);
  }
});

Deno.test("a style without colour changes no text", () => {
  const { isColored: _, ...paints } = createStyle(false);
  assertEquals(Object.values(paints).map((paint) => paint("a")), Array(4).fill("a"));
  assertEquals(toCharacters(createStyle(true).red("a")), "\x1b[31ma\x1b[39m");
});

Deno.test("podfit lint colours a pipe only when it is told to", async () => {
  const lint = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    runPodfit({ args: ["lint", "-f", "-", ...args], permissions: "lint", stdin: EXAMPLE, env });
  const endings = await Promise.all([
    lint([]),
    lint(["--color=always"], { NO_COLOR: "1" }),
    lint(["--color", "never"]),
  ]);
  assertEquals(endings.map(({ stdout }) => stdout.includes("\x1b[")), [false, true, false]);
});
