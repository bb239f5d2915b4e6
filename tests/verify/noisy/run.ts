/** One attack: a world, podfit under the chart's limits, a while alone, the same with the hostile namespace. */
import { systemClock } from "../../../lib/runtime/clock.ts";
import { LoopLag } from "../../../lib/runtime/event_loop.ts";
import { type Limited, startLimited } from "../chaos/limited.ts";
import { PodfitProcess, until } from "../chaos/process.ts";
import { ATTACKS } from "./attacks.ts";
import type { Seen } from "./meter.ts";
import { LEASE, type NoisyWorld, openNoisyWorld, PODFIT } from "./world.ts";

/** What is run, and for how long. */
export interface NoisyOptions {
  /** Names of attacks that happen at the same time. */
  readonly attacks: readonly string[];
  readonly workloads: number;
  /** Of each of the two windows. */
  readonly windowMs: number;
  /** More flags of podfit. */
  readonly podfitArgs: readonly string[];
  readonly say: (text: string) => void;
}

/** What was measured in one window. */
export interface Window extends Seen {
  /** The longest block of podfit's event loop, ms, by its own metric; NaN where it did not answer. */
  readonly blockMs: number;
  /** Of podfit since its start, MiB. */
  readonly peakMiB: number;
  readonly cpuSeconds: number;
  /** How long it lasted. */
  readonly seconds: number;
  /** For how long podfit's main thread could have run and had no CPU. */
  readonly waitedSeconds: number;
  /** Probes of /healthz that were not answered with 200 within a second; `probes` is the number of all. */
  readonly failedProbes: number;
  readonly probes: number;
  /** The longest block of the world's own loop, ms. */
  readonly worldBlockMs: number;
}

/** What came of one attack. */
export interface NoisyResult {
  readonly name: string;
  readonly alone: Window;
  readonly attacked: Window;
  /** What podfit said last, if it ended; `null` where it still ran. */
  readonly ending: string | null;
  /** A second podfit that starts while the objects of the attack are there. */
  readonly standby: { readonly readyMs: number | null; readonly peakMiB: number };
  readonly leaks: number;
  /** Attacks that failed by themselves: then podfit was attacked less than the name of the run says. */
  readonly failures: readonly string[];
  readonly bound: string;
}

const READY_MS = 120_000;
const SETTLE_MS = 20_000;
const DRAIN_MS = 30_000;
const STANDBY_MS = 60_000;
const END_MS = 15_000;
const LOADS_PER_SECOND = 8;
const METRICS_PER_SECOND = 2;
const SCRAPE_MS = 5000;
const PROBE_MS = 1000;
/** As kubelets wait by default. */
const ANSWER_MS = 1000;

/** Runs one attack. Rejects when podfit does not become ready on its own. */
export async function runAttack({ attacks, workloads, windowMs, podfitArgs, say }: NoisyOptions): Promise<NoisyResult> {
  await using world = await openNoisyWorld({ workloads });
  const name = attacks.length === Object.keys(ATTACKS).length ? "all" : attacks.join("+");
  await using limited = await startPodfit(world, { identity: "leader", podfitArgs });
  await using podfit = new PodfitProcess(limited.child, limited);
  const isTracking = async () => await podfit.readMetric("podfit_tracked_pods") >= workloads;
  if (!await until(() => podfit.code !== null || isTracking(), READY_MS) || podfit.code !== null) {
    throw new Error(
      `Cannot begin: podfit does not track ${workloads} pods after ${READY_MS / 1000} s: ${podfit.tail()}`,
    );
  }
  await systemClock.sleep(SETTLE_MS);
  const observed = { world, podfit, limited, windowMs };
  world.meter.take();
  const alone = await observe(observed);
  say(`${name}: alone, ${describe(alone)}`);

  const failures: string[] = [];
  using attack = startAttacks(world, {
    names: attacks,
    forMs: windowMs,
    onFailure(text) {
      say(text);
      failures.push(text);
    },
  });
  const attacked = await observe(observed);
  say(`${name}: attacked, ${describe(attacked)}`);
  const ending = podfit.code === null ? null : `code ${podfit.code}: ${podfit.tail()}`;
  const standby = await startStandby(world, podfitArgs);
  attack.end();
  if (podfit.code === null) await podfit.end(END_MS);
  return { name, alone, attacked, ending, standby, leaks: world.countLeaks(), failures, bound: limited.bound };
}

function startPodfit(
  world: NoisyWorld,
  { identity, podfitArgs }: { readonly identity: string; readonly podfitArgs: readonly string[] },
): Promise<Limited> {
  const lease = ["--leader-elect", "--leader-elect-resource-namespace", LEASE.namespace];
  const replicas = ["--scaled-objects", "--cluster-object-namespace", PODFIT, "--trigger-allow", "127.0.0.0/8"];
  return startLimited({
    args: [
      "--listen",
      "127.0.0.1:0",
      "--kubeconfig",
      world.kubeconfig,
      "--kubelet-insecure-tls",
      ...lease,
      ...replicas,
      ...podfitArgs,
    ],
    env: { HOSTNAME: identity },
  });
}

function startAttacks(
  world: NoisyWorld,
  { names, forMs, onFailure }: {
    readonly names: readonly string[];
    readonly forMs: number;
    readonly onFailure: (text: string) => void;
  },
): { readonly end: () => void } & Disposable {
  const ending = new AbortController();
  for (const name of names) {
    ATTACKS[name]?.run(world, { forMs, signal: ending.signal }).catch((error: unknown) => {
      if (!ending.signal.aborted) onFailure(`attack ${name} failed: ${error}`);
    });
  }
  const end = () => ending.abort();
  return { end, [Symbol.dispose]: end };
}

interface Observed {
  readonly world: NoisyWorld;
  readonly podfit: PodfitProcess;
  readonly limited: Limited;
  readonly windowMs: number;
}

/** Steps for one window, and then waits for the reactions that are due. */
async function observe({ world, podfit, limited, windowMs }: Observed): Promise<Window> {
  const ending = new AbortController();
  const before = await limited.readUsage();
  let last = before;
  let blockS = NaN;
  let [failedProbes, probes] = [0, 0];
  const lag = new LoopLag(systemClock);
  const every = async (ms: number, once: () => unknown) => {
    while (!ending.signal.aborted && podfit.code === null) {
      await once();
      await lag.clock.sleep(ms, ending.signal).catch(() => {});
    }
  };
  await podfit.readMetric("podfit_loop_block_seconds");
  const watching = [
    every(SCRAPE_MS, async () => {
      const read = await podfit.readMetric("podfit_loop_block_seconds ");
      if (!Number.isNaN(read)) blockS = Math.max(read, Number.isNaN(blockS) ? 0 : blockS);
    }),
    every(PROBE_MS, async () => {
      probes++;
      if (await podfit.ask("/healthz", ANSWER_MS) !== 200) failedProbes++;
    }),
    every(500, async () => last = await limited.readUsage() ?? last),
  ];
  const startedMs = performance.now();
  const stepping = [
    every(1000 / LOADS_PER_SECOND, () => performance.now() - startedMs < windowMs ? world.stepLoad() : undefined),
    every(1000 / METRICS_PER_SECOND, () => performance.now() - startedMs < windowMs ? world.stepMetric() : undefined),
  ];
  await until(() => podfit.code !== null, windowMs);
  await until(() => podfit.code !== null || world.meter.pending === 0, DRAIN_MS);
  ending.abort();
  await Promise.all([...watching, ...stepping]);
  return {
    ...world.meter.take({ isLast: true }),
    blockMs: blockS * 1000,
    peakMiB: last?.peakMiB ?? NaN,
    cpuSeconds: (last?.cpuSeconds ?? NaN) - (before?.cpuSeconds ?? NaN),
    seconds: (performance.now() - startedMs) / 1000,
    waitedSeconds: (last?.waitedSeconds ?? NaN) - (before?.waitedSeconds ?? NaN),
    failedProbes,
    probes,
    worldBlockMs: lag.takeMaxMs(),
  };
}

/** Whether another podfit can still start, as after a restart of any kind. */
async function startStandby(world: NoisyWorld, podfitArgs: readonly string[]): Promise<NoisyResult["standby"]> {
  await using limited = await startPodfit(world, { identity: "standby", podfitArgs });
  await using podfit = new PodfitProcess(limited.child, limited);
  let peakMiB = 0;
  const startedMs = performance.now();
  const isReady = await until(async () => {
    peakMiB = Math.max(peakMiB, (await limited.readUsage())?.peakMiB ?? 0);
    return podfit.code !== null || (podfit.origin !== null && await podfit.ask("/readyz") === 200);
  }, STANDBY_MS);
  return { readyMs: isReady && podfit.code === null ? performance.now() - startedMs : null, peakMiB };
}

function describe({ blockMs, peakMiB, reactions, cpuSeconds, waitedSeconds, failedProbes }: Window): string {
  const missed = [...reactions.size, ...reactions.replicas].filter((ms) => ms === Infinity).length;
  return `${reactions.size.length} + ${reactions.replicas.length} reactions (${missed} missing), block ${
    Math.round(blockMs)
  } ms, peak ${Math.round(peakMiB)} MiB, CPU ${cpuSeconds.toFixed(1)} s, waited ${
    waitedSeconds.toFixed(1)
  } s, ${failedProbes} failed probes`;
}
