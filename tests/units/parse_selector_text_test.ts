import { assertEquals } from "#assert";
import { formatSelector, matches, parseSelectorText } from "../../lib/units/selector.ts";

/** As labels.Parse prints what it has parsed, where both print alike; `null` = it is refused. */
const CASES: Readonly<Record<string, string | null>> = {
  "": "",
  "app=web": "app=web",
  "app==web": "app=web",
  " app = web , tier in (back, front) ": "app=web,tier in (back,front)",
  "tier notin (a),app!=b": "app!=b,tier!=a",
  "!legacy,app": "app,!legacy",
  "app=": "app=",
  "app in (,a)": "app in (,a)",
  "app in (in,notin)": "app in (in,notin)",
  "app in (b,a,b)": "app in (a,b)",
  "kubernetes.io/arch=amd64": "kubernetes.io/arch=amd64",
  "app in ()": null,
  "app in a": null,
  "app in (a": null,
  "app=web,": null,
  ",app": null,
  "in=a": null,
  "app>1": null,
  "app=a b": null,
  "app=-a": null,
  "a/b/c=d": null,
  "!": null,
};

for (const [text, printed] of Object.entries(CASES)) {
  Deno.test(`parseSelectorText() takes "${text}" for ${printed === null ? "no selector" : `"${printed}"`} (R12, R30)`, () => {
    const parsed = parseSelectorText(text, "status.selector");
    assertEquals(parsed.ok ? formatSelector(parsed.selector) : null, printed);
    if (!parsed.ok) assertEquals(parsed.problems.map(({ path }) => path), ["status.selector"]);
  });
}

Deno.test("parseSelectorText() gives a selector that matches as its text says (R12, R30)", () => {
  const parsed = parseSelectorText("app in (a,b),!legacy", "");
  const verdicts = [{ app: "a" }, { app: "c" }, { app: "b", legacy: "" }, {}].map((labels) =>
    parsed.ok && matches(parsed.selector, labels as Record<string, string>)
  );
  assertEquals(verdicts, [true, false, false, false]);
});

Deno.test("parseSelectorText() refuses a text of more than 8 KiB unread (R30)", () => {
  const find = (values: number) => {
    const parsed = parseSelectorText(`app in (${Array(values).fill("x".repeat(63)).join(",")})`, "status.selector");
    return parsed.ok ? null : parsed.problems[0]?.message.split(": ").slice(1).join(": ");
  };
  assertEquals([find(127), find(128)], [
    null,
    "it is longer than 8192 characters, which podfit would have to keep: use fewer or shorter values",
  ]);
});
