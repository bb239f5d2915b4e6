/**
 * `podfit sample`: uses the CPU and memory that it is set to, and answers requests that set them, until a signal.
 *
 * One thread does both: in each period it is busy for its share, and answers in the rest.
 */
import { createHandler, type Handler } from "../../daemon/server/routes.ts";
import { serve } from "../../daemon/server/serve.ts";
import { type Clock, systemClock } from "../../runtime/clock.ts";
import { formatAmount } from "../../units/quantity.ts";
import { EXIT, listenForSignals, StartError, toStartError } from "../command/process.ts";
import { writeOutput } from "../terminal/output.ts";
import { parseLoad, type SampleLoad, type SampleOptions } from "./options.ts";

/** Resolves to the exit code when a signal has ended it. Rejects with a StartError where it cannot listen. */
export async function sample({ listen, start, max }: SampleOptions): Promise<number> {
  using ending = listenForSignals();
  const { signal } = ending;
  const load = new Load(start);
  await using server = open({ ...listen, handler: createSampleHandler(load, max), signal });
  writeOutput(`Listening on ${server.hostname}:${server.port}, ${formatLoad(load.setting)}\n`);
  await burn(load, { clock: systemClock, signal });
  return EXIT.ok;
}

interface OpenOptions {
  readonly hostname: string;
  readonly port: number;
  readonly handler: Handler;
  readonly signal: AbortSignal;
}

function open({ handler, ...address }: OpenOptions): ReturnType<typeof serve> {
  try {
    return serve(handler, { ...address, answerMs: 10_000, mostConnections: 20 });
  } catch (error) {
    throw toStartError(error, "; choose another with --listen");
  }
}

/** The load, and the memory that it holds. */
export class Load {
  #setting: SampleLoad;
  #held = new Uint8Array(0);

  constructor(setting: SampleLoad) {
    this.#setting = { ...setting, memoryBytes: 0 };
    this.set(setting);
  }

  get setting(): SampleLoad {
    return this.#setting;
  }

  get heldBytes(): number {
    return this.#held.length;
  }

  /** Throws a RangeError where the machine has no such memory; the old setting stays, and nothing is held then. */
  set(setting: SampleLoad): void {
    if (setting.memoryBytes !== this.#setting.memoryBytes) this.#hold(setting.memoryBytes);
    this.#setting = setting;
  }

  #hold(bytes: number): void {
    // A transfer frees the memory at once; the garbage collector would do so some time later.
    this.#held.buffer.transfer(0);
    this.#setting = { ...this.#setting, memoryBytes: 0 };
    this.#held = new Uint8Array(0);
    const held = new Uint8Array(bytes);
    // Memory counts as used once each page is written.
    for (let at = 0; at < held.length; at += PAGE_BYTES) held[at] = 1;
    this.#held = held;
  }
}

const PAGE_BYTES = 4096;

/** The period of the scheduler's CPU quota is 100 ms; half of it keeps a load below its limit from being throttled. */
const PERIOD_MS = 50;

interface BurnOptions {
  readonly clock: Pick<Clock, "monotonic" | "sleep">;
  readonly signal: AbortSignal;
}

/** Is busy for its share of each period until the signal. Never rejects. */
export async function burn(load: Pick<Load, "setting">, { clock, signal }: BurnOptions): Promise<void> {
  while (!signal.aborted) {
    const busyMs = PERIOD_MS * load.setting.cpuMillicores / 1000;
    const beganMs = clock.monotonic();
    while (clock.monotonic() - beganMs < busyMs);
    await clock.sleep(PERIOD_MS - busyMs, signal).catch(() => {});
  }
}

/** Returns the handler of `/set`. It answers with the load that is set then. */
export function createSampleHandler(load: Load, max: SampleLoad): Handler {
  return createHandler([[{
    path: "/set",
    about: "what it uses; ?cpu=300m&memory=64Mi sets it",
    answer(context) {
      const { searchParams } = new URL(context.req.url);
      const unknown = [...searchParams.keys()].find((key) => key !== "cpu" && key !== "memory");
      if (unknown !== undefined) return context.text('Cannot set the load: write "cpu" and "memory" only\n', 400);
      const [cpu, memory] = [searchParams.get("cpu") ?? undefined, searchParams.get("memory") ?? undefined];
      try {
        load.set(parseLoad({ cpu, memory }, { max, before: load.setting }));
      } catch (error) {
        if (error instanceof StartError) return context.text(`${error.message}\n`, 400);
        if (error instanceof RangeError) return context.text(`Cannot hold ${memory}: ${error.message}\n`, 507);
        throw error;
      }
      return context.text(`${formatLoad(load.setting)}\n`);
    },
  }]]);
}

function formatLoad({ cpuMillicores, memoryBytes }: SampleLoad): string {
  return `cpu=${formatAmount(cpuMillicores, "cpu")} memory=${formatAmount(memoryBytes, "memory")}`;
}
