/** Which tests does a file have? Read off its source, so that a test is found by its name without running anything. */

export interface TestName {
  /** Matches the whole name. */
  readonly pattern: RegExp;
  /** Whether the source has the name in full, not with places that a table fills in. */
  readonly isExact: boolean;
}

const CALL =
  /(?<=^ *|\) )(?:Deno\.test|scenario|chartTest)\(\s*(?:\{\s*name:\s*)?(?:"((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)'|`((?:\\.|[^`\\])*)`)/gm;

/** Tests and scenarios, but not their steps. A name that is no string literal is left out. */
export function listTestNames(source: string): readonly TestName[] {
  return [...source.matchAll(CALL)].map(([, double, single, template]) => {
    const parts = template?.split(/\$\{(?:[^{}]|\{[^{}]*\})*\}/) ?? [double ?? single ?? ""];
    const literal = parts.map((part) => RegExp.escape(unquote(part)));
    return { pattern: new RegExp(`^${literal.join("[^]*")}$`), isExact: parts.length === 1 };
  });
}

function unquote(text: string): string {
  return text.replace(/\\(.)/g, "$1");
}
