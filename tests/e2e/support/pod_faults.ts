/**
 * What is done to a pod of podfit on this machine's node: paused, killed, cut off from the API server. Each fault ends by
 * itself or by what it gives back, whatever happens to the scenario.
 */
import { kubectl, kubectlJson, runProgram } from "./kubectl.ts";
import type { PodJson } from "./objects.ts";

/** A pod, by its names. */
export interface PodName {
  readonly namespace: string;
  readonly name: string;
}

/** A fault that lasts until it is disposed of. */
export type Fault = AsyncDisposable;

/** Its processes are stopped, and go on afterwards as if nothing had been. */
export async function pausePod(pod: PodName): Promise<Fault> {
  const pids = await listProcesses(pod);
  const send = (signal: Deno.Signal) => pids.forEach((pid) => sendTo(pid, signal));
  send("SIGSTOP");
  return { [Symbol.asyncDispose]: () => Promise.resolve(send("SIGCONT")) };
}

/** It ends at once, and its workload makes another. */
export async function killPod({ namespace, name }: PodName): Promise<Fault> {
  await kubectl(["delete", "pod", name, "-n", namespace, "--grace-period=0", "--force"]);
  return { [Symbol.asyncDispose]: () => Promise.resolve() };
}

/** What it sends to the API server's address leads nowhere; its kubelet reaches it still. */
export async function cutPod(pod: PodName): Promise<Fault> {
  const [pid] = await listProcesses(pod);
  const route = (verb: string) =>
    runProgram("nsenter", [`--net=/proc/${pid}/ns/net`, "ip", "route", verb, "blackhole", `${API_SERVER}/32`]);
  await route("add");
  // A pod that was replaced meanwhile took its network with it.
  return { [Symbol.asyncDispose]: () => route("del").then(() => {}, () => {}) };
}

/** The service address of the API server: see tests/cluster/up. */
const API_SERVER = "10.96.0.1";

/** By their cgroup, which has the pod's uid in its name. Deno itself may not look into /proc. */
async function listProcesses({ namespace, name }: PodName): Promise<readonly number[]> {
  const { metadata: { uid } } = await kubectlJson<PodJson>(["get", "pod", name, "-n", namespace]);
  const script = 'grep -ls "pod$0" /proc/[0-9]*/cgroup | cut -d/ -f3';
  const pids = (await runProgram("sh", ["-c", script, uid])).trim().split("\n").filter((pid) => pid !== "");
  if (pids.length === 0) {
    throw new Error(`Cannot find the processes of pod "${namespace}/${name}": is it on this machine?`);
  }
  return pids.map(Number);
}

function sendTo(pid: number, signal: Deno.Signal): void {
  try {
    Deno.kill(pid, signal);
  } catch (error) {
    // Its kubelet may have ended it meanwhile.
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}
