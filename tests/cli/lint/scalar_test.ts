/** Is a scalar read as kubectl 1.36 reads it? The cases were sent through `kubectl create --dry-run=server`. */
import { assertEquals } from "#assert";
import { resolveScalar, type ScalarValue } from "../../../lib/cli/manifests/yaml.ts";

const PLAIN: readonly (readonly [ScalarValue, ...string[]])[] = [
  [null, "", "~", "null", "Null", "NULL"],
  [true, "true", "True", "TRUE", "yes", "Yes", "YES", "y", "Y", "on", "On", "ON"],
  [false, "false", "False", "FALSE", "no", "No", "NO", "n", "N", "off", "Off", "OFF"],
  [0, "0", "0.0"],
  [1, "1", "1.0", "1."],
  [5, "5", "+5"],
  [8, "08", "0o10", "010"],
  [-15, "-017"],
  [16, "0x10", "+0x10", "0X10"],
  [-3, "-0b11"],
  [420, "0644"],
  [1000, "1_000", "1e3", "1E3", "1__000"],
  [10, "1_0.0"],
  [0.5, ".5", "+.5", "5e-1"],
  [1.5, "15e-1", "1.5e0"],
  [Infinity, ".inf", "+.Inf"],
  [-Infinity, "-.INF"],
];

const TEXT = [
  "tRUE",
  "yEs",
  "_1",
  "1:30",
  "2001-01-01",
  "0x",
  "0b2",
  "0o8",
  "=",
  "100m",
  "1Gi",
  "5s",
  "-",
  ".",
  "1e",
  "+",
];

Deno.test("resolveScalar() reads what is unquoted as kubectl does", () => {
  for (const [value, ...texts] of PLAIN) {
    for (const text of texts) assertEquals(resolveScalar({ text, isPlain: true, tag: null }), value, text);
  }
  for (const text of TEXT) assertEquals(resolveScalar({ text, isPlain: true, tag: null }), text);
  assertEquals(resolveScalar({ text: ".nan", isPlain: true, tag: null }), NaN);
});

Deno.test("resolveScalar() takes what is quoted for text, whatever it looks like", () => {
  for (const text of ["true", "5", "", "null", "0644"]) {
    assertEquals(resolveScalar({ text, isPlain: false, tag: null }), text);
  }
});

Deno.test("resolveScalar() lets an explicit tag win over quotes", () => {
  const resolve = (tag: string, text: string) => resolveScalar({ text, isPlain: tag !== "int", tag: `${YAML}${tag}` });
  assertEquals([resolve("str", "3"), resolve("int", "3"), resolve("bool", "yes")], ["3", 3, true]);
  assertEquals(resolveScalar({ text: "3", isPlain: true, tag: "!mine" }), "3");
});

const YAML = "tag:yaml.org,2002:";
