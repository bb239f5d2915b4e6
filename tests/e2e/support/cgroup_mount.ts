/**
 * The machine's cgroups once more, read-only and where Deno reads: it lets no program read /sys itself. What an operator
 * does with a hostPath volume.
 */
import type { CgroupMount } from "./backend.ts";

/** Needs root. */
export async function mountCgroups(): Promise<CgroupMount> {
  const root = await Deno.makeTempDir({ prefix: "podfit-cgroup-" });
  await run("mount", ["--rbind", "-o", "ro", "/sys/fs/cgroup", root]);
  // Else what is unmounted below would be unmounted in /sys too, where mounts are shared.
  await run("mount", ["--make-rprivate", root]);
  return {
    root,
    async [Symbol.asyncDispose]() {
      await run("umount", ["--recursive", root]);
      await Deno.remove(root);
    },
  };
}

async function run(command: string, args: readonly string[]): Promise<void> {
  const { code, stderr } = await new Deno.Command(command, { args: [...args], stdin: "null" }).output();
  if (code !== 0) throw new Error(`Cannot ${command} "${args.at(-1)}": ${new TextDecoder().decode(stderr).trim()}`);
}
