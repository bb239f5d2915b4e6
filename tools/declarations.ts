/**
 * Where in a TypeScript file does which function, constant or class member stand? Found by its layout alone, as `deno fmt`
 * writes it: top-level declarations begin in column 0, members of a class are indented by two.
 */

/** A stretch of the file's text, `end` excluded. */
export interface Declaration {
  /** `delayed`, or with its class: `Recorder.publish`, `Recorder.#count`, `Nodes.[Symbol.asyncDispose]`. */
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

/** A class is listed by its members alone. Types are left out. Never throws. */
export function listDeclarations(source: string): readonly Declaration[] {
  return listStretches(source, TOP_LEVEL).flatMap(({ keyword, ...declaration }) => {
    if (keyword !== "class") return keyword === "type" || keyword === "interface" ? [] : [declaration];
    const { name, start, end } = declaration;
    // The class's own line is skipped, as it is no member.
    const bodyAt = source.indexOf("\n", start) + 1;
    const members = bodyAt > 0 && bodyAt < end ? listStretches(source.slice(bodyAt, end), MEMBER) : [];
    return members.map((member) => ({
      name: `${name}.${member.name}`,
      start: member.start + bodyAt,
      end: member.end + bodyAt,
    }));
  });
}

interface Layout {
  /** A line that begins a declaration, or anything else that ends the one before. */
  readonly opening: RegExp;
  readonly declaration: RegExp;
}

const TOP_LEVEL: Layout = {
  opening: /^[\w$@/]/,
  declaration:
    /^(?:export )?(?:default )?(?:abstract )?(?:async )?(?<keyword>function|class|const|let|type|interface)\*? (?<name>[\w$]+)/,
};

const MEMBER: Layout = {
  opening: /^ {2}[\w$@/#[*]/,
  declaration:
    /^ {2}(?:(?:static|async|get|set|readonly|private|protected|public|override) )*\*?(?<name>#?[\w$]+|\[[\w.]+\])/,
};

interface Stretch extends Declaration {
  readonly keyword: string;
}

/** Each declaration reaches to the next opening line. */
function listStretches(source: string, { opening, declaration }: Layout): readonly Stretch[] {
  const found: Stretch[] = [];
  let open: Omit<Stretch, "end"> | null = null;
  let at = 0;
  for (const line of source.split("\n")) {
    if (opening.test(line)) {
      if (open !== null) found.push({ ...open, end: at });
      const groups = declaration.exec(line)?.groups;
      open = groups === undefined ? null : { name: groups["name"] ?? "", keyword: groups["keyword"] ?? "", start: at };
    }
    at += line.length + 1;
  }
  if (open !== null) found.push({ ...open, end: source.length });
  return found;
}
