// deno-lint-ignore-file no-console
/**
 * Chaos on the real cluster of tests/cluster: its processes are paused, killed and cut off, and podfit's own too. Each
 * fault is bounded and put right, at the end and on SIGINT too; `tests/cluster/down` ends everything as ever.
 */
import { systemClock } from "../../../../lib/runtime/clock.ts";
import type { Played } from "../report.ts";
import { Stage } from "../stage.ts";
import { type ClusterProcesses, openProcesses, type ProcessName } from "./processes.ts";
import { OwnProcess } from "./own_process.ts";
import { Installed, listTakeovers } from "./takeovers.ts";
import { type Place, type RealPodfit, RealWorld } from "./world.ts";

/** What to do, and how often podfit is killed. */
export interface RealOptions {
  readonly seed: string;
  /** Names of faults, with commas; all of them without it. */
  readonly only: string | undefined;
  readonly kills: number;
  /** How often the leader of two is harmed. */
  readonly takeovers: number;
}

/** What goes wrong, and how long podfit may take to be right again. */
export interface RealFault {
  readonly name: string;
  readonly lastsS: number;
  readonly withinS: number;
  readonly begin: () => Promise<void>;
  /** Without it the fault ends by itself. */
  readonly end?: () => Promise<void>;
  /** After so long nothing may be resized any more: nobody measures usage. */
  readonly quietAfterS?: number;
  /** Of the pods whose usage nobody measures, so far; all resizes without it. */
  readonly countResizes?: () => number;
}

/** A stage for what is done to the cluster and to one podfit, and one for what is done to the leader of two. */
export async function runReal({ seed, only, kills, takeovers }: RealOptions): Promise<readonly Played[]> {
  const processes = await openCluster();
  restoreOnSignal(processes.restore);
  const own = new OwnProcess();
  const two = new Installed();
  const plans: readonly Plan[] = [
    {
      name: "real",
      about: "processes of the cluster and podfit's own",
      podfit: own,
      list: (it) => [...listFaults(processes), ...listOwnFaults(own, { ...it, kills })],
    },
    {
      name: "leader",
      about: "the leader of two podfits that the chart has installed",
      podfit: two,
      list: () => listTakeovers(two, takeovers),
    },
  ];
  const played = await runPlans(plans, { seed, only, restore: processes.restore });
  for (const { stage } of played) if (stage.scenario === "real") stage.limits = own.limits;
  return played;
}

/** The processes of the cluster of KUBECONFIG. */
export async function openCluster(): Promise<ClusterProcesses> {
  if ((Deno.env.get("KUBECONFIG") ?? "") === "") {
    throw new Error("Cannot run: KUBECONFIG names no cluster; see tests/cluster/up");
  }
  return await openProcesses();
}

/** When this process is interrupted, whatever was done is put right first. */
export function restoreOnSignal(restore: () => Promise<void>): void {
  const end = () => void restore().finally(() => Deno.exit(130));
  for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.addSignalListener(signal, end);
}

/** How plans are carried out. */
export interface PlansOptions {
  readonly seed: string;
  /** Parts of names of faults, with commas; all faults without it. */
  readonly only: string | undefined;
  /** Puts right whatever was done. */
  readonly restore: () => Promise<void>;
}

/** One plan after the other, each in a world of its own. */
export async function runPlans(plans: readonly Plan[], options: PlansOptions): Promise<readonly Played[]> {
  const names = options.only?.split(",");
  const isChosen = ({ name }: RealFault) => names?.some((one) => name.includes(one)) !== false;
  const played: Played[] = [];
  for (const plan of plans) {
    const stage = new Stage(plan.name, { seed: options.seed });
    // The world is there once the first fault begins.
    if (!plan.list({ stage, getWorld: () => fail(plan.name) }).some(isChosen)) continue;
    const began = performance.now();
    await perform(plan, { stage, restore: options.restore, isChosen });
    played.push({ stage, about: plan.about, seconds: (performance.now() - began) / 1000 });
  }
  return played;
}

function fail(name: string): never {
  throw new Error(`Cannot use the world of "${name}" before its first fault`);
}

/** What is done to one podfit. */
export interface Plan {
  readonly name: string;
  readonly about: string;
  readonly podfit: RealPodfit;
  readonly place?: Place;
  readonly list: (context: PlanContext) => readonly RealFault[];
}

/** What faults may use. */
export interface PlanContext {
  readonly stage: Stage;
  /** Throws before the first fault. */
  readonly getWorld: () => RealWorld;
}

interface Performance {
  readonly stage: Stage;
  readonly restore: () => Promise<void>;
  readonly isChosen: (fault: RealFault) => boolean;
}

async function perform({ podfit, place, list }: Plan, { stage, restore, isChosen }: Performance): Promise<void> {
  try {
    await using world = await RealWorld.open({ stage, podfit, ...(place === undefined ? {} : { place }) });
    const faults = list({ stage, getWorld: () => world });
    for (const fault of faults.filter(isChosen)) await suffer(stage, { world, fault, restore });
  } catch (error) {
    const why = error instanceof Error ? error.stack ?? error.message : String(error);
    stage.note({ name: "the run itself", recoveredMs: null, withinMs: 0, why });
  } finally {
    await restore();
  }
}

interface Suffering {
  readonly world: RealWorld;
  readonly fault: RealFault;
  readonly restore: () => Promise<void>;
}

/** What goes wrong with the fault itself is noted as a fault that nobody recovered from, and the next one begins. */
async function suffer(stage: Stage, { world, fault, restore }: Suffering): Promise<void> {
  const { name, withinS } = fault;
  const why = await inflict(stage, { world, fault, restore }).then(() => "", (error: unknown) => String(error));
  if (why !== "") await restore();
  world.unsettle();
  const endedMs = performance.now();
  const wrong = await world.settle(withinS * 1000);
  const recoveredMs = performance.now() - endedMs;
  const whole = [why, wrong].filter((one) => one !== "").join("; ");
  stage.note({ name, recoveredMs, withinMs: withinS * 1000, why: whole });
  console.log(
    `  ${name}: ${whole === "" ? `recovered after ${(recoveredMs / 1000).toFixed(1)} s` : `NOT recovered: ${whole}`}`,
  );
}

async function inflict(stage: Stage, { world, fault, restore }: Suffering): Promise<void> {
  const { name, lastsS, begin, end, quietAfterS = Infinity } = fault;
  const count = fault.countResizes ?? (() => world.witness.resizes);
  world.unsettle();
  // So that podfit is at work when it begins.
  await world.tellLoads();
  await begin();
  const quietS = Math.min(quietAfterS, lastsS);
  // Whether it gets anywhere meanwhile is not asked; it must be tempted.
  void world.settle(quietS * 1000).catch(() => {});
  await systemClock.sleep(quietS * 1000);
  const before = count();
  await systemClock.sleep((lastsS - quietS) * 1000);
  if (quietS < lastsS && count() > before) {
    stage.broke("stale resize", `${name}: while nobody measured usage`);
  }
  try {
    await end?.();
  } finally {
    await restore();
  }
}

function listFaults({ pause, resume, kill, start, cut, mend }: ClusterProcesses): readonly RealFault[] {
  const paused = (name: ProcessName, lastsS: number): RealFault => ({
    name: `${name} paused for ${lastsS} s`,
    lastsS,
    withinS: 180,
    begin: () => pause(name),
    end: () => resume(name),
  });
  const killed = (name: ProcessName, lastsS: number): RealFault => ({
    name: `${name} killed, and back after ${lastsS} s`,
    lastsS,
    withinS: 180,
    begin: () => kill(name),
    end: () => start(name),
  });
  return [
    paused("apiserver", 30),
    killed("apiserver", 10),
    paused("etcd", 20),
    killed("etcd", 10),
    { ...paused("kubelet", 120), quietAfterS: 80 },
    killed("kubelet", 20),
    paused("containerd", 20),
    killed("containerd", 15),
    { name: "the network cut for 40 s", lastsS: 40, withinS: 180, begin: cut, end: mend },
    { name: "the network cut for 400 s", lastsS: 400, withinS: 240, begin: cut, end: mend },
  ];
}

/** What is done to podfit itself. */
function listOwnFaults(
  podfit: OwnProcess,
  { stage, getWorld, kills }: PlanContext & { readonly kills: number },
): readonly RealFault[] {
  const signal = (what: Deno.Signal) => Promise.resolve(Deno.kill(podfit.pid, what));
  const paused: RealFault = {
    name: "podfit paused for 60 s",
    lastsS: 60,
    withinS: 120,
    begin: () => signal("SIGSTOP"),
    end: () => signal("SIGCONT"),
  };
  const killed = Array.from({ length: kills }, (_, index): RealFault => ({
    name: `podfit killed (${index + 1} of ${kills})`,
    // Somewhere between its first word and its second resize.
    lastsS: 0,
    withinS: 120,
    async begin() {
      await systemClock.sleep(stage.random() * 20_000);
      await podfit.kill();
    },
    end: () => podfit.start(getWorld().namespace),
  }));
  return [paused, ...killed];
}
