/**
 * Nodes with cgroup version 2 of the cluster of tests/cluster: each is a Linux of its own, which loses its power, its
 * network, its time or the room on its disk. See tests/cluster/guest/node.
 */
import { readHome, readTool } from "../chaos/real/processes.ts";

/** Starts and ends guests. */
const NODE = new URL("../../cluster/guest/node", import.meta.url).pathname;
/** Minutes of a start on a machine that does something else. */
const START_MS = 180_000;
const SHELL_MS = 60_000;
/** It fills the disk of the kubelet. */
const LARGE_FILE = "/var/lib/kubelet/full";

/** A guest. */
export interface Guest {
  /** Of its node. */
  readonly name: string;
  /** From 1. */
  readonly number: number;
}

/** The guests of one cluster. */
export interface Guests {
  readonly all: readonly Guest[];
  /** Of those. */
  readonly last: Guest;
  /** Throws where there is none of that name. */
  readonly get: (name: string) => Guest;
  /** At once, as without power: what it had in memory is lost, its disk too. */
  readonly kill: (guest: Guest) => Promise<void>;
  /** Resolves when its node is ready. */
  readonly start: (guest: Guest) => Promise<void>;
  /** From the network: what it sends arrives, and no answer comes back. */
  readonly cut: (guest: Guest) => Promise<void>;
  readonly mend: (guest: Guest) => Promise<void>;
  /** Its clock is so many seconds ahead from then on; 0 = it is right. */
  readonly setClock: (guest: Guest, aheadS: number) => Promise<void>;
  readonly fillDisk: (guest: Guest) => Promise<void>;
  readonly clearDisk: (guest: Guest) => Promise<void>;
  /** Whatever was done to it, it has power, network, the time and room on its disk. */
  readonly restore: (guest: Guest) => Promise<void>;
  /** What commands print in its shell. */
  readonly run: (guest: Guest, script: string) => Promise<string>;
  /** An archive of tests/cluster's images, by name, becomes one of the guest's images. */
  readonly importImage: (guest: Guest, archive: string) => Promise<void>;
}

/** Those that `CGROUP2_NODES=N tests/cluster/up` has started. Throws where there are fewer than so many. */
export async function openGuests(least: number): Promise<Guests> {
  const names = (await runShell('ls "$0/run/guests" 2>/dev/null || true', [readHome()])).split("\n")
    .filter((name) => name !== "").sort();
  const all = names.map((name): Guest => ({ name, number: Number(/-(\d+)$/.exec(name)?.[1]) }));
  const last = all.at(-1);
  if (last === undefined || all.length < least) {
    throw new Error(`Cannot run on ${all.length} nodes with cgroup v2: see CGROUP2_NODES=${least} tests/cluster/up`);
  }
  const run = (guest: Guest, script: string) =>
    runShell('printf "%s\\nexit\\n" "$2" | timeout "$3" "$0" sh "$1"', [
      NODE,
      guest.name,
      script,
      `${SHELL_MS / 1000}`,
    ]);
  // Its kernel goes on when this has ended, so nothing of its may be piped to here.
  const start = async ({ name, number }: Guest) => {
    const script = 'timeout "$3" "$0" up "$1" "$2" >/dev/null';
    await runShell(script, [NODE, name, String(number), `${START_MS / 1000}`]);
  };
  const mend = async ({ name }: Guest) => void await readTool(NODE, ["mend", name]);
  const setClock = async (guest: Guest, aheadS: number) =>
    void await run(guest, `date -s @${Math.round(Date.now() / 1000) + aheadS}`);
  const clearDisk = async (guest: Guest) => void await run(guest, `rm -f ${LARGE_FILE}`);
  return {
    all,
    last,
    start,
    mend,
    setClock,
    clearDisk,
    fillDisk: async (guest) => void await run(guest, `dd if=/dev/zero of=${LARGE_FILE} bs=64k 2>/dev/null`),
    async restore(guest) {
      await mend(guest);
      // One without power does not answer.
      const hasPower = await clearDisk(guest).then(() => true, () => false);
      await (hasPower ? setClock(guest, 0) : start(guest));
    },
    get(name) {
      const guest = all.find((one) => one.name === name);
      if (guest === undefined) throw new Error(`Cannot find guest "${name}": there are ${names.join(", ") || "none"}`);
      return guest;
    },
    kill: async ({ name }) => void await readTool(NODE, ["kill", name]),
    cut: async ({ name }) => void await readTool(NODE, ["cut", name]),
    run,
    async importImage(guest, archive) {
      const printed = await run(
        guest,
        `ctr -n k8s.io images import /images/${archive} >/dev/null 2>&1 && echo imported`,
      );
      if (!printed.includes("imported")) throw new Error(`Cannot import "${archive}" on ${guest.name}`);
    },
  };
}

function runShell(script: string, args: readonly string[]): Promise<string> {
  return readTool("bash", ["-c", script, ...args]);
}
