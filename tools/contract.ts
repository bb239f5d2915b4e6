/**
 * Which clauses do the contracts (docs/contracts/*.md) have, and which of them does a test's source name? A clause is a
 * heading of the third level that begins with its id, e.g. `### C33 The new size`. A test names the id in its own name
 * or in the name of a step.
 */

/** In the order of one file's text. */
export function listClauses(contract: string): readonly string[] {
  return [...contract.matchAll(/^### ([CLMR]\d+) /gm)].map((match) => match[1] ?? "");
}

/** The ids of all contracts, in the order of the files' names. Rejects when there is no contract. */
export async function readClauses(root: URL): Promise<readonly string[]> {
  const folder = new URL("docs/contracts/", root);
  const names = (await listNames(folder)).filter((name) => name.endsWith(".md")).sort();
  if (names.length === 0) throw new Error(`Cannot find a contract in ${folder.pathname}`);
  const texts = await Promise.all(names.map((name) => Deno.readTextFile(new URL(name, folder))));
  return texts.flatMap(listClauses);
}

/** One entry per test or step that names it; a name in a loop over a table counts once. */
export function listNamedClauses(source: string): readonly string[] {
  const names = source.matchAll(/(?:Deno\.test|\.step|scenario|chartTest)\(\s*(?:\{\s*name:\s*)?(["'`])(.*?)\1/g);
  return [...names].flatMap((match) => findClauses(match[2] ?? ""));
}

/** The ids in a name: `decideSize() holds (C33, C34)`. */
export function findClauses(name: string): readonly string[] {
  return name.match(/\b[CLMR]\d{1,3}\b/g) ?? [];
}

/** Empty for a folder that does not exist. */
async function listNames(folder: URL): Promise<string[]> {
  const names: string[] = [];
  try {
    for await (const { name } of Deno.readDir(folder)) names.push(name);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  return names;
}
