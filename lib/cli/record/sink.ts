/** Where a trace goes: stdout, or a file that is written anew. */
import { escapeUnseen } from "../../runtime/unseen.ts";
import { writeOutput } from "../terminal/output.ts";
import { StartError, toStartError } from "../run/start_error.ts";

export interface Sink extends Disposable {
  /** False when nobody reads any more. */
  readonly write: (text: string) => boolean;
}

/** `null` = stdout. Rejects with a StartError where the file cannot be written. */
export async function openSink(path: string | null): Promise<Sink> {
  if (path === null) return { write: writeRecords, [Symbol.dispose]() {} };
  const file = await create(path);
  const encoder = new TextEncoder();
  return {
    write(text) {
      for (let rest = encoder.encode(text); rest.length > 0;) rest = rest.subarray(file.writeSync(rest));
      return true;
    },
    [Symbol.dispose]: () => file[Symbol.dispose](),
  };
}

/** Lines of JSON keep their values. A raw CR in JSON is a space between values: without it the line means the same. */
function writeRecords(text: string): boolean {
  return writeOutput(escapeUnseen(text.replaceAll("\r", "")));
}

async function create(path: string): Promise<Deno.FsFile> {
  try {
    return await Deno.create(path);
  } catch (cause) {
    if (!(cause instanceof Deno.errors.NotCapable)) {
      throw new StartError(`Cannot write "${path}": ${toStartError(cause).message}`, { cause });
    }
    const how = `start it with --allow-write=${path} before main.ts, or leave -o out and write > ${path}`;
    throw new StartError(`Cannot write "${path}": Deno does not let it write there; ${how}`, { cause });
  }
}
