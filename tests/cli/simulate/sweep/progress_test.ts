import { assertEquals } from "#assert";
import { createCountProgress } from "../../../../lib/cli/terminal/screen.ts";
import { toCharacters } from "../../../../lib/cli/terminal/output.ts";

Deno.test("createProgress() writes over one line of a terminal and leaves nothing", () => {
  const written: string[] = [];
  const progress = createCountProgress(
    { isTerminal: () => true, write: (text) => written.push(toCharacters(text)) },
    4,
  );
  progress.show(2);
  progress.show(2);
  progress.end();
  assertEquals(written, [`\r[${"#".repeat(15)}${".".repeat(15)}] 2 of 4 policies`, "\r\x1b[K"]);
});

Deno.test("createProgress() is silent where there is no terminal", () => {
  const written: string[] = [];
  const progress = createCountProgress(
    { isTerminal: () => false, write: (text) => written.push(toCharacters(text)) },
    4,
  );
  progress.show(1);
  progress.end();
  assertEquals(written, []);
});
