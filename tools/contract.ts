/**
 * Which clauses has the contract (docs/contract*.md), and which of them does a test's source name? A clause has an id of
 * its family, e.g. `C33`, `L4` or `R12`; a test names it by that in its own name or in that of a step.
 */

/** In the order of one file's text. */
export function listClauses(contract: string): readonly string[] {
  return [...contract.matchAll(/^- ([CLR]\d+) /gm)].map((match) => match[1] ?? "");
}

/** Of all contract files, one file after the other by name. Rejects when there is none. */
export async function readClauses(root: URL): Promise<readonly string[]> {
  const docs = new URL("docs/", root);
  const names: string[] = [];
  for await (const { name } of Deno.readDir(docs)) if (/^contract.*\.md$/.test(name)) names.push(name);
  if (names.length === 0) throw new Error(`Cannot find a contract in ${docs.pathname}`);
  const texts = await Promise.all(names.sort(byStem).map((name) => Deno.readTextFile(new URL(name, docs))));
  return texts.flatMap(listClauses);
}

/** One entry per test or step that names it; a name in a loop over a table counts once. */
export function listNamedClauses(source: string): readonly string[] {
  const names = source.matchAll(/(?:Deno\.test|\.step|scenario|chartTest)\(\s*(?:\{\s*name:\s*)?(["'`])(.*?)\1/g);
  return [...names].flatMap((match) => findClauses(match[2] ?? ""));
}

/** The ids in a name: `decideSize() holds (C33, C34)`. */
export function findClauses(name: string): readonly string[] {
  return name.match(/\b[CLR]\d{1,2}\b/g) ?? [];
}

/** `contract.md` before `contract-replicas.md`. */
function byStem(a: string, b: string): number {
  const [first, second] = [a.slice(0, -".md".length), b.slice(0, -".md".length)];
  return first < second ? -1 : 1;
}
