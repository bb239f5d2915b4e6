/**
 * Which clauses has the contract (tests/contract.md), and which of them does a test's source name? A test names a clause
 * by its id, `C33`, in its own name or in that of a step.
 */

/** In the order of the contract. */
export function listClauses(contract: string): readonly string[] {
  return [...contract.matchAll(/^- (C\d+) /gm)].map((match) => match[1] ?? "");
}

/** One entry per test or step that names it; a name in a loop over a table counts once. */
export function listNamedClauses(source: string): readonly string[] {
  const names = source.matchAll(/(?:Deno\.test|\.step|scenario)\(\s*(?:\{\s*name:\s*)?(["'`])(.*?)\1/g);
  return [...names].flatMap((match) => findClauses(match[2] ?? ""));
}

/** The ids in a name: `decide() holds (C33, C34)`. */
export function findClauses(name: string): readonly string[] {
  return name.match(/\bC\d{1,2}\b/g) ?? [];
}
