/**
 * How is YAML parsed safely? Every parser here has bounds, because a few lines can expand to terabytes.
 *
 * npm `yaml` replaces `@std/yaml`, which needs JSR. It also gives `lint` its line numbers.
 * https://yaml.org/spec/1.2.2/
 */
import {
  type Document,
  isAlias,
  isMap,
  isPair,
  isScalar,
  LineCounter,
  type Node,
  parseAllDocuments,
  stringify as toYaml,
  visit,
  type YAMLMap,
} from "yaml";

/**
 * Parses one YAML document; empty ones may follow. Throws SyntaxError, which names line and column and never quotes the text, as that may be
 * a secret.
 */
export function parse(content: string): unknown {
  return takeOne(parseDocuments(content, TRUSTED_RULES));
}

/**
 * Parses one YAML document of an untrusted server: without anchors, aliases and merge keys, and with at most
 * MAX_PLAIN_MARKS. So it takes some 10 ms at most. Throws as parse() does.
 */
export function parsePlain(content: string): unknown {
  return takeOne(parseDocuments(content, UNTRUSTED_RULES));
}

/** Parses every document of a YAML stream. Throws as parse() does. */
export function parseAll(content: string): unknown[] {
  return parseDocuments(content, TRUSTED_RULES);
}

/** Writes a value as YAML. */
export function stringify(value: unknown): string {
  return toYaml(value, { aliasDuplicateObjects: false });
}

/** Returns why a text would cost too much to parse, for an error; `null` if it would not. */
export function findExcess(content: string, maxMarks = TRUSTED_RULES.maxMarks): string | null {
  let [marks, foldSteps, blanks, begin] = [0, 0, 0, 0];
  for (let index = 0; index < content.length; index++) {
    const code = content.charCodeAt(index);
    if (MARKS.has(code)) marks++;
    if (blanks === index - begin && (code === SPACE || code === TAB)) blanks++;
    foldSteps += blanks;
    if (code === NEWLINE) [blanks, begin] = [0, index + 1];
  }
  if (marks + foldSteps / FOLD_STEPS_PER_MARK <= maxMarks) return null;
  return `more than ${maxMarks} lines, fields and values, or long lines that begin with many spaces; split it`;
}

/** Each begin or end of a value, an error or a line costs up to 13 µs and 1 kB; the rest costs nearly nothing. */
const MARKS: ReadonlySet<number> = new Set([..."[]{},:-?&*!|>%@`#'\"\\\n\r"].map((mark) => mark.charCodeAt(0)));

/**
 * The library folds the lines of a scalar by a regular expression. In the last line it visits each character once for
 * each space or tab at the line's begin. So many of these steps take as long as a mark.
 */
const FOLD_STEPS_PER_MARK = 4096;

const [TAB, NEWLINE, SPACE] = [9, 10, 32];

interface Rules {
  readonly maxMarks: number;
  /** Aliases are refused. */
  readonly isPlain: boolean;
}

/** 50,000 lines of manifests have some 250,000 marks. */
const TRUSTED_RULES: Rules = { maxMarks: 500_000, isPlain: false };

/** Lines, fields and values of a document that parsePlain() takes. The event loop waits while it is parsed. */
export const MAX_PLAIN_MARKS = 1000;

const UNTRUSTED_RULES: Rules = { maxMarks: MAX_PLAIN_MARKS, isPlain: true };

const MAX_DEPTH = 100;

const MAX_ALIASES = 100;

/** A marker at the end of a file begins a document that is empty. */
function takeOne([first = null, ...rest]: readonly unknown[]): unknown {
  if (rest.some((one) => one !== null)) throw new SyntaxError("more than one document");
  return first;
}

function parseDocuments(content: string, { maxMarks, isPlain }: Rules): unknown[] {
  const excess = findExcess(content, maxMarks);
  if (excess !== null) throw new SyntaxError(excess);
  const lineCounter = new LineCounter();
  // Its own search for duplicate keys is quadratic.
  // Its warnings would be written to stderr, with the text that they are about.
  const options = { lineCounter, merge: true, uniqueKeys: false, prettyErrors: false, logLevel: "error" } as const;
  const fail: Fail = (why, offset) => {
    const { line, col } = lineCounter.linePos(offset);
    return new SyntaxError(`${why} at line ${line}, column ${col}`);
  };
  return [...parseAllDocuments(content, options)].map((document) => {
    const [error] = document.errors;
    if (error !== undefined) throw fail(error.code.toLowerCase().replaceAll("_", " "), error.pos[0]);
    if (isPlain) checkPlain(document, fail);
    checkNodes(document, fail);
    return toValue(document);
  });
}

type Fail = (why: string, offset: number) => Error;

function checkNodes(document: Document, fail: Fail): void {
  const anchors = new Map<string, Node>();
  const depthOf = (path: readonly unknown[]) => path.filter((parent) => !isPair(parent)).length;
  visit(document, {
    Node(_key, node, path) {
      const offset = node.range?.[0] ?? 0;
      if (depthOf(path) > MAX_DEPTH) throw fail(`nested more than ${MAX_DEPTH} levels deep`, offset);
      if (isAlias(node)) {
        // An alias means the last anchor before it.
        const target = anchors.get(node.source);
        if (target === undefined || path.includes(target)) throw fail("unknown or circular alias", offset);
      } else if (node.anchor !== undefined) anchors.set(node.anchor, node);
      if (isMap(node)) checkKeys(node, fail);
    },
  });
}

/** Merge keys are recognised by the schema, which a directive of the document chooses. */
function checkPlain(document: Document, fail: Fail): void {
  visit(document, {
    Node(_key, node) {
      const isShared = isAlias(node) || node.anchor !== undefined;
      if (isShared) throw fail("an anchor or an alias", node.range?.[0] ?? 0);
    },
    Pair(_key, { key }) {
      const isMerge = isScalar(key) && (key.value === "<<" || typeof key.value === "symbol");
      if (isMerge) throw fail("a merge key", key.range?.[0] ?? 0);
    },
  });
}

function checkKeys({ items }: YAMLMap, fail: Fail): void {
  const keys = new Set<unknown>();
  for (const { key } of items) {
    if (!isScalar(key) || key.value === "<<") continue;
    if (keys.has(key.value)) throw fail("duplicate key", key.range?.[0] ?? 0);
    keys.add(key.value);
  }
}

function toValue(document: Document): unknown {
  try {
    return document.toJS({ maxAliasCount: MAX_ALIASES });
  } catch (error) {
    if (!(error instanceof ReferenceError)) throw error;
    throw new SyntaxError("aliases that expand to too many values");
  }
}
