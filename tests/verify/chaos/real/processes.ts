/**
 * The processes of the cluster of tests/cluster, by the process ids that its `up` noted: paused, killed, started again as
 * they were, and cut off. Whatever was done to them is put right by `restore`.
 */
import { systemClock } from "../../../../lib/runtime/clock.ts";

/** Those that something may be done to, in the order in which they need each other. */
export const PROCESSES = ["etcd", "apiserver", "kcm", "scheduler", "containerd", "kubelet"] as const;
/** One of them. */
export type ProcessName = typeof PROCESSES[number];

/** The processes of one cluster. */
export interface ClusterProcesses {
  /** Of the cluster's files. */
  readonly directory: string;
  readonly pause: (name: ProcessName) => Promise<void>;
  readonly resume: (name: ProcessName) => Promise<void>;
  readonly kill: (name: ProcessName) => Promise<void>;
  /** As it was started; nothing happens where it runs. */
  readonly start: (name: ProcessName) => Promise<void>;
  /** Nobody outside of the cluster's network reaches anybody inside, or the other way round. */
  readonly cut: () => Promise<void>;
  readonly mend: () => Promise<void>;
  /** Everything runs again and is connected. Throws where it cannot be. */
  readonly restore: () => Promise<void>;
}

const NETWORK = "/run/netns/podfit";
const LINK = "podfit0";

/** Throws when no cluster is up, or when a process is not that of this cluster. */
export async function openProcesses(): Promise<ClusterProcesses> {
  const home = readHome();
  const directory = `${home}/run`;
  const commands = new Map<ProcessName, readonly string[]>();
  for (const name of PROCESSES) commands.set(name, await readCommand(await readPid(name)));

  /** Only a process that runs in the cluster's own folder is the one that was noted, and not another with its number. */
  async function readPid(name: ProcessName): Promise<number> {
    const pid = Number((await Deno.readTextFile(`${directory}/${name}.pid`)).trim());
    if (await isOurs(pid)) return pid;
    throw new Error(
      `Cannot find ${name} of "${directory}": process ${pid} is gone or another; start it with tests/cluster/up`,
    );
  }

  async function isOurs(pid: number): Promise<boolean> {
    const cwd = await readTool("readlink", [`/proc/${pid}/cwd`]).catch(() => "");
    return cwd.trim() === directory && !await isDead(pid);
  }

  async function signal(name: ProcessName, what: Deno.Signal): Promise<void> {
    Deno.kill(await readPid(name), what);
  }

  async function kill(name: ProcessName): Promise<void> {
    const pid = await readPid(name);
    Deno.kill(pid, "SIGKILL");
    for (let tries = 0; tries < 100 && await isOurs(pid); tries++) await systemClock.sleep(50);
  }

  async function start(name: ProcessName): Promise<void> {
    if (await readPid(name).then(() => true, () => false)) return;
    const command = commands.get(name) ?? [];
    const script = 'cd "$1" && log=$2 && shift 2 && exec setsid nsenter --net="$0" "$@" >>"$log" 2>&1 </dev/null';
    const child = new Deno.Command("bash", {
      args: ["-c", script, NETWORK, directory, `log/${name}.log`, ...command],
      env: { PATH: `${home}/bin:${Deno.env.get("PATH") ?? ""}`, KUBECONFIG: `${directory}/admin.kubeconfig` },
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    // It outlives this process, as it did the one that started it first.
    child.unref();
    await Deno.writeTextFile(`${directory}/${name}.pid`, `${child.pid}\n`);
    await systemClock.sleep(500);
    await readPid(name);
  }

  const setLink = async (state: "up" | "down") => void await readTool("ip", ["link", "set", LINK, state]);

  return {
    directory,
    kill,
    start,
    pause: (name) => signal(name, "SIGSTOP"),
    resume: (name) => signal(name, "SIGCONT"),
    cut: () => setLink("down"),
    mend: () => setLink("up"),
    async restore() {
      await setLink("up");
      for (const name of PROCESSES) {
        await start(name);
        await signal(name, "SIGCONT");
      }
    },
  };
}

/** Of the programs and files of tests/cluster. */
export function readHome(): string {
  const cache = Deno.env.get("XDG_CACHE_HOME") ?? `${Deno.env.get("HOME") ?? ""}/.cache`;
  return Deno.env.get("CLUSTER_HOME") ?? `${cache}/podfit-cluster`;
}

async function readCommand(pid: number): Promise<readonly string[]> {
  return (await readTool("cat", [`/proc/${pid}/cmdline`])).split("\0").slice(0, -1);
}

/** A killed process whose parent has not looked keeps its entry. */
async function isDead(pid: number): Promise<boolean> {
  return /^State:\s+[ZX]/m.test(await readTool("cat", [`/proc/${pid}/status`]).catch(() => "State: X"));
}

/** What a program prints. Below /proc it may read, and Deno not: https://docs.deno.com/runtime/fundamentals/security/ */
export async function readTool(name: string, args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await new Deno.Command(name, { args: [...args] }).output();
  const decoder = new TextDecoder();
  if (code === 0) return decoder.decode(stdout);
  throw new Error(`Cannot run "${name} ${args.join(" ")}" (exit ${code}): ${decoder.decode(stderr).trim()}`);
}
