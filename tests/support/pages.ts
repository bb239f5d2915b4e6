/** Pages that commands print, kept as files: what they are made of is next to them as JSON. */

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
