/**
 * How does a scenario run kubectl? It is found among the programs of `tests/cluster`, else on PATH, and uses the
 * KUBECONFIG of the environment. Every call is bounded in time.
 */
import { systemClock } from "../../../lib/runtime/clock.ts";

export interface KubectlOptions {
  /** Text for its standard input. */
  readonly input?: string;
  readonly timeoutMs?: number;
}

/** What a program said and how it ended. */
export interface ProgramAnswer {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Its standard output; throws with its standard error when it fails. */
export function kubectl(args: readonly string[], options: KubectlOptions = {}): Promise<string> {
  return runProgram("kubectl", args, options);
}

export async function kubectlJson<T>(args: readonly string[], options: KubectlOptions = {}): Promise<T> {
  return JSON.parse(await kubectl([...args, "-o", "json"], options)) as T;
}

/** GET of a path of the API server, e.g. `/apis/metrics.k8s.io/v1beta1/nodes`. */
export function kubectlRaw(path: string, options: KubectlOptions = {}): Promise<string> {
  return kubectl(["get", "--raw", path], options);
}

/** For calls whose failure is what the scenario is about. */
export function tryKubectl(args: readonly string[], options: KubectlOptions = {}): Promise<ProgramAnswer> {
  return tryProgram("kubectl", args, options);
}

/** Its standard output, for programs of the cluster beside kubectl; throws with its standard error when it fails. */
export async function runProgram(name: string, args: readonly string[], options: KubectlOptions = {}): Promise<string> {
  const { code, stdout, stderr } = await tryProgram(name, args, options);
  if (code !== 0) throw new Error(`Cannot run "${name} ${args.join(" ")}" (exit ${code}): ${stderr.trim()}`);
  return stdout;
}

/** For calls of any program whose failure is what they are about. */
export async function tryProgram(
  name: string,
  args: readonly string[],
  { input, timeoutMs = 30_000 }: KubectlOptions = {},
): Promise<ProgramAnswer> {
  using timeout = systemClock.timeout(timeoutMs);
  const stdin = input === undefined ? "null" : "piped";
  const child = toCommand(name, args, { stdin, signal: timeout.signal }).spawn();
  const written = input === undefined ? null : writeAll(child.stdin, input);
  const [{ code, stdout, stderr }] = await Promise.all([child.output(), written]);
  const late = timeout.signal.aborted ? ` (ended after ${timeoutMs} ms)` : "";
  const decoder = new TextDecoder();
  return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) + late };
}

/** For long-running calls, such as a watch. */
export function kubectlCommand(args: readonly string[], options: Deno.CommandOptions = {}): Deno.Command {
  return toCommand("kubectl", args, options);
}

function toCommand(name: string, args: readonly string[], options: Deno.CommandOptions): Deno.Command {
  return new Deno.Command(name, {
    args: [...args],
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    ...options,
    env: { PATH: readPath() },
  });
}

export function hasKubectl(): Promise<boolean> {
  return hasProgram("kubectl");
}

/** Whether a program is on PATH or among those of the cluster. */
export async function hasProgram(name: string): Promise<boolean> {
  for (const folder of readPath().split(":")) {
    if (await Deno.stat(`${folder}/${name}`).then(({ isFile }) => isFile, () => false)) return true;
  }
  return false;
}

/**
 * Where programs are looked for. Those of `tests/cluster/build` come first, because their versions are pinned. A PATH that
 * has their folder already keeps its order.
 */
export function readPath(read: ReadVariable = readVariable): string {
  const [path = "", own] = [read("PATH"), `${clusterHome(read)}/bin`];
  return path.split(":").includes(own) ? path : `${own}:${path}`;
}

/** Whether KUBECONFIG is that of the cluster that `tests/cluster/up` starts. That of kind is in the folder above. */
export function isOwnCluster(read: ReadVariable = readVariable): boolean {
  return read("KUBECONFIG") === `${clusterHome(read)}/run/admin.kubeconfig`;
}

/** Where the cluster that KUBECONFIG names keeps its state and its logs. */
export function readKubeconfigFolder(): string {
  return (Deno.env.get("KUBECONFIG") ?? "").replace(/\/[^/]*$/, "");
}

type ReadVariable = (name: string) => string | undefined;

const readVariable: ReadVariable = (name) => Deno.env.get(name);

function clusterHome(read: ReadVariable = readVariable): string {
  const cache = read("XDG_CACHE_HOME") ?? `${read("HOME") ?? ""}/.cache`;
  return read("CLUSTER_HOME") ?? `${cache}/podfit-cluster`;
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
