/**
 * What happens to machines, for real: they lose their power, their network, their time and the room on their disk; their
 * services start again in the middle of a resize; the API server dies again and again; etcd goes back to a backup; podfit
 * loses its node, its memory and its version.
 */
import { systemClock } from "../../../lib/runtime/clock.ts";
import { runProgram } from "../../e2e/support/kubectl.ts";
import { killPod } from "../../e2e/support/pod_faults.ts";
import { waitForLeader } from "../../e2e/support/release.ts";
import type { PlanContext, RealFault } from "../chaos/real/main.ts";
import type { OwnProcess } from "../chaos/real/own_process.ts";
import { type ClusterProcesses, readTool } from "../chaos/real/processes.ts";
import type { Installed } from "../chaos/real/takeovers.ts";
import type { Guest, Guests } from "./guests.ts";

/** Within so long a pod whose load has moved is resized: two polls of its policy, and a slow guest. */
const RESIZE_MS = 60_000;
/** What nobody has measured for a minute is not used; a quarter of a minute more for the way. */
const SILENT_S = 75;
/** A lease is 15 s long, and taken within 2 s of its end. */
const TAKEN_MS = 25_000;

/** What is done to guests and to the control plane, next to one podfit as a process of this machine. */
export function listMachineFaults(
  { guests, processes, podfit }: {
    readonly guests: Guests;
    readonly processes: ClusterProcesses;
    readonly podfit: OwnProcess;
  },
  { getWorld }: PlanContext,
): readonly RealFault[] {
  /** Of the guest whose pod has just been resized. */
  const waitForGuest = async (): Promise<Guest> => {
    const nodeName = await getWorld().waitForResize(RESIZE_MS);
    if (nodeName === null) throw new Error(`Cannot begin: no pod was resized within ${RESIZE_MS / 1000} s`);
    return guests.get(nodeName);
  };
  /** The last guest that something was done to. */
  let harmed: Guest | null = null;
  const getHarmed = (): Guest => {
    if (harmed === null) throw new Error("Cannot end the fault: it has not begun");
    return harmed;
  };
  const inResize = (name: string, harm: (guest: Guest) => Promise<unknown>): Omit<RealFault, "lastsS" | "withinS"> => ({
    name: `${name} in the middle of a resize`,
    async begin() {
      harmed = await waitForGuest();
      await harm(harmed);
    },
  });
  const clock = (name: string, aheadS: number): RealFault => ({
    name: `a node's clock is an hour ${name}`,
    lastsS: 90,
    withinS: 240,
    async begin() {
      harmed = guests.last;
      await guests.setClock(harmed, aheadS);
    },
    end: () => guests.setClock(getHarmed(), 0),
  });
  return [
    {
      ...inResize("a node loses its power", guests.kill),
      lastsS: 90,
      withinS: 300,
      end: () => guests.start(getHarmed()),
    },
    {
      name: "a node's network is cut for 120 s",
      lastsS: 120,
      withinS: 240,
      quietAfterS: SILENT_S,
      countResizes: () => getWorld().countResizes(getHarmed().name),
      async begin() {
        harmed = guests.last;
        await guests.cut(harmed);
      },
      end: () => guests.mend(getHarmed()),
    },
    clock("ahead", 3600),
    clock("behind", -3600),
    {
      name: "a node's disk is full for 90 s",
      lastsS: 90,
      withinS: 400,
      async begin() {
        harmed = guests.last;
        await guests.fillDisk(harmed);
      },
      end: () => guests.clearDisk(getHarmed()),
    },
    {
      ...inResize("a kubelet starts again", (guest) => guests.run(guest, "pkill -9 -x kubelet")),
      lastsS: 0,
      withinS: 180,
    },
    {
      ...inResize("containerd starts again", (guest) => guests.run(guest, "pkill -9 -x containerd")),
      lastsS: 0,
      withinS: 180,
    },
    {
      name: "the API server is killed 20 times in 10 minutes",
      lastsS: 0,
      withinS: 240,
      async begin() {
        for (let turn = 0; turn < 20; turn++) {
          await processes.kill("apiserver");
          await systemClock.sleep(3000);
          await processes.start("apiserver");
          getWorld().unsettle();
          await getWorld().settle(27_000);
        }
      },
    },
    {
      name: "etcd goes back to a backup of some minutes ago",
      lastsS: 0,
      withinS: 600,
      begin: () => restoreBackup({ processes, guests, getWorld }),
    },
    ...Array.from({ length: 10 }, (_, index): RealFault => ({
      name: `podfit is OOM-killed (${index + 1} of 10)`,
      lastsS: 0,
      withinS: 120,
      begin: () => killForMemory(podfit),
      end: () => podfit.start(getWorld().namespace),
    })),
  ];
}

/**
 * As https://kubernetes.io/docs/tasks/administer-cluster/configure-upgrade-etcd/ says, the API server is stopped meanwhile,
 * and the other components are started again; podfit is not.
 */
async function restoreBackup({ processes, guests, getWorld }: Restoring): Promise<void> {
  const stop = async () => {
    await processes.kill("apiserver");
    await processes.kill("etcd");
  };
  const start = async () => {
    await processes.start("etcd");
    await processes.start("apiserver");
  };
  const copy = (from: string, to: string) =>
    readTool("bash", [
      "-c",
      'rm -rf "$1" && cp -a "$0" "$1"',
      `${processes.directory}/${from}`,
      `${processes.directory}/${to}`,
    ]);
  await stop();
  await copy("etcd", "etcd-backup");
  await start();
  for (let turn = 0; turn < 4; turn++) {
    getWorld().unsettle();
    await getWorld().settle(60_000);
  }
  await stop();
  await copy("etcd-backup", "etcd");
  await start();
  for (const name of ["kcm", "scheduler", "kubelet"] as const) {
    await processes.kill(name);
    await processes.start(name);
  }
  // A kubelet that goes on waits for what is newer than what it saw last, and takes no new size until then.
  for (const guest of guests.all) await guests.run(guest, "pkill -9 -x kubelet");
  getWorld().watchAgain();
}

interface Restoring extends Pick<PlanContext, "getWorld"> {
  readonly processes: ClusterProcesses;
  readonly guests: Guests;
}

/** Something else in its cgroup takes all of its memory, and the kernel ends podfit first. */
async function killForMemory(podfit: OwnProcess): Promise<void> {
  const script = `set -e
folder=/sys/fs/cgroup/memory$(awk -F: '$2 == "memory" {print $3}' /proc/$0/cgroup)
echo 1000 > /proc/$0/oom_score_adj
sh -c 'echo $$ > "$0/cgroup.procs"; exec tail /dev/zero' "$folder" 2>/dev/null >/dev/null || true
for _ in $(seq 100); do grep -q '^State:.[ZX]' /proc/$0/status 2>/dev/null || [ ! -d /proc/$0 ] && exit 0; sleep 0.1; done
exit 1`;
  await systemClock.sleep(5000);
  await readTool("bash", ["-c", script, String(podfit.pid)]);
  await podfit.kill();
}

/** What is done to the leader of two podfits that the chart has installed, one of them on a guest. */
export function listNodeFaults(
  { guests, podfit }: { readonly guests: Guests; readonly podfit: Installed },
): readonly RealFault[] {
  const readNode = async (name: string) => {
    const pods = await podfit.release.listPods();
    return pods.find(({ metadata }) => metadata.name === name)?.spec.nodeName ?? null;
  };
  let harmed: Guest | null = null;
  return [
    {
      name: "the node of the podfit that leads loses its power",
      lastsS: 0,
      withinS: 400,
      async begin() {
        const { namespace, name } = podfit.release;
        const names = guests.all.map((guest) => guest.name);
        let leader = await waitForLeader(podfit.release);
        for (let turn = 0; turn < 4 && !names.includes(await readNode(leader) ?? ""); turn++) {
          await killPod({ namespace, name: leader });
          leader = await waitForLeader(podfit.release, { not: leader });
        }
        harmed = guests.get(await readNode(leader) ?? "");
        await guests.kill(harmed);
        await waitForLeader({ namespace, name }, { not: leader, timeoutMs: TAKEN_MS });
      },
      async end() {
        if (harmed === null) return;
        await guests.start(harmed);
        await guests.importImage(harmed, "podfit.tar");
      },
    },
  ];
}

/** What is done to the version of two podfits. */
export function listUpgradeFaults(podfit: Installed): readonly RealFault[] {
  return [
    {
      name: "the chart is upgraded under load",
      lastsS: 0,
      withinS: 180,
      begin: () => podfit.release.upgrade({ podAnnotations: { "example.com/version": "next" } }),
    },
    {
      name: "the chart goes back to the version before",
      lastsS: 0,
      withinS: 180,
      async begin() {
        const { namespace, name } = podfit.release;
        await runProgram("helm", ["rollback", name, "--namespace", namespace, "--wait", "--timeout", "90s"], {
          timeoutMs: 100_000,
        });
        const pods = JSON.stringify(await podfit.release.listPods());
        if (pods.includes("example.com/version")) throw new Error("Cannot go on: the pods are those of the upgrade");
      },
    },
  ];
}
