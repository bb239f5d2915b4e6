/**
 * podfit's daemon as a child process, started from source: what it logs and measures, and whether it ends as it should.
 * It takes the cluster from KUBECONFIG; PRA_* settings of the caller's environment do not reach it.
 */
import { systemClock } from "../../../lib/runtime/clock.ts";
import { Hopeless, waitFor, type WaitOptions } from "./cluster.ts";
import { readLines } from "./lines.ts";
import { type MetricSample, parseMetrics } from "./metrics.ts";

export interface PodfitOptions {
  readonly namespaces: readonly string[];
  /** More of the command line, e.g. `["--stats-source", "proxy"]`. */
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** false: return as soon as it listens, e.g. when it is meant to stay unready. */
  readonly untilReady?: boolean;
  readonly timeoutMs?: number;
}

/** A line of the JSON log: `@timestamp`, `level`, `message`, and the fields of the message beside them. */
export type LogLine = Readonly<Record<string, unknown>> & { readonly level: string; readonly message: string };

const ROOT = new URL("../../../", import.meta.url);
const STOP_MS = 15_000;
const TAIL = 40;

/** Resolves when the daemon is ready; throws with the end of its log if it does not get there. */
export async function startPodfit(options: PodfitOptions): Promise<Podfit> {
  const { namespaces, args = [], env = {}, untilReady = true, timeoutMs = 30_000 } = options;
  const command = new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "-P=daemon", "main.ts"],
      ...namespaces.flatMap((namespace) => ["--namespace", namespace]),
      ...["--listen", "127.0.0.1:0", "--log-format", "json", "--log-level", "debug"],
      ...args,
    ],
    cwd: ROOT,
    clearEnv: true,
    env: { ...inheritedEnv(), PRA_ENABLED: "true", ...env },
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  });
  const podfit = new Podfit(command.spawn());
  try {
    await podfit.listening(timeoutMs);
    if (untilReady) await podfit.ready(timeoutMs);
    return podfit;
  } catch (error) {
    const log = podfit.tail();
    await podfit[Symbol.asyncDispose]();
    throw new Error(`Cannot start podfit: ${messageOf(error)}\nits log ends:\n${log}`, { cause: error });
  }
}

/** Runs podfit to its end, for calls that do not serve, e.g. `["--version"]` or a start-up error. */
export async function runPodfit(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  using timeout = systemClock.timeout(60_000);
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-P=daemon", "main.ts", ...args],
    cwd: ROOT,
    clearEnv: true,
    env: { ...inheritedEnv(), PRA_ENABLED: "true", ...env },
    stdin: "null",
    signal: timeout.signal,
  }).output();
  const decoder = new TextDecoder();
  return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
}

export class Podfit implements AsyncDisposable {
  /** Every line it wrote, in order; grows while it runs. */
  readonly lines: string[] = [];
  readonly #child: Deno.ChildProcess;
  readonly #reading: Promise<void>;
  #status: Deno.CommandStatus | null = null;

  constructor(child: Deno.ChildProcess) {
    this.#child = child;
    this.#reading = this.#read();
    child.status.then((status) => this.#status = status);
  }

  /** Lines that are no JSON, such as a crash's, are left out: see `lines`. */
  log(message?: string): readonly LogLine[] {
    const parsed = this.lines.flatMap((line): readonly LogLine[] => {
      if (!line.startsWith("{")) return [];
      try {
        return [JSON.parse(line) as LogLine];
      } catch {
        return [];
      }
    });
    return message === undefined ? parsed : parsed.filter((line) => line.message === message);
  }

  /** The first line with this message that fits. */
  waitForLog(message: string, fits: (line: LogLine) => boolean = () => true, options: WaitOptions = {}) {
    return this.#waitFor(
      `the log line "${message}"`,
      () => Promise.resolve(this.log(message).find(fits) ?? null),
      options,
    );
  }

  /** Body of a GET of its own server; throws on any status but 2xx. */
  async get(path: string): Promise<string> {
    const [listening] = this.log("Listening");
    using timeout = systemClock.timeout(10_000);
    const response = await fetch(`http://${String(listening?.address)}${path}`, { signal: timeout.signal });
    const body = await response.text();
    if (!response.ok) throw new Error(`Cannot get "${path}" of podfit: ${response.status} ${body.slice(0, 500)}`);
    return body;
  }

  async metrics(): Promise<readonly MetricSample[]> {
    return parseMetrics(await this.get("/metrics"));
  }

  /** The end of its log, for messages. */
  tail(): string {
    return this.lines.slice(-TAIL).join("\n");
  }

  async listening(timeoutMs: number): Promise<void> {
    await this.waitForLog("Listening", undefined, { timeoutMs });
  }

  async ready(timeoutMs: number): Promise<void> {
    await this.#waitFor("podfit's /readyz", () => this.get("/readyz").then(() => true), { timeoutMs });
  }

  /** Ends it with SIGTERM and throws unless it ends by itself, in time and with exit code 0. */
  async stop(): Promise<void> {
    const status = await this.#signal("SIGTERM");
    if (status === null) throw new Error(`podfit did not end within ${STOP_MS} ms of SIGTERM:\n${this.tail()}`);
    if (status.code !== 0) throw new Error(`podfit did not end well (${describe(status)}):\n${this.tail()}`);
  }

  /** Ends it with SIGKILL, as a node's death does. */
  async kill(): Promise<void> {
    await this.#signal("SIGKILL");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#signal("SIGTERM");
  }

  async #read(): Promise<void> {
    for await (const line of readLines(this.#child.stderr)) this.lines.push(line);
  }

  /** How it ended; `null` if it had to be killed in the end. */
  async #signal(name: "SIGTERM" | "SIGKILL"): Promise<Deno.CommandStatus | null> {
    if (this.#status === null) this.#child.kill(name);
    using late = systemClock.timeout(STOP_MS);
    late.signal.addEventListener("abort", () => this.#child.kill("SIGKILL"));
    const [status] = await Promise.all([this.#child.status, this.#reading]);
    return late.signal.aborted ? null : status;
  }

  /** As long as it runs. */
  #waitFor<T>(description: string, probe: () => Promise<T | null>, options: WaitOptions): Promise<T> {
    return waitFor(description, async () => {
      const ended = this.#status;
      const value = await probe().catch((error) => {
        if (ended === null) throw error;
        return null;
      });
      if (value === null && ended !== null) throw new Hopeless(`podfit has ended (${describe(ended)})`);
      return value;
    }, { everyMs: 50, ...options });
  }
}

function describe({ code, signal }: Deno.CommandStatus): string {
  return signal === null ? `exit code ${code}` : `signal ${signal}`;
}

function inheritedEnv(): Record<string, string> {
  return Object.fromEntries(Object.entries(Deno.env.toObject()).filter(([name]) => !name.startsWith("PRA_")));
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
