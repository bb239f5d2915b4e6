/**
 * How does a scenario run kubectl? It is found on PATH, else among the programs of `tests/cluster`, and uses the
 * KUBECONFIG of the environment. Every call is bounded in time.
 */
import { systemClock } from "../../../lib/runtime/clock.ts";

export interface KubectlOptions {
  /** Text for its standard input. */
  readonly input?: string;
  readonly timeoutMs?: number;
}

export interface KubectlAnswer {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Its standard output; throws with its standard error when it fails. */
export async function kubectl(args: readonly string[], options: KubectlOptions = {}): Promise<string> {
  const answer = await tryKubectl(args, options);
  if (answer.code !== 0) {
    throw new Error(`Cannot run "kubectl ${args.join(" ")}" (exit ${answer.code}): ${answer.stderr.trim()}`);
  }
  return answer.stdout;
}

export async function kubectlJson<T>(args: readonly string[], options: KubectlOptions = {}): Promise<T> {
  return JSON.parse(await kubectl([...args, "-o", "json"], options)) as T;
}

/** GET of a path of the API server, e.g. `/apis/metrics.k8s.io/v1beta1/nodes`. */
export function kubectlRaw(path: string, options: KubectlOptions = {}): Promise<string> {
  return kubectl(["get", "--raw", path], options);
}

/** For calls whose failure is what the scenario is about. */
export async function tryKubectl(args: readonly string[], options: KubectlOptions = {}): Promise<KubectlAnswer> {
  const { input, timeoutMs = 30_000 } = options;
  using timeout = systemClock.timeout(timeoutMs);
  const child = kubectlCommand(args, { stdin: input === undefined ? "null" : "piped", signal: timeout.signal }).spawn();
  const written = input === undefined ? null : writeAll(child.stdin, input);
  const [{ code, stdout, stderr }] = await Promise.all([child.output(), written]);
  const late = timeout.signal.aborted ? ` (ended after ${timeoutMs} ms)` : "";
  const decoder = new TextDecoder();
  return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) + late };
}

/** For long-running calls, such as a watch. */
export function kubectlCommand(args: readonly string[], options: Deno.CommandOptions = {}): Deno.Command {
  return new Deno.Command("kubectl", {
    args: [...args],
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    ...options,
    env: { PATH: readPath() },
  });
}

export async function hasKubectl(): Promise<boolean> {
  for (const folder of readPath().split(":")) {
    if (await Deno.stat(`${folder}/kubectl`).then(({ isFile }) => isFile, () => false)) return true;
  }
  return false;
}

function readPath(): string {
  return `${Deno.env.get("PATH") ?? ""}:${clusterHome()}/bin`;
}

function clusterHome(): string {
  const cache = Deno.env.get("XDG_CACHE_HOME") ?? `${Deno.env.get("HOME") ?? ""}/.cache`;
  return Deno.env.get("CLUSTER_HOME") ?? `${cache}/podfit-cluster`;
}

/** A program that ends before it has read everything says why on its standard error; the broken pipe adds nothing. */
async function writeAll(stdin: WritableStream<Uint8Array>, text: string): Promise<void> {
  const writer = stdin.getWriter();
  try {
    await writer.write(new TextEncoder().encode(text));
    await writer.close();
  } catch (error) {
    if (!(error instanceof Deno.errors.BrokenPipe)) throw error;
  }
}
