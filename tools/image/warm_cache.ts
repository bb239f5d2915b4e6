/**
 * What Deno finds out at podfit's start, worked out once for all starts, since a read-only file system remembers
 * nothing: which imports each file has, and the bytecode of Deno's own modules. Without it a start takes twice as long
 * and keeps 11 MiB more. podfit's own bytecode is not in it: that names the folder in which it was made.
 *
 * Deno keeps it in SQLite files. They are written again here, because the order of the rows in Deno's is random.
 */
import { DatabaseSync } from "node:sqlite";
import { ENVIRONMENT, ROOT } from "./facts.ts";
import { writeFiles } from "./files.ts";
import type { TarEntry } from "./tar.ts";

const DATABASES = ["dep_analysis_cache_v2", "node_analysis_cache_v2", "v8_code_cache_v2"];
const START_MS = 30_000;

/** How a start without a cluster ends (lib/kube/config/load.ts). */
const NO_SERVER = "Cannot find a cluster";

/** `program`: podfit's files of the image. Rejects where podfit does not start from them. */
export async function warmCache(program: readonly TarEntry[]): Promise<readonly TarEntry[]> {
  const stage = await Deno.makeTempDir();
  try {
    await writeFiles(stage, program);
    await startOnce(stage, {});
    await startOnce(stage, { PRA_ENABLED: "true" });
    return (await Promise.all(DATABASES.map((name) => rewrite(name, stage)))).flat();
  } finally {
    await Deno.remove(stage, { recursive: true });
  }
}

/**
 * Disabled, until it has answered. Enabled, until it has loaded the daemon and finds no API server, which ends it. It
 * asks no API server.
 */
async function startOnce(stage: string, env: { readonly PRA_ENABLED?: "true" }): Promise<void> {
  const permissions = ["-P=daemon", `--allow-read=${stage}`, "--allow-net=127.0.0.1"];
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-q", "--no-prompt", ...permissions, `${stage}${ROOT}/start.js`, "run", "--listen", "127.0.0.1:0"],
    clearEnv: true,
    env: { ...ENVIRONMENT, ...env, DENO_DIR: `${stage}/cache` },
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const timer = setTimeout(() => child.kill("SIGKILL"), START_MS);
  let said = "";
  let isAsked = false;
  try {
    for await (const text of child.stderr.pipeThrough(new TextDecoderStream())) {
      said += text;
      const address = /"message":"Listening".*"address":"([^"]+)"/.exec(said)?.[1];
      if (address === undefined || isAsked || env.PRA_ENABLED) continue;
      isAsked = true;
      for (const page of ["healthz", "metrics"]) await (await fetch(`http://${address}/${page}`)).text();
      child.kill("SIGTERM");
    }
    const { success } = await child.status;
    const isDone = env.PRA_ENABLED ? said.includes(NO_SERVER) : success;
    if (!isDone) throw new Error(`Cannot start podfit from its bundle: ${said}`);
  } finally {
    clearTimeout(timer);
  }
}

/** The database with its two companions: SQLite opens one on a read-only file system only if they are there. */
async function rewrite(name: string, stage: string): Promise<readonly TarEntry[]> {
  const path = `${stage}/${name}`;
  copySorted(`${stage}/cache/${name}`, path, (text) => text.replace(`file://${stage}${ROOT}/`, `file://${ROOT}/`));
  const empty = new Uint8Array();
  const contents = { [name]: await Deno.readFile(path), [`${name}-wal`]: empty, [`${name}-shm`]: empty };
  return Object.entries(contents).map(([file, content]) => ({ path: `podfit/cache/${file}`, mode: 0o644, content }));
}

/** Tables of the same shape and rows, sorted by their key, which comes first; `rename` changes keys. */
function copySorted(from: string, to: string, rename: (key: string) => string): void {
  using source = new DatabaseSync(from, { readOnly: true });
  using target = new DatabaseSync(to);
  target.exec("PRAGMA journal_mode=WAL");
  const tables = source.prepare("SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY name").all();
  for (const { name, sql } of tables) {
    if (String(name).startsWith("sqlite_")) continue;
    target.exec(String(sql));
    const select = source.prepare(`SELECT * FROM ${name}`);
    select.setReadBigInts(true);
    const rows = select.all().filter((row) => name !== "codecache" || !`${row["specifier"]}`.startsWith("file:"))
      .map((row) => Object.values(row).map((value, at) => at > 0 ? value : rename(`${value}`)));
    rows.sort(([a], [b]) => (`${a}` < `${b}` ? -1 : 1));
    for (const row of rows) target.prepare(`INSERT INTO ${name} VALUES (${row.map(() => "?").join()})`).run(...row);
  }
  // Deno's SQLite would want to, and then to write.
  target.exec("ANALYZE");
}
