/** Which pages does the documentation have? */
const ROOT = new URL("../../", import.meta.url);

/** A page by its path from the project's root. */
export interface DocPage {
  readonly file: string;
  readonly text: string;
}

/** README.md and all pages in docs. */
export async function listPages(): Promise<readonly DocPage[]> {
  const folders = ["docs/"];
  const files = ["README.md"];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for await (const { name, isDirectory } of Deno.readDir(new URL(folder, ROOT))) {
      if (isDirectory) folders.push(`${folder}${name}/`);
      else if (name.endsWith(".md")) files.push(folder + name);
    }
  }
  return await Promise.all(files.map(async (file) => ({ file, text: await Deno.readTextFile(new URL(file, ROOT)) })));
}
