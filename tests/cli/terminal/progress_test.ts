/** The line on stderr that says how far a command is. */
import { assertEquals } from "#assert";
import { toCharacters } from "../../../lib/cli/terminal/output.ts";
import { openProgressLine } from "../../../lib/cli/terminal/screen.ts";

function show(isTerminal: boolean): readonly string[] {
  const written: string[] = [];
  const progress = openProgressLine({ isTerminal, write: (text) => written.push(toCharacters(text)) });
  progress.show("2 of 4 policies");
  progress[Symbol.dispose]();
  return written;
}

Deno.test("openProgressLine() writes over one line of a terminal and leaves nothing", () => {
  assertEquals(show(true), ["\r\x1b[K2 of 4 policies", "\r\x1b[K"]);
});

Deno.test("openProgressLine() is silent where there is no terminal", () => assertEquals(show(false), []));
