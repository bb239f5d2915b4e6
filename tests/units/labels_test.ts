import { assertEquals } from "#assert";
import { findKeyFault, findValueFault } from "../../lib/units/selector.ts";

const RULE = `consists of letters, digits, "-", "_" and ".", and begins and ends with a letter or digit`;

Deno.test("findKeyFault() finds none in the keys Kubernetes takes", () => {
  const keys = ["a", "app", "A-b_c.9", "app.kubernetes.io/name", "x/1", "constructor", "a".repeat(63)];
  for (const key of [...keys, `${"a".repeat(253)}/${"b".repeat(63)}`]) assertEquals(findKeyFault(key), null, key);
});

Deno.test("findKeyFault() says what is wrong with a label key", () => {
  const faults: readonly [string, string][] = [
    ["", "empty name"],
    ["x/", "empty name"],
    ["/x", `nothing before the "/"`],
    ["a/b/c", `a name ${RULE}`],
    ["-a", `a name ${RULE}`],
    ["a.", `a name ${RULE}`],
    ["a b", `a name ${RULE}`],
    ["a\n", `a name ${RULE}`],
    ["\u00e4", `a name ${RULE}`],
    ["__proto__", `a name ${RULE}`],
    ["a".repeat(64), "name longer than 63 characters"],
    ["Example.com/a", `the part before the "/" is not a DNS name in lower case`],
    ["a..b/c", `the part before the "/" is not a DNS name in lower case`],
    ["a-.b/c", `the part before the "/" is not a DNS name in lower case`],
    [`${"a".repeat(254)}/b`, `the part before the "/" is not a DNS name in lower case`],
    ["a".repeat(318), "longer than 317 characters"],
  ];
  for (const [key, fault] of faults) assertEquals(findKeyFault(key), fault, key);
});

Deno.test("findValueFault() takes the values Kubernetes takes and says what is wrong with others", () => {
  for (const value of ["", "a", "1.2.3", "A_b-c", "a".repeat(63)]) assertEquals(findValueFault(value), null, value);
  for (const value of ["-a", "a-", "a/b", "a b", " ", "a\n"]) {
    assertEquals(findValueFault(value), `a value ${RULE}`, value);
  }
  assertEquals(findValueFault("a".repeat(64)), "longer than 63 characters");
});

Deno.test("findKeyFault() and findValueFault() refuse a text of any length at once", () => {
  for (const hostile of ["a".repeat(1e6), "/".repeat(1e6), "a.".repeat(5e5), `${"a".repeat(1e6)}!`]) {
    assertEquals(findKeyFault(hostile), "longer than 317 characters");
    assertEquals(findValueFault(hostile), "longer than 63 characters");
  }
});
