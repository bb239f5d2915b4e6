/** What the long runs that write to tests/verify/results have in common. */

/** `work` for each item, so many at a time; gives what it gave, in the items' order. */
export async function mapAtOnce<Item, Made>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item) => Promise<Made>,
): Promise<readonly Made[]> {
  const made: Made[] = [];
  const left = items.entries();
  await Promise.all(Array.from({ length: atOnce }, async () => {
    for (const [index, item] of left) made[index] = await work(item);
  }));
  return made;
}

/** `Taken at commit 3666a0e on 2026-11-23`; the commit ends with -dirty where the tree has changes. */
export async function describeTaking(): Promise<string> {
  const args = ["describe", "--always", "--dirty", "--exclude=*"];
  const { stdout } = await new Deno.Command("git", { args, cwd: import.meta.dirname ?? "." }).output();
  const day = new Date().toISOString().slice(0, 10);
  return `Taken at commit ${new TextDecoder().decode(stdout).trim()} on ${day}`;
}

/** Names of the curves in a folder, sorted. */
export function listCurves(folder: string): readonly string[] {
  return [...Deno.readDirSync(folder)].map(({ name }) => name).filter((name) => name.endsWith(".csv")).sort();
}
