/**
 * Pages that commands print, kept as files: what they are made of is next to them as JSON.
 *
 * `screens/` has what people see of one situation on a terminal of 80 and of 120 columns.
 */
import { assertEquals } from "#assert";

const PAGES = new URL("../testdata/pages/", import.meta.url);

export type PageName = "explain" | "top";

/** Resolves to the lines of the page. */
export async function readPage(name: PageName): Promise<readonly string[]> {
  return (await Deno.readTextFile(new URL(`${name}.txt`, PAGES))).trimEnd().split("\n");
}

/** Resolves to what the page is made of. The caller knows its type. */
export async function readPageInput<T>(name: PageName): Promise<T> {
  return JSON.parse(await Deno.readTextFile(new URL(`${name}.json`, PAGES)));
}

/** Resolves to the lines of the screen. */
export async function readScreen(name: string, columns: number): Promise<readonly string[]> {
  return (await Deno.readTextFile(new URL(`screens/${name}-${columns}.txt`, PAGES))).trimEnd().split("\n");
}

/** Resolves to the lines of every screen. */
export async function readScreens(): Promise<readonly (readonly string[])[]> {
  const names: string[] = [];
  for await (const { name } of Deno.readDir(new URL("screens/", PAGES))) names.push(name);
  return await Promise.all(
    names.map(async (name) => (await Deno.readTextFile(new URL(`screens/${name}`, PAGES))).split("\n")),
  );
}

/** Compares what `draw` makes of 80 and of 120 columns with `screens/NAME-80.txt` and `screens/NAME-120.txt`. */
export async function assertScreens(name: string, draw: (columns: number) => readonly string[]): Promise<void> {
  for (const columns of [80, 120]) {
    assertEquals(draw(columns), await readScreen(name, columns), `${name}, ${columns} columns`);
  }
}
