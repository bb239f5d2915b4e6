/** The daemon as a process of its own for the benches: the bundle of the image, with the permissions of `deno task start`. */

import config from "../../../deno.json" with { type: "json" };
import { bundlePodfit } from "../../../tools/image/bundle.ts";
import { ENVIRONMENT } from "../../../tools/image/facts.ts";

const ROOT = new URL("../../../", import.meta.url).pathname;
const ANSWER_MS = 30_000;

/** Writes the image's bundle into the directory, and returns the path of its entry. */
export async function bundleDaemon(directory: string): Promise<string> {
  for (const [name, text] of await bundlePodfit()) await Deno.writeTextFile(`${directory}/${name}`, text);
  const bundle = `${directory}/main.js`;
  // Deno analyses a file in the first process that runs it, and remembers what it found: a cost of that start alone, and
  // none of the image's, which brings it. This one loads the daemon and finds no API server.
  const warmUp = startDaemon(bundle, ["--kubeconfig", `${directory}/none`]);
  const [{ success }, said] = await Promise.all([warmUp.status, new Response(warmUp.stderr).text()]);
  if (success || !said.includes(`${directory}/none`)) throw new Error(`Cannot start podfit from its bundle: ${said}`);
  return bundle;
}

/** `args`: of podfit. As `deno task start` and the image run it, unless told otherwise. */
export function startDaemon(
  bundle: string,
  args: readonly string[],
  env: Environment = {},
  v8Flags: readonly string[] = V8_FLAGS,
): Deno.ChildProcess {
  const deno = ["run", ...v8Flags, "-P=start", "--config", `${ROOT}deno.json`];
  return startDeno([...deno, bundle, "run", "--listen", "127.0.0.1:0", ...args], env);
}

/** Those of `deno task start`. */
export const V8_FLAGS: readonly string[] = /--v8-flags=\S+/.exec(config.tasks.start) ?? [];

const { DENO_NO_UPDATE_CHECK, MALLOC_MMAP_THRESHOLD_, MALLOC_TRIM_THRESHOLD_ } = ENVIRONMENT;

/** Variables by name; `null` = it is not set. */
type Environment = Readonly<Record<string, string | null>>;

/** With what the image sets for the process, and the given variables instead or in addition. */
export function startDeno(args: readonly string[], env: Environment = {}): Deno.ChildProcess {
  const all = { PRA_ENABLED: "true", DENO_NO_UPDATE_CHECK, MALLOC_MMAP_THRESHOLD_, MALLOC_TRIM_THRESHOLD_, ...env };
  return new Deno.Command(Deno.execPath(), {
    args: [...args],
    cwd: ROOT,
    env: Object.fromEntries(Object.entries(all).flatMap(([name, value]) => value === null ? [] : [[name, value]])),
    stdout: "null",
    stderr: "piped",
  }).spawn();
}

/** Otherwise a bench that is ended by hand would leave its processes behind, and the next one would run beside them. */
export function endOnSignals(stack: AsyncDisposableStack): void {
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    const end = () => void stack.disposeAsync().finally(() => Deno.exit(1));
    Deno.addSignalListener(signal, end);
    stack.defer(() => Deno.removeSignalListener(signal, end));
  }
}

export async function readAddress(stderr: ReadableStream<Uint8Array>): Promise<string> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of stderr.values({ preventCancel: true })) {
    text += decoder.decode(chunk, { stream: true });
    const address = /"address":"([^"]+)"/.exec(text)?.[1];
    if (address !== undefined) return address;
  }
  throw new Error(`Cannot start podfit: ${text}`);
}

export async function waitUntilReady(address: string, timeoutMs: number): Promise<void> {
  for (const endsAt = performance.now() + timeoutMs; performance.now() < endsAt;) {
    const response = await fetch(`http://${address}/readyz`, { signal: AbortSignal.timeout(ANSWER_MS) });
    await response.body?.cancel();
    if (response.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("podfit did not become ready");
}

export async function readMetrics(address: string): Promise<string> {
  return await (await fetch(`http://${address}/metrics`, { signal: AbortSignal.timeout(ANSWER_MS) })).text();
}

/** The sum of a metric's series; NaN when it has none. */
export function readSeries(text: string, name: string): number {
  const values = [...text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, "gm"))].map(([, value]) => value);
  return values.length === 0 ? NaN : values.reduce((sum, value) => sum + Number(value), 0);
}
