/** Lines of text as wide as they are to be, with colours and without. */
import { assertEquals } from "#assert";
import { fitWidth, fitWords, type Line, render, spread } from "../../../lib/cli/demo/drawing.ts";
import { formatElapsed } from "../../../lib/cli/terminal/numbers.ts";
import { toCharacters } from "../../../lib/cli/terminal/output.ts";

const LINE: Line = [{ text: "ab", style: "up" }, { text: "cd" }, { text: "─", style: "requests", isOverBar: true }];
const plain = (line: Line) => toCharacters(render(line, false));

Deno.test("fit() cuts and fills a line to its width", () => {
  for (const width of [0, 1, 2, 3, 5, 9]) assertEquals(plain(fitWidth(LINE, width)), "abcd─    ".slice(0, width));
});

Deno.test("fit() lets no text move the cursor", () => {
  assertEquals(plain(fitWidth([{ text: "a\x1b[2J\r\nb\u2028c" }], 9)), "a\ufffd[2J b c");
});

Deno.test("spread() gives up what is at the right when both do not fit with a gap", () => {
  const right = [{ text: "right" }];
  assertEquals(plain(spread(LINE, right, 12)), "abcd─  right");
  assertEquals(plain(spread(LINE, right, 11)), "abcd─      ");
  assertEquals(plain(spread(LINE, right, 3)), "abc");
});

Deno.test("render() ends each colour where its text ends, and writes none unless told to", () => {
  assertEquals(toCharacters(render(LINE, true)), "\x1b[1;32mab\x1b[0mcd\x1b[1;32;46m─\x1b[0m");
  assertEquals(toCharacters(render(LINE, false)), "abcd─");
});

Deno.test("formatElapsed() cannot be read as a time of day, and has hours only when there are any", () => {
  assertEquals([-1, 0, 59_999, 60_000, 3_599_999, 3_600_000].map(formatElapsed), [
    "+00m00s",
    "+00m00s",
    "+00m59s",
    "+01m00s",
    "+59m59s",
    "+1h00m ",
  ]);
});

Deno.test("fitWords() cuts no word: what is too long ends with a sign", () => {
  const cases: Readonly<Record<string, string>> = {
    "one two three": "one two three",
    "one two": "one two      ",
    "one two three  ": "one two three",
    "one two three four": "one two…     ",
    "onetwothreefourfive": "onetwothreef…",
  };
  for (const [text, fitted] of Object.entries(cases)) assertEquals(plain(fitWords([{ text }], 13)), fitted);
});
