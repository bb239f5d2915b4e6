/**
 * podfit's daemon beside the cluster of a scenario: what it logs and measures, and whether it ends as it should. PRA_*
 * settings of the caller's environment do not reach it.
 */
import { backend, type Process, type Question, type Reply } from "./backend.ts";
import { waitFor } from "./cluster.ts";
import { type Decision, type LogLine, parseLog, readDecisions, type Subject } from "./log.ts";
import { type MetricSample, parseMetrics, sumOf } from "./metrics.ts";
import { Hopeless, type WaitOptions } from "./wait.ts";

export interface PodfitOptions {
  readonly namespaces: readonly string[];
  /** More of the command line, e.g. `["--stats-source", "proxy"]`. */
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** false: return as soon as it listens, e.g. when it is meant to stay unready. */
  readonly untilReady?: boolean;
  readonly timeoutMs?: number;
}

const TAIL = 40;

/** Resolves when the daemon is ready; throws with the end of its log if it does not get there. */
export async function startPodfit(options: PodfitOptions): Promise<Podfit> {
  const { namespaces, args = [], env = {}, untilReady = true, timeoutMs = 30_000 } = options;
  const lines: string[] = [];
  const process = backend().startPodfit({
    args: [
      ...namespaces.flatMap((namespace) => ["--namespace", namespace]),
      "--listen",
      "127.0.0.1:0",
      "--log-format",
      "json",
      "--log-level",
      "debug",
      ...args,
    ],
    env: { PRA_ENABLED: "true", ...env },
    onLine: (line) => lines.push(line),
  });
  const podfit = new Podfit(process, lines);
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

export class Podfit implements AsyncDisposable {
  /** Every line it wrote, in order; grows while it runs. */
  readonly lines: readonly string[];
  readonly #process: Process;

  constructor(process: Process, lines: readonly string[]) {
    this.#process = process;
    this.lines = lines;
  }

  /** For scenarios about the log itself; the others look at what podfit does. See `lines` for what is no JSON. */
  log(message?: string): readonly LogLine[] {
    const parsed = parseLog(this.lines);
    return message === undefined ? parsed : parsed.filter((line) => line.message === message);
  }

  /** What its log says that it decided, in order: about one pod, or about all pods of one autoscaler. */
  decisions(subject: Subject): readonly Decision[] {
    return readDecisions(this.log(), subject);
  }

  /** Body of a GET of its own server; throws on any status but 2xx. */
  get(path: string): Promise<string> {
    return this.#process.get(this.#addressOrThrow(), path);
  }

  /** Its own server's answer, whatever it is. */
  ask(question: Question): Promise<Reply> {
    return this.#process.ask(this.#addressOrThrow(), question);
  }

  async metrics(): Promise<readonly MetricSample[]> {
    return parseMetrics(await this.get("/metrics"));
  }

  /** Waits until it has evaluated the pods of an autoscaler this many more times; new usage or not. */
  async waitForEvaluations(
    labels: { readonly namespace: string; readonly name: string },
    { count, ...options }: WaitOptions & { readonly count: number },
  ): Promise<void> {
    const read = async () => {
      return sumOf(await this.metrics(), "kedify_agent_pra_evaluation_duration_seconds_count", labels) ?? 0;
    };
    const before = await read();
    await this.#waitFor(`${count} evaluations of "${labels.name}"`, async () => {
      const evaluated = await read() - before;
      if (evaluated >= count) return true;
      throw new Error(`there are ${evaluated}`);
    }, { everyMs: 250, ...options });
  }

  /** The end of its log, for messages. */
  tail(): string {
    return this.lines.slice(-TAIL).join("\n");
  }

  async listening(timeoutMs: number): Promise<void> {
    await this.#waitFor("podfit to listen", () => Promise.resolve(this.#readAddress()), { timeoutMs });
  }

  async ready(timeoutMs: number): Promise<void> {
    await this.#waitFor("podfit's /readyz", () => this.get("/readyz").then(() => true), { timeoutMs });
  }

  /** Ends it with SIGTERM and throws unless it ends by itself, in time and with exit code 0. */
  async stop(): Promise<void> {
    const code = await this.#process.end("SIGTERM");
    if (code === null) throw new Error(`podfit did not end in time after SIGTERM:\n${this.tail()}`);
    if (code !== 0) throw new Error(`podfit did not end well (exit code ${code}):\n${this.tail()}`);
  }

  /** Ends it with SIGKILL, as a node's death does. */
  async kill(): Promise<void> {
    await this.#process.end("SIGKILL");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process.end("SIGTERM");
  }

  /** It listens on a port of the system's choice, and only its log has the address; `null` = it does not listen yet. */
  #readAddress(): string | null {
    const address = this.log().find((line) => "address" in line)?.address;
    return typeof address === "string" ? address : null;
  }

  #addressOrThrow(): string {
    const address = this.#readAddress();
    if (address === null) throw new Error("podfit does not listen yet");
    return address;
  }

  /** As long as it runs. */
  #waitFor<T>(description: string, probe: () => Promise<T | null>, options: WaitOptions): Promise<T> {
    return waitFor(description, async () => {
      const ended = this.#process.ended();
      const value = await probe().catch((error) => {
        if (ended === null) throw error;
        return null;
      });
      if (value === null && ended !== null) throw new Hopeless(`podfit has ended (${ended})`);
      return value;
    }, { everyMs: 50, ...options });
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
