/** Does projectJson() give what JSON.parse gives, of what a shape names, and does it survive anything else? */
import { assert, assertEquals, assertThrows } from "#assert";
import fc from "fast-check";
import { isRecord } from "../../../lib/units/untrusted.ts";
import {
  type ListShape,
  projectEntries,
  projectJson,
  type RecordShape,
  recordShape,
  type Shape,
} from "../../../lib/usage/json/projection.ts";

const ENTRY = recordShape({ id: "value", n: recordShape({ a: "value", id: "value" }) });
const LIST: ListShape = { kind: "list", entry: ENTRY, maxEntries: 3 };
const SHAPE = recordShape({ a: "value", n: recordShape({ a: "value", list: LIST }), list: LIST });

Deno.test("projectJson() gives of any JSON what JSON.parse gives of what the shape names", () => {
  fc.assert(fc.property(json(), fc.constantFrom(undefined, 1, "\t"), (value, indent) => {
    const text = JSON.stringify(value, null, indent);
    assertEquals(projectJson(toBytes(text), SHAPE), toExpected(JSON.parse(text), SHAPE));
  }));
});

Deno.test("projectJson() leaves out the entries that are not wanted, wherever their field stands", () => {
  const isWanted = (value: unknown) => value !== 1;
  const entry: Shape = { ...ENTRY, wanted: { field: "id", isWanted } };
  const list: Shape = { kind: "list", entry, maxEntries: 3 };
  fc.assert(fc.property(fc.array(json()), (entries) => {
    assertEquals(projectJson(toBytes(JSON.stringify(entries)), list), toExpected(entries, list));
  }));
});

Deno.test("projectJson() reads each number as JSON.parse does", () => {
  const numbers = fc.oneof(
    fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
    fc.bigInt({ min: 0n, max: 2n ** 64n }).map(String),
    fc.tuple(fc.nat(), fc.stringMatching(/^[0-9]{1,30}$/)).map(([integer, decimals]) => `${integer}.${decimals}`),
    fc.stringMatching(/^-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,3})?$/),
  );
  fc.assert(fc.property(numbers, (text) => {
    assertEquals(projectJson(toBytes(text), "value").value, JSON.parse(text));
  }));
  for (const text of ["-0", "9007199254740991", "9007199254740993", "900719925474099.25", "1e999"]) {
    assert(Object.is(projectJson(toBytes(text), "value").value, JSON.parse(text)), text);
  }
});

Deno.test("projectJson() reads each string as JSON.parse does", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: "grapheme-composite", maxLength: 8 }), { maxLength: 6 }), (texts) => {
      const list: Shape = { kind: "list", entry: "value", maxEntries: 100 };
      const escaped = JSON.stringify(texts).replaceAll(
        /[^ -~]/g,
        (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`,
      );
      for (const text of [JSON.stringify(texts), escaped]) {
        assertEquals(projectJson(toBytes(text), list).value, JSON.parse(new TextDecoder().decode(toBytes(text))));
      }
    }),
  );
});

Deno.test("projectJson() throws a SyntaxError or reads on, whatever a few bytes are changed to", () => {
  const edits = fc.array(fc.tuple(fc.nat(), fc.constantFrom(...'{}[]",:\\ \n\0\u001f019.-+eEtfnul/a\u00e4')), {
    maxLength: 4,
  });
  fc.assert(fc.property(json(), edits, fc.nat(), (value, edited, cut) => {
    const characters = [...JSON.stringify(value)];
    for (const [at, character] of edited) characters[at % characters.length] = character;
    if (cut % 3 === 0) characters.length = cut % characters.length;
    const text = characters.join("");
    const read = attempt(() => projectJson(toBytes(text), SHAPE));
    const parsed = attempt(() => JSON.parse(text));
    if (parsed.ok) assertEquals(read, { ok: true, value: toExpected(parsed.value, SHAPE) }, text);
    else if (!read.ok) assert(read.error instanceof SyntaxError, String(read.error));
  }));
});

const REFUSED = [
  "",
  " ",
  "{",
  "[",
  '{"a"',
  '{"a":',
  '{"a":1',
  '{"a":1,}',
  '{"a" 1}',
  "{a:1}",
  '{"a":1}}',
  '{"a":1} 2',
  '{"list":[1,]}',
  '{"list":[1 2]}',
  '{"x":[[[[',
  '{"x":"\\',
  '{"a":"\n"}',
  '{"a":"\\x"}',
  '{"a":01}',
  '{"a":1.}',
  '{"a":.5}',
  '{"a":-}',
  '{"a":+1}',
  '{"a":1e}',
  '{"a":tru}',
  '{"a":NaN}',
  '{"x":}',
  "<html>",
];
for (const text of REFUSED) {
  Deno.test(`projectJson() refuses ${JSON.stringify(text)}, as JSON.parse does`, () => {
    assertThrows(() => JSON.parse(text), SyntaxError);
    assertThrows(() => projectJson(toBytes(text), SHAPE), SyntaxError);
  });
}

Deno.test("projectJson() has the same words for the same fault, wherever it stands", () => {
  for (const [text, words] of [['{"list":[', "it ends too early"], ['{"x":1,"a":<', 'unexpected "<"']] as const) {
    for (const before of ["", "      "]) {
      assertThrows(() => projectJson(toBytes(before + text), SHAPE), SyntaxError, words);
    }
  }
});

/** Objects and lists of few names, so that they often are what the shape wants, and any value in between. */
function json(): fc.Arbitrary<unknown> {
  return fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 5, withCrossShrink: true },
      fc.oneof(
        fc.integer({ min: 0, max: 2 }),
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.string(),
        fc.boolean(),
        fc.constant(null),
      ),
      fc.array(tie("value"), { maxLength: 6 }),
      fc.dictionary(fc.constantFrom("a", "id", "n", "list", "x", 'q"', "\\", "ä"), tie("value"), { maxKeys: 6 }),
    ),
  })).value;
}

const LEFT_OUT = Symbol("left out");

/** The plain way: everything is parsed, and then most of it thrown away. */
function toExpected(value: unknown, shape: Shape): { readonly value: unknown; readonly omitted: number } {
  let omitted = 0;
  function project(value: unknown, shape: Shape): unknown {
    if (Array.isArray(value)) return shape !== "value" && shape.kind === "list" ? projectList(value, shape) : [];
    if (!isRecord(value)) return value;
    return shape !== "value" && shape.kind === "record" ? projectRecord(value, shape) : {};
  }
  function projectList(entries: readonly unknown[], { entry, maxEntries }: ListShape): unknown {
    const list: unknown[] = [];
    for (const one of entries) {
      if (list.length === maxEntries) {
        omitted++;
        continue;
      }
      const projected = project(one, entry);
      if (projected !== LEFT_OUT) list.push(projected);
    }
    return list;
  }
  function projectRecord(record: Readonly<Record<string, unknown>>, { fields, wanted }: RecordShape): unknown {
    if (wanted !== null && Object.hasOwn(record, wanted.field)) {
      const shape = fields.find(({ name }) => name === wanted.field)?.shape ?? "value";
      if (!wanted.isWanted(project(record[wanted.field], shape))) return LEFT_OUT;
    }
    const there = fields.filter(({ name }) => Object.hasOwn(record, name));
    return Object.fromEntries(there.map(({ name, shape }) => [name, project(record[name], shape)]));
  }
  return { value: project(value, shape), omitted };
}

type Attempt<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: unknown };

function attempt<T>(work: () => T): Attempt<T> {
  try {
    return { ok: true, value: work() };
  } catch (error) {
    return { ok: false, error };
  }
}

function toBytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

Deno.test("projectEntries() gives a list's entries one by one, as projectJson() does all at once", () => {
  const texts = [
    '{"items":[1,2,3]}',
    '{"a":{"items":[9]},"items":[{"x":1},{"x":2,"y":[1]}],"z":"]"}',
    ' { "items" : [ ] } ',
    '{"items":null}',
    '{"\\u0069tems":[7]}',
    '{"items":[1],"items":[2]}',
  ];
  for (const text of texts) {
    const shape = { kind: "list", entry: recordShape({ x: "value" }), maxEntries: 100 } as const;
    const bytes = new TextEncoder().encode(text);
    const all = (projectJson(bytes, recordShape({ items: shape })).value as { items: unknown[] | null }).items ?? [];
    assertEquals([...projectEntries(bytes, "items", shape)].slice(-all.length || Infinity), all, text);
  }
});

Deno.test("projectEntries() ends with how many it left out, and with null where there is no such list", () => {
  const shape = { kind: "list", entry: "value", maxEntries: 2 } as const;
  const end = (text: string) => {
    const entries = projectEntries(new TextEncoder().encode(text), "items", shape);
    for (let next = entries.next();; next = entries.next()) if (next.done === true) return next.value;
  };
  assertEquals(end('{"items":[1,2,3,4]}'), 2);
  assertEquals(end('{"items":null}'), 0);
  for (const text of ["{}", '{"items":7}', '{"other":[]}']) assertEquals(end(text), null, text);
  for (const text of ["[]", "7", '{"items":[1', '{"items":[1,]}', '{"items":[]}}', "", '{"items"}']) {
    assertThrows(() => end(text), SyntaxError);
  }
});

Deno.test("projectEntries() says where an entry was that is not wanted", () => {
  const entry = { ...recordShape({ x: "value" }), wanted: { field: "x", isWanted: (x: unknown) => x !== 2 } };
  const list = { kind: "list", entry, maxEntries: 9 } as const;
  const bytes = new TextEncoder().encode('{"items":[{"x":1},{"x":2},{"x":3}]}');
  assertEquals([...projectEntries(bytes, "items", list)], [{ x: 1 }, undefined, { x: 3 }]);
});
