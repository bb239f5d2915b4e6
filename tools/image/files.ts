/** Writes the image's files below a folder, as in its layers. */
import { dirname } from "node:path";
import type { TarEntry } from "./tar.ts";

export async function writeFiles(directory: string, files: readonly TarEntry[]): Promise<void> {
  for (const { path, mode, content } of files) {
    const target = `${directory}/${path}`;
    await Deno.mkdir(dirname(target), { recursive: true });
    if (content === null) continue;
    await Deno.writeFile(target, content);
    await Deno.chmod(target, mode);
  }
}
