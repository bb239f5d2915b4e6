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
import { type RealPodfit, RealWorld } from "./world.ts";

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
  readonly end: () => Promise<void>;
  /** After so long nothing may be resized any more: nobody measures usage. */
  readonly quietAfterS?: number;
}

/** A stage for what is done to the cluster and to one podfit, and one for what is done to the leader of two. */
export async function runReal({ seed, only, kills, takeovers }: RealOptions): Promise<readonly Played[]> {
  if ((Deno.env.get("KUBECONFIG") ?? "") === "") {
    throw new Error("Cannot run: KUBECONFIG names no cluster; see tests/cluster/up");
  }
  const processes = await openProcesses();
  const restore = () => void processes.restore().finally(() => Deno.exit(130));
  for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.addSignalListener(signal, restore);
  const names = only?.split(",");
  const isChosen = ({ name }: RealFault) => names?.some((one) => name.includes(one)) !== false;
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
  const played: Played[] = [];
  for (const plan of plans) {
    const stage = new Stage(plan.name, { seed });
    // The namespace is known once the first fault begins.
    if (!plan.list({ stage, namespace: () => "" }).some(isChosen)) continue;
    const began = performance.now();
    await perform(plan, { stage, processes, isChosen });
    if (plan.podfit === own) stage.limits = own.limits;
    played.push({ stage, about: plan.about, seconds: (performance.now() - began) / 1000 });
  }
  return played;
}

/** What is done to one podfit. */
interface Plan {
  readonly name: string;
  readonly about: string;
  readonly podfit: RealPodfit;
  readonly list: (context: PlanContext) => readonly RealFault[];
}

interface PlanContext {
  readonly stage: Stage;
  /** Of the world that the faults are done to. */
  readonly namespace: () => string;
}

interface Performance {
  readonly stage: Stage;
  readonly processes: ClusterProcesses;
  readonly isChosen: (fault: RealFault) => boolean;
}

async function perform({ podfit, list }: Plan, { stage, processes, isChosen }: Performance): Promise<void> {
  try {
    await using world = await RealWorld.open({ stage, podfit });
    const faults = list({ stage, namespace: () => world.namespace });
    for (const fault of faults.filter(isChosen)) await suffer(stage, { world, fault, processes });
  } catch (error) {
    const why = error instanceof Error ? error.stack ?? error.message : String(error);
    stage.note({ name: "the run itself", recoveredMs: null, withinMs: 0, why });
  } finally {
    await processes.restore();
  }
}

interface Suffering {
  readonly world: RealWorld;
  readonly fault: RealFault;
  readonly processes: ClusterProcesses;
}

async function suffer(stage: Stage, { world, fault, processes }: Suffering): Promise<void> {
  const { name, lastsS, withinS, begin, end, quietAfterS = Infinity } = fault;
  world.unsettle();
  // So that podfit is at work when it begins.
  await world.tellLoads();
  await begin();
  const quietS = Math.min(quietAfterS, lastsS);
  // Whether it gets anywhere meanwhile is not asked; it must be tempted.
  void world.settle(quietS * 1000).catch(() => {});
  await systemClock.sleep(quietS * 1000);
  const before = world.witness.resizes;
  await systemClock.sleep((lastsS - quietS) * 1000);
  if (quietS < lastsS && world.witness.resizes > before) {
    stage.broke("stale resize", `${name}: while nobody measured usage`);
  }
  await end().finally(() => processes.restore());
  world.unsettle();
  const endedMs = performance.now();
  const why = await world.settle(withinS * 1000);
  const recoveredMs = performance.now() - endedMs;
  stage.note({ name, recoveredMs, withinMs: withinS * 1000, why });
  console.log(
    `  ${name}: ${why === "" ? `recovered after ${(recoveredMs / 1000).toFixed(1)} s` : `NOT recovered: ${why}`}`,
  );
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
  { stage, namespace, kills }: PlanContext & { readonly kills: number },
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
    end: () => podfit.start(namespace()),
  }));
  return [paused, ...killed];
}
