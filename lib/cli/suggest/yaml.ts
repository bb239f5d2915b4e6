/** Manifests with comments, which the YAML writer of the standard library has none of. */
import { toJson, toLine } from "../terminal/output.ts";
import type { Spec, Value } from "./candidate.ts";

/** A comment behind a field, by its path. */
export type Comments = ReadonlyMap<string, string>;

/** The fields as lines of YAML, each object in a block of its own. Ends with a newline. */
export function formatYaml(fields: Spec, comments: Comments = new Map()): string {
  return listLines(fields, "", comments).map(({ depth, text }) => `${"  ".repeat(depth)}${text}\n`).join("");
}

interface Line {
  readonly depth: number;
  readonly text: string;
}

function listLines(fields: Spec, path: string, comments: Comments): readonly Line[] {
  return Object.entries(fields).flatMap(([name, value]): readonly Line[] => {
    const own = path === "" ? name : `${path}.${name}`;
    if (typeof value === "object") {
      const inner = listLines(value, own, comments).map(({ depth, text }) => ({ depth: depth + 1, text }));
      return [{ depth: 0, text: `${name}:` }, ...inner];
    }
    const comment = comments.get(own);
    return [{
      depth: 0,
      text: `${name}: ${formatScalar(value)}${comment === undefined ? "" : ` # ${toLine(comment)}`}`,
    }];
  });
}

/** Comment lines of a text; long ones go on in the next. */
export function formatComment(lines: readonly string[]): string {
  return lines.flatMap((line) => breakLine(toLine(line))).map((line) => `# ${line}`.trimEnd() + "\n").join("");
}

const MOST_COLUMNS = 116;

function breakLine(text: string): readonly string[] {
  if (text.length <= MOST_COLUMNS) return [text];
  const at = text.lastIndexOf(" ", MOST_COLUMNS);
  if (at <= 0) return [text];
  return [text.slice(0, at), ...breakLine(text.slice(at + 1))];
}

/** What no YAML parser takes for anything but a text, and durations and quantities with a unit. */
const PLAIN = /^([a-z][a-z0-9]*([-./][a-z0-9]+)*|\d+(m|s|h|Ki|Mi|Gi))$/i;
/** Of YAML 1.1, which kubectl reads. */
const WORDS: ReadonlySet<string> = new Set(["y", "n", "yes", "no", "on", "off", "true", "false", "null"]);

function formatScalar(value: Value): string {
  if (typeof value === "number") return String(value);
  return PLAIN.test(value) && !WORDS.has(value.toLowerCase()) ? value : toJson(value);
}
