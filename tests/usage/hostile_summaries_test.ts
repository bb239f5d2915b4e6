/** What does a summary cost that is made to cost much? */
import { assertEquals } from "#assert";

const PROGRAM = new URL("../support/parse_hostile.ts", import.meta.url).pathname;
const CONFIG = new URL("../../deno.json", import.meta.url).pathname;
const TEXT = new TextDecoder();

Deno.test("SummaryReader builds nothing of 12 MiB of brackets: 40 MiB of heap suffice", async () => {
  const flags = ["--quiet", "--no-check", "--config", CONFIG, "--v8-flags=--max-old-space-size=40"];
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", ...flags, PROGRAM, "12"],
    stdout: "piped",
    stderr: "piped",
  }).output();
  assertEquals(TEXT.decode(stdout).trim().split("\n"), [
    "empty pods: summary",
    "empty lists for pods: summary",
    "pods of another node: summary",
    "pods whose name comes last: summary",
    "containers: summary",
    "numbers: summary",
    "texts: summary",
    "unknown fields: summary",
    "brackets: malformed",
    "braces: malformed",
    "a long number: malformed",
    "a long text that nobody reads: summary",
    "spaces: summary",
  ], TEXT.decode(stderr).slice(0, 2000));
  assertEquals(code, 0);
});
