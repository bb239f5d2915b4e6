import { assert, assertEquals, assertStringIncludes } from "#assert";
import fc from "fast-check";
import { parsePrometheusAnswer } from "../../lib/triggers/http_trigger.ts";

const IGNORING = { ignoresNullValues: true };
const STRICT = { ignoresNullValues: false };

Deno.test("parsePrometheusAnswer() takes the value of one series (R14)", () => {
  for (const [text, value] of [["3.5", 3.5], ["1e3", 1000], ["-2", -2], [".5", 0.5], ["+7", 7]] as const) {
    assertEquals(parsePrometheusAnswer(vector([0, text]), STRICT), { ok: true, value, isEmpty: false }, text);
  }
});

Deno.test("parsePrometheusAnswer() takes no series and no value for 0, or for an error if ignoreNullValues is false, and counts them as empty (R14)", () => {
  const empty = [
    answer([]),
    answer(null),
    answer([{}]),
    answer([null]),
    vector([]),
    answer([{ metric: {}, values: [[0, "1"]] }]),
    '{"status":"error"}',
    "{}",
    "null",
  ];
  for (const text of empty) {
    assertEquals(parsePrometheusAnswer(text, IGNORING), { ok: true, value: 0, isEmpty: true }, text);
    const strict = parsePrometheusAnswer(text, STRICT);
    assert(!strict.ok && strict.isEmpty, text);
    assertStringIncludes(strict.cause, "gave no value, and ignoreNullValues is false");
  }
});

Deno.test("parsePrometheusAnswer() takes NaN and infinite values for 0, or for an error if ignoreNullValues is false (R14)", () => {
  for (const text of ["NaN", "+Inf", "-Inf"]) {
    assertEquals(parsePrometheusAnswer(vector([0, text]), IGNORING), { ok: true, value: 0, isEmpty: false }, text);
    const strict = parsePrometheusAnswer(vector([0, text]), STRICT);
    assert(!strict.ok && !strict.isEmpty, text);
  }
});

Deno.test("parsePrometheusAnswer() takes a null value for -1 (R14)", () => {
  assertEquals(parsePrometheusAnswer(vector([0, null]), STRICT), { ok: true, value: -1, isEmpty: false });
});

Deno.test("parsePrometheusAnswer() refuses several series, scalars and what has another shape, whatever ignoreNullValues says, and quotes nothing (R14)", () => {
  const one = { metric: {}, value: [0, "1"] };
  const table: readonly (readonly [text: string, cause: string])[] = [
    [answer([one, one]), "several series"],
    [answer([{}, {}]), "several series"],
    [answer([0, "CANARY"]), "an instant vector, not a scalar"],
    [answer({}), "an instant vector"],
    [answer([{ metric: [], value: [0, "1"] }]), "an instant vector"],
    [answer([{ metric: {}, value: "1" }]), "an instant vector"],
    ['{"status":1}', "an instant vector"],
    ['{"data":[]}', "an instant vector"],
    ['{"data":{"resultType":1}}', "an instant vector"],
    ["[]", "an instant vector"],
    ['"CANARY"', "an instant vector"],
    ["CANARY", "an instant vector"],
    ["", "an instant vector"],
    [vector([0]), "a time without a value"],
    [vector([0, "CANARY"]), "not a number"],
    [vector([0, 1]), "not a number"],
    [vector([0, "1e999"]), "not a number"],
    [vector([0, ""]), "not a number"],
  ];
  for (const [text, cause] of table) {
    const read = parsePrometheusAnswer(text, IGNORING);
    assert(!read.ok, text);
    assertStringIncludes(read.cause, cause, text);
    assert(!read.isEmpty && !read.cause.includes("CANARY"), text);
  }
});

Deno.test("parsePrometheusAnswer() never throws, whatever the answer (R14)", () => {
  fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), (text) => void parsePrometheusAnswer(text, STRICT)));
  fc.assert(fc.property(fc.jsonValue(), (result) => void parsePrometheusAnswer(answer(result), IGNORING)));
  fc.assert(
    fc.property(fc.jsonValue(), (value) => void parsePrometheusAnswer(answer([{ metric: {}, value }]), IGNORING)),
  );
});

function answer(result: unknown): string {
  return JSON.stringify({ status: "success", data: { resultType: "vector", result } });
}

function vector(value: readonly unknown[]): string {
  return answer([{ metric: {}, value }]);
}
