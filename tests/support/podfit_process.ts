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
  /** A set of deno.json; `start` by default, as an operator with a kubeconfig has it. */
  readonly permissions?: "start" | "exec" | "daemon" | "lint";
  /** A module of the project that runs in the process before podfit does. */
  readonly preload?: string;
}

/** One that goes on where a test expects its end would hold up the tests for ever. */
const RUN_MS = 60_000;

export interface RunSettings extends Settings {
  /** What it can read there. */
  readonly stdin?: string;
  /** A minute by default. */
  readonly timeoutMs?: number;
}

/** Runs it to its end, and ends it where it does not end in time. */
export async function runPodfit({ stdin = "", timeoutMs = RUN_MS, ...settings }: RunSettings): Promise<Ending> {
  const child = (await createCommand({ ...settings, stdin: "piped" })).spawn();
  using _bound = killAfter(child, timeoutMs);
  const [output] = await Promise.all([child.output(), new Blob([stdin]).stream().pipeTo(child.stdin)]);
  return toEnding(output);
}

/** Runs any program with a text as its stdin to its end, and ends it where it does not end in time. */
export async function runWithInput(
  program: string,
  { stdin, ...options }: Pick<Deno.CommandOptions, "args" | "cwd" | "env"> & { readonly stdin: string },
): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }> {
  const pipes = { stdin: "piped", stdout: "piped", stderr: "piped" } as const;
  const child = new Deno.Command(program, { ...options, ...pipes, clearEnv: true }).spawn();
  using _bound = killAfter(child, RUN_MS);
  const [{ code, stdout, stderr }] = await Promise.all([
    child.output(),
    // A program that does not read its stdin closes it.
    new Blob([stdin]).stream().pipeTo(child.stdin).catch(() => {}),
  ]);
  const decoder = new TextDecoder();
  return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
}

function killAfter(child: Deno.ChildProcess, ms: number): Disposable {
  const timer = setTimeout(() => child.kill("SIGKILL"), ms);
  return { [Symbol.dispose]: () => clearTimeout(timer) };
}

export interface Running extends AsyncDisposable {
  /** Where /healthz and the others answer. */
  readonly origin: string;
  /** Sends the signal and waits for the end. */
  end(signal: Deno.Signal): Promise<Ending>;
}

/** Starts it on a free port of 127.0.0.1 and returns once it listens. */
export async function startPodfit({ args = [], ...settings }: Settings): Promise<Running> {
  const child = (await createCommand({ args: ["run", "--listen", "127.0.0.1:0", ...args], ...settings })).spawn();
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

export interface Unread extends AsyncDisposable {
  /** Sends the signal and waits for the exit code. */
  end(signal: Deno.Signal): Promise<number>;
}

/** Starts it with a full pipe for its stderr, which nobody reads. */
export async function startUnreadPodfit(settings: Settings): Promise<Unread> {
  const [program, ...args] = toArguments({ ...settings, args: ["run", ...settings.args ?? []] });
  const script = 'head -c 1000000 /dev/zero >&2 & exec "$0" "$@"';
  const child = new Deno.Command("sh", {
    args: ["-c", script, program, ...args],
    ...await readSurroundings(settings),
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  return {
    end(signal) {
      child.kill(signal);
      return child.status.then(({ code }) => code);
    },
    async [Symbol.asyncDispose]() {
      // With nobody to read, `head` ends too.
      await child.stderr.cancel();
      try {
        child.kill("SIGKILL");
      } catch {
        // It has ended already.
      }
      await child.status;
    },
  };
}

export interface Place extends AsyncDisposable {
  readonly path: string;
}

export interface KubeconfigFields {
  /** Beside its server. */
  readonly cluster?: Readonly<Record<string, string>>;
  readonly user?: Readonly<Record<string, unknown>>;
}

/** A kubeconfig with the context `it`. */
export async function writeKubeconfig(
  server: string,
  { cluster = {}, user = { token: "secret-token" } }: KubeconfigFields = {},
): Promise<Place> {
  const path = await Deno.makeTempFile({ suffix: ".kubeconfig" });
  const config = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "it",
    contexts: [{ name: "it", context: { cluster: "it", user: "it" } }],
    clusters: [{ name: "it", cluster: { server, ...cluster } }],
    users: [{ name: "it", user }],
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
export function serveApi(answer: (request: Request) => Response): ApiServer {
  const asked: string[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
    asked.push(new URL(request.url).pathname);
    return answer(request);
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

/** Deno's own look for a newer Deno loads the public roots into the process. */
const QUIET = { DENO_NO_UPDATE_CHECK: "1" };
/** Tests run side by side, and podfit listens before it does anything else. */
const ANY_PORT = { PODFIT_LISTEN: "127.0.0.1:0" };

async function createCommand(
  { stdin = "null", ...settings }: Settings & { readonly stdin?: "null" | "piped" },
): Promise<Deno.Command> {
  const [program, ...args] = toArguments(settings);
  return new Deno.Command(program, {
    args,
    ...await readSurroundings(settings),
    stdin,
    stdout: "piped",
    stderr: "piped",
  });
}

function toArguments(
  { args = [], preload, permissions = "start" }: Settings,
): readonly [program: string, ...args: string[]] {
  const before = preload === undefined ? [] : ["--preload", preload];
  return [Deno.execPath(), "run", "--quiet", ...before, `-P=${permissions}`, "main.ts", ...args];
}

/** No HOME of the machine, as a kubeconfig may lie there; only Deno's cache of packages is needed. */
async function readSurroundings({ env = {} }: Settings) {
  return {
    cwd: ROOT.pathname,
    clearEnv: true,
    env: {
      PATH: Deno.env.get("PATH") ?? "",
      HOME: "/nonexistent",
      DENO_DIR: await readDenoDir(),
      ...QUIET,
      ...ANY_PORT,
      ...env,
    },
  };
}

/** Where Deno keeps its packages, for a process with an environment of its own. */
export async function readDenoDir(): Promise<string> {
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
