/** The terminal under a demo: what is written to it, and that it is given back. */
import { assert, assertEquals } from "#assert";
import { openScreen, type ScreenSize } from "../../../lib/cli/terminal/screen.ts";
import { type Text, toCharacters } from "../../../lib/cli/terminal/output.ts";

function run():
  & { readonly written: string[]; readonly resize: (size: ScreenSize) => void }
  & ReturnType<typeof openScreen> {
  const written: string[] = [];
  let size: ScreenSize = { columns: 3, rows: 2 };
  const write = (text: Text) => {
    written.push(toCharacters(text));
    return true;
  };
  return { written, resize: (to) => size = to, ...openScreen({ getSize: () => size, write }) };
}

Deno.test("a frame is one write over the one before, and clears only a terminal of another size", () => {
  const { written, resize, draw, [Symbol.dispose]: close } = run();
  draw(() => ["abc", "def", "too much"]);
  draw(({ columns }) => ["x".repeat(columns)]);
  resize({ columns: 4, rows: 2 });
  draw(({ columns }) => ["x".repeat(columns)]);
  close();
  assertEquals(written.slice(1, -1), ["\x1b[2J\x1b[Habc\r\ndef", "\x1b[Hxxx", "\x1b[2J\x1b[Hxxxx"]);
});

Deno.test("a screen is a place of its own without a cursor, and is left once", () => {
  const { written, [Symbol.dispose]: close } = run();
  close();
  close();
  assertEquals(written, ["\x1b[?1049h\x1b[?25l\x1b[?7l", "\x1b[?7h\x1b[?25h\x1b[?1049l"]);
});

Deno.test("a screen is left when the process ends in the middle of it", async () => {
  const script = `import { openScreen } from "${new URL("../../../lib/cli/terminal/screen.ts", import.meta.url)}";
    openScreen(); setTimeout(() => {${"$"}}, 1);`;
  for (const end of ["Deno.exit(3)", "void Promise.reject(new Error())", "throw new Error()"]) {
    const args = ["eval", "--quiet", script.replace("$", end)];
    const { stdout, code } = await new Deno.Command(Deno.execPath(), { args, stderr: "null" }).output();
    assert(code !== 0 && new TextDecoder().decode(stdout).endsWith("\x1b[?1049l"), end);
  }
});
