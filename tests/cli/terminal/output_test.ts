/** The one writer: what it takes out of strings, what it lets pass of podfit's own, and that JSON keeps its values. */
import { assert, assertEquals } from "#assert";
import { fillScreen, openScreen } from "../../../lib/cli/terminal/screen.ts";
import { createStyle } from "../../../lib/cli/terminal/text.ts";
import { render } from "../../../lib/cli/demo/drawing.ts";
import { TERMINAL, type Text, toCharacters, toJson, toLine, toStyle } from "../../../lib/cli/terminal/output.ts";
import { assertHarmless, HOSTILE, UNSEEN } from "../../support/hostile_text.ts";

/** `[written, read]` */
const STRINGS: Readonly<Record<string, readonly [string, string]>> = {
  "newlines and tabs stay": ["a\n\tb\n", "a\n\tb\n"],
  "a newline of Windows is one": ["a\r\nb", "a\nb"],
  "ESC is replaced": ["a\x1b[31mb", "a\ufffd[31mb"],
  "CR, BEL, backspace and NUL are replaced": ["\r\x07\b\0", "\ufffd\ufffd\ufffd\ufffd"],
  "DEL and C1 are replaced": ["\x7f\x80\x9b\x9f", "\ufffd\ufffd\ufffd\ufffd"],
  "characters that turn the direction of text are replaced": [
    "\u202a\u202e\u2066\u2069\u200e\u061c",
    "\ufffd".repeat(6),
  ],
  "characters without a width are replaced": ["a\u200b\ufeff\u00ad\u{e0001}b", "a\ufffd\ufffd\ufffd\ufffdb"],
  "lone surrogates, which may become a character together, are replaced": ["\udb40", "\ufffd"],
  "text of any language stays": ["ü 日本 ▆ … 🙂 שלום", "ü 日本 ▆ … 🙂 שלום"],
};

Deno.test("a string reaches the terminal without what a terminal obeys or hides", () => {
  for (const [what, [written, read]] of Object.entries(STRINGS)) assertEquals(toCharacters(written), read, what);
  assertHarmless(toCharacters(HOSTILE), "a string");
  for (let code = 0; code < 0x300; code++) {
    const character = String.fromCharCode(code);
    if (character !== "\t") assertEquals(UNSEEN.test(toCharacters(character)), false, `U+${code.toString(16)}`);
  }
});

Deno.test("two strings do not become a character together that each of them is not", () => {
  assertEquals(toCharacters(["\udb40", "\udc01"]), "\ufffd\ufffd");
});

Deno.test("toLine() leaves no end of a line in any part of a text", () => {
  assertEquals(toLine("a\r\n\tb\u2028\u0085c\x1b\n"), "a b c\ufffd ");
  assertEquals(toCharacters(toLine(["a\nb", [toStyle(1), "c\n"]])), "a b\x1b[1mc ");
});

Deno.test("sequences of podfit's own pass, and those in a text that they style do not", () => {
  const evil = "a\x1b[8mb\x1b[0m\x9b1m";
  const shown = "a\ufffd[8mb\ufffd[0m\ufffd1m";
  const cases: readonly (readonly [Text, string])[] = [
    [createStyle(true).red(evil), `\x1b[31m${shown}\x1b[39m`],
    [createStyle(true).bold(evil), `\x1b[1m${shown}\x1b[22m`],
    [createStyle(false).magenta(evil), shown],
    [render([{ text: evil, style: "up" }], true), `\x1b[1;32m${shown}\x1b[0m`],
    [fillScreen([evil], 2), `${shown}\x1b[K\x1b[K`],
    [[TERMINAL.toLineStart, TERMINAL.clearLineEnd, evil], `\r\x1b[K${shown}`],
  ];
  for (const [text, characters] of cases) assertEquals(toCharacters(text), characters);
});

Deno.test("no object of a record passes for a sequence", () => {
  const forged: unknown = JSON.parse('[{"characters":"\\u001b[2J"}]');
  let written = "";
  try {
    written = toCharacters(forged as Text);
  } catch (error) {
    assert(error instanceof TypeError);
  }
  assertEquals(written, "");
});

Deno.test("a screen draws hostile lines in their rows", () => {
  let drawn = "";
  const write = (text: Text) => {
    drawn = toCharacters(text);
    return true;
  };
  using screen = openScreen({ getSize: () => ({ columns: 80, rows: 3 }), write });
  screen.draw(() => [HOSTILE, `${HOSTILE}\n`, "last"]);
  const rows = drawn.replace("\x1b[2J\x1b[H", "").split("\r\n");
  assertEquals(rows.length, 3);
  for (const row of rows.slice(0, 2)) assertHarmless(row, "a row");
});

Deno.test("toJson() gives back what was written, and has nothing that a terminal obeys or hides", () => {
  const value = { [HOSTILE]: [HOSTILE, "\u{e0001}\udb40", { deep: "a\n\tb" }] };
  for (const indent of [0, 2]) {
    const text = toJson(value, indent);
    assertHarmless(text, "JSON");
    assertEquals(toCharacters(text), text);
    assertEquals(JSON.parse(text), value);
  }
});
