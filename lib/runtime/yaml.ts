/** `@std/yaml` for machines that cannot reach JSR: the same code from npm `deno-std`, with its types declared here. */
import { parse as parseOne, parseAll as parseMany, stringify as stringifyOne } from "deno-std/yaml/mod.js";

/** Parses one YAML document. Throws SyntaxError, which names line and column. */
export const parse: (content: string) => unknown = parseOne;

/** Parses every document of a YAML stream. Throws SyntaxError, which names line and column. */
export const parseAll: (content: string) => unknown[] = parseMany;

/** Writes a value as YAML. Throws TypeError for what YAML cannot hold, such as a function. */
export const stringify: (value: unknown) => string = stringifyOne;
