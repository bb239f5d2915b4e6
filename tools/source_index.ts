/**
 * The project's sources by what a mutation names in them: the functions, methods and constants of lib, and the tests.
 */
import { listDeclarations } from "./declarations.ts";
import { listTestNames, type TestName } from "./test_names.ts";

/** A stretch of a file's text, `end` excluded. */
export interface Place {
  readonly file: string;
  readonly start: number;
  readonly end: number;
}

export interface SourceIndex {
  /** By path from the project's root. */
  readonly texts: ReadonlyMap<string, string>;
  /** By name, of all TypeScript files of lib. */
  readonly declarations: ReadonlyMap<string, readonly Place[]>;
  /** `file` is below tests/. */
  readonly tests: readonly (TestName & { readonly file: string })[];
}

const FOLDERS = ["lib", "crds", "deploy", "tests"];

/** Reads what a mutation may name. Rejects when a folder or file cannot be read. */
export async function readSources(root: URL): Promise<SourceIndex> {
  const texts = new Map<string, string>();
  for (const folder of FOLDERS) {
    for await (const file of listFiles(folder, root)) texts.set(file, await Deno.readTextFile(new URL(file, root)));
  }
  return indexSources(texts);
}

/** Of texts by path from the project's root. */
export function indexSources(texts: ReadonlyMap<string, string>): SourceIndex {
  const files = [...texts].sort(([a], [b]) => a < b ? -1 : 1);
  const places = files.filter(([file]) => /^lib\/.*\.ts$/.test(file)).flatMap(([file, text]) =>
    listDeclarations(text).map(({ name, start, end }) => ({ name, place: { file, start, end } }))
  );
  const byName = Map.groupBy(places, ({ name }) => name);
  const tests = files.filter(([file]) => /^tests\/.*_test\.ts$/.test(file)).flatMap(([file, text]) =>
    listTestNames(text).map((name) => ({ ...name, file: file.slice("tests/".length) }))
  );
  const declarations = new Map([...byName].map(([name, all]) => [name, all.map(({ place }) => place)]));
  return { texts, declarations, tests };
}

async function* listFiles(folder: string, root: URL): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(new URL(folder, root))) {
    if (isDirectory) yield* listFiles(`${folder}/${name}`, root);
    else if (/\.(ts|yaml|tpl)$/.test(name)) yield `${folder}/${name}`;
  }
}
