/** What a process has used, by the kernel's two pages. */
import { assert, assertEquals, assertThrows } from "#assert";
import { parseUsage, readUsage } from "./scale_usage.ts";

const STAT = "4242 (a b) c) S 1 4242 4242 0 -1 4194560 9999 8888 7 6 1234 66 5 4 20 0 12 0 555 1000000 30000\n";
const STATUS = "Name:\ta b) c\nVmPeak:\t 9000000 kB\nVmHWM:\t  122880 kB\nVmRSS:\t  102400 kB\nThreads:\t12\n";

Deno.test("parseUsage() adds user and system time, whatever the process is called", () => {
  assertEquals(parseUsage(STAT + STATUS), { cpuSeconds: 13, rssMiB: 100, peakMiB: 120 });
});

Deno.test("parseUsage() refuses what is not all there", () => {
  assertThrows(() => parseUsage(STAT), Error, "Cannot read the usage of a process");
  assertThrows(() => parseUsage(""), Error, "Cannot read the usage of a process");
});

Deno.test("readUsage() sees this process at work", async () => {
  const before = await readUsage(Deno.pid);
  const until = performance.now() + 60;
  while (performance.now() < until);
  const after = await readUsage(Deno.pid);
  assert(after.cpuSeconds > before.cpuSeconds && after.cpuSeconds < before.cpuSeconds + 30);
  assert(after.rssMiB > 10 && after.peakMiB >= after.rssMiB);
});
