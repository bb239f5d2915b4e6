/**
 * Reads the files that `-f` names, as kubectl does: a file, a directory, or stdin for `-`.
 *
 * A file that cannot be read is reported. The other files are still read.
 */
import { describeFileError } from "../command/process.ts";

interface Files {
  /** Each file once, even if it is named twice. */
  readonly sources: readonly Source[];
  /** One line for each path that could not be read. */
  readonly failures: readonly string[];
}

/** Reads the files of all paths. Never rejects for a file: `failures` lists what could not be read. */
export async function readManifests(paths: readonly string[]): Promise<Files> {
  const failures: string[] = [];
  const attempt = async <T>(path: string, work: () => Promise<T>): Promise<T | null> => {
    try {
      return await work();
    } catch (error) {
      failures.push(`Cannot read "${path}": ${describeFileError(error)}`);
      return null;
    }
  };
  const sources = new Map<string, Source | null>();
  for (const path of paths) {
    for (const file of await attempt(path, () => listFiles(path)) ?? []) {
      if (!sources.has(file)) sources.set(file, await attempt(file, () => readSource(file)));
    }
  }
  return { sources: [...sources.values()].filter((source) => source !== null), failures };
}

/** The API server accepts objects of 3 MiB, and a file may hold many. */
const MAX_BYTES = 16 * 2 ** 20;

const STDIN = "-";

async function listFiles(path: string): Promise<readonly string[]> {
  if (path === STDIN || !(await Deno.stat(path)).isDirectory) return [path];
  const entries = await Array.fromAsync(Deno.readDir(path));
  const files = entries.filter(({ name, isDirectory }) => !isDirectory && /\.(ya?ml|json)$/.test(name));
  if (files.length === 0) throw new Error("no *.yaml, *.yml or *.json in it (what lies deeper is not read)");
  return files.map(({ name }) => `${path.replace(/\/+$/, "")}/${name}`).sort();
}

async function readSource(path: string): Promise<Source> {
  if (path === STDIN) return { name: "<stdin>", text: await readText(Deno.stdin.readable) };
  return { name: path, text: await readText((await Deno.open(path)).readable) };
}

async function readText(stream: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<string> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  for await (const part of stream) {
    parts.push(part);
    length += part.length;
    if (length > MAX_BYTES) throw new Error(`larger than ${MAX_BYTES / 2 ** 20} MiB, split it`);
  }
  return await new Blob(parts).text();
}

export interface Source {
  /** The file's name, as findings show it. */
  readonly name: string;
  readonly text: string;
}

/** An object of a manifest file, unchecked. */
export type Manifest = Readonly<Record<string, unknown>>;
