/**
 * What a process has used, by what Linux says of it. https://www.kernel.org/doc/html/latest/filesystems/proc.html
 */

export interface ProcessUsage {
  /** User and system time since its start. */
  readonly cpuSeconds: number;
  readonly rssMiB: number;
  /** The highest since its start. */
  readonly peakMiB: number;
}

export async function readUsage(pid: number): Promise<ProcessUsage> {
  const paths = [`/proc/${pid}/stat`, `/proc/${pid}/status`];
  // By a program: Deno opens /proc to --allow-all only.
  const { code, stdout } = await new Deno.Command("cat", { args: paths, stderr: "null" }).output();
  if (code !== 0) throw new Error(`Cannot read the usage of process ${pid}: it has ended`);
  return parseUsage(new TextDecoder().decode(stdout));
}

/** Of its `stat` and its `status`, one after the other. */
export function parseUsage(text: string): ProcessUsage {
  const [stat = ""] = text.split("\n");
  // The name stands in parentheses and may have some of its own.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const ticks = Number(fields[11]) + Number(fields[12]);
  const readMiB = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(text)?.[1]) / 1024;
  const usage = { cpuSeconds: ticks / TICKS_PER_SECOND, rssMiB: readMiB("VmRSS"), peakMiB: readMiB("VmHWM") };
  if (Object.values(usage).some(Number.isNaN)) throw new Error(`Cannot read the usage of a process: "${text}"`);
  return usage;
}

/** USER_HZ, which is the same on every machine that Deno runs on. */
const TICKS_PER_SECOND = 100;
