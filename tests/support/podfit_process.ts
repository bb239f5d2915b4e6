/**
 * podfit as an operator starts it: a child process with an environment of its own, and what it said. With kubeconfigs
 * and API servers that it is pointed at.
 */

const ROOT = new URL("../../", import.meta.url);

export interface Ending {
  readonly code: number;
  readonly stdout: string;
  /** Lines of stderr that are JSON log lines, parsed. */
  readonly log: readonly LogLine[];
  /** All other lines of stderr. */
  readonly complaints: readonly string[];
}

export interface LogLine {
  readonly level: string;
  readonly message: string;
  readonly [field: string]: unknown;
}

export interface Settings {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs it to its end; `stdin` is what it can read there. */
export async function runPodfit({ stdin = "", ...settings }: Settings & { readonly stdin?: string }): Promise<Ending> {
  const child = (await createCommand({ ...settings, stdin: "piped" })).spawn();
  const [output] = await Promise.all([child.output(), new Blob([stdin]).stream().pipeTo(child.stdin)]);
  return toEnding(output);
}

export interface Running extends AsyncDisposable {
  /** Where /healthz and the others answer. */
  readonly origin: string;
  /** Sends the signal and waits for the end. */
  end(signal: Deno.Signal): Promise<Ending>;
}

/** Starts it on a free port of 127.0.0.1 and returns once it listens. */
export async function startPodfit({ args = [], env = {} }: Settings): Promise<Running> {
  const child = (await createCommand({ args: ["--listen", "127.0.0.1:0", ...args], env })).spawn();
  const stdout = new Response(child.stdout).text();
  const { promise: listening, resolve, reject } = Promise.withResolvers<string>();
  const stderr = readLines(child.stderr, (text) => {
    const address = /"message":"Listening".*"address":"([^"]+)"/.exec(text)?.[1];
    if (address !== undefined) resolve(`http://${address}`);
  });
  const ended = Promise.all([child.status, stdout, stderr]).then(([{ code }, out, err]) =>
    parse(code, { stdout: out, stderr: err })
  );
  ended.then(({ complaints }) => reject(new Error(`podfit ended before it listened: ${complaints.join("\n")}`)));
  const end = (signal: Deno.Signal) => {
    child.kill(signal);
    return ended;
  };
  const dispose = async () => {
    try {
      child.kill("SIGKILL");
    } catch {
      // It has ended already.
    }
    await ended;
  };
  try {
    return { origin: await listening, end, [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}

export interface Place extends AsyncDisposable {
  readonly path: string;
}

/** A kubeconfig with the context `it`. */
export async function writeKubeconfig(server: string): Promise<Place> {
  const path = await Deno.makeTempFile({ suffix: ".kubeconfig" });
  const config = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "it",
    contexts: [{ name: "it", context: { cluster: "it", user: "it" } }],
    clusters: [{ name: "it", cluster: { server } }],
    users: [{ name: "it", user: { token: "secret-token" } }],
  };
  await Deno.writeTextFile(path, JSON.stringify(config));
  return { path, [Symbol.asyncDispose]: () => Deno.remove(path) };
}

export interface ApiServer extends AsyncDisposable {
  readonly origin: string;
  /** Paths, in the order of the requests. */
  readonly asked: readonly string[];
}

/** An API server that answers every request in one way. */
export function serveApi(answer: () => Response): ApiServer {
  const asked: string[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
    asked.push(new URL(request.url).pathname);
    return answer();
  });
  return {
    origin: `http://127.0.0.1:${server.addr.port}`,
    asked,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** A port of 127.0.0.1 on which nothing listens. */
export function findClosedPort(): number {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  return port;
}

async function createCommand(
  { args = [], env = {}, stdin = "null" }: Settings & { readonly stdin?: "null" | "piped" },
): Promise<Deno.Command> {
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "-P=daemon", "main.ts", ...args],
    cwd: ROOT.pathname,
    clearEnv: true,
    // No HOME of the machine, as a kubeconfig may lie there; only Deno's cache of packages is needed.
    env: { PATH: Deno.env.get("PATH") ?? "", HOME: "/nonexistent", DENO_DIR: await readDenoDir(), ...env },
    stdin,
    stdout: "piped",
    stderr: "piped",
  });
}

async function readDenoDir(): Promise<string> {
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).output();
  return JSON.parse(new TextDecoder().decode(stdout)).denoDir;
}

async function readLines(stream: ReadableStream<Uint8Array>, see: (text: string) => void): Promise<string> {
  let text = "";
  for await (const part of stream.pipeThrough(new TextDecoderStream())) see(text += part);
  return text;
}

function toEnding({ code, stdout, stderr }: Deno.CommandOutput): Ending {
  const decoder = new TextDecoder();
  return parse(code, { stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) });
}

function parse(code: number, { stdout, stderr }: { readonly stdout: string; readonly stderr: string }): Ending {
  const lines = stderr.split("\n").filter((line) => line !== "");
  const isLog = (line: string) => line.startsWith("{");
  return {
    code,
    stdout,
    log: lines.filter(isLog).map((line) => JSON.parse(line)),
    complaints: lines.filter((line) => !isLog(line)),
  };
}

/** The command itself, for whoever looks at its start and its end. */
export function createPodfitCommand(settings: Settings): Promise<Deno.Command> {
  return createCommand(settings);
}
