/** What `deno test` writes, read back: these lines are its own of 2.9.6. */
import { assertEquals } from "#assert";
import { listSteps, parseJunit, toFilter } from "../../tools/test_results.ts";

const JUNIT = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="deno test" tests="6" failures="2" errors="2" time="0.042">
    <testsuite name="./a_test.ts" tests="6" disabled="1" errors="2" failures="2">
        <testcase name="a &lt;b&gt; &amp; &quot;c&quot;" classname="./a_test.ts" time="0.002" line="1" col="6">
            <failure message="1 test step failed">1 test step failed.</failure>
        </testcase>
        <testcase name="left out" classname="./a_test.ts" line="2" col="6">
            <skipped/>
        </testcase>
        <testcase name="good" classname="./a_test.ts" time="0.000" line="3" col="6">
        </testcase>
        <testcase name="good &gt; too" classname="./a_test.ts" time="0.000" line="3" col="20">
        </testcase>
        <testcase name="cancelled" classname="./a_test.ts" time="0.000" line="4" col="6">
            <error message="Cancelled"/>
        </testcase>
        <testcase name="a &lt;b&gt; &amp; &quot;c&quot; &gt; one (C1)" classname="./a_test.ts" line="1" col="68">
            <failure message="Uncaught Error: x">Error: x
    at &lt;skipped/&gt;</failure>
        </testcase>
    </testsuite>
</testsuites>`;

Deno.test("parseJunit() tells what became of each test and step", () => {
  assertEquals([...parseJunit(JUNIT)], [
    ['a <b> & "c"', "failed"],
    ["left out", "skipped"],
    ["good", "passed"],
    ["good > too", "passed"],
    ["cancelled", "error"],
    ['a <b> & "c" > one (C1)', "failed"],
  ]);
});

Deno.test("parseJunit() gives nothing for a module that did not load", () => {
  assertEquals(parseJunit("").size, 0);
  assertEquals(parseJunit('<testsuites name="deno test" tests="0" time="0.000">\n</testsuites>').size, 0);
});

Deno.test("listSteps() gives the steps of one test", () => {
  assertEquals(listSteps(parseJunit(JUNIT), "good"), ["too"]);
  assertEquals(listSteps(parseJunit(JUNIT), "cancelled"), []);
});

Deno.test("toFilter() takes the tests of these names and no others", () => {
  const names = ["size() moves 1.5 [a|b] {c} ^$ ?+*\\ (C33)", "plain"];
  const pattern = new RegExp(toFilter(names).slice(1, -1));
  assertEquals(names.map((name) => pattern.test(name)), [true, true]);
  assertEquals(["plainer", "a plain", "size() moves 1x5 [a|b]"].map((name) => pattern.test(name)), [
    false,
    false,
    false,
  ]);
});
