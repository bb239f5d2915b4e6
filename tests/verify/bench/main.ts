// deno-lint-ignore-file no-console
/**
 * `deno task bench`: what podfit costs, as ratios of two sides measured in one run; milliseconds and megabytes differ
 * from machine to machine. Exit code 1 when a goal is missed.
 */
import { measureReads } from "./kubelet_reads.ts";
import { measureMemory } from "./memory.ts";
import { measurePage } from "./metrics.ts";
import { measurePoll } from "./poll.ts";
import { measureQuiet } from "./quiet.ts";
import { measureRecords } from "./records.ts";
import { measureSimulations } from "./simulate.ts";

const POLL_GOAL = 0.6;
const QUIET_GOAL = 0.45;
const READ_GOAL = 0.75;
const MEMORY_GOAL_MIB = 40;
const PAGE_GOAL = 5;
const RECORDS_GOAL_KIB = 20;
const BLOCK_GOAL_MS = 50;
const DECISIONS_GOAL = 200_000;

const polls = [1, 2, 3, 4, 5].map(() => measurePoll(300)).sort((a, b) => a.ratio - b.ratio);
const poll = polls[2];
if (poll !== undefined) {
  console.log(
    `poll of a node, 110 pods x 2 containers (${Math.round(poll.bytes / 1000)} kB), bytes in, decisions out: ` +
      `${poll.pollMs.toFixed(2)} ms; JSON.parse of the same bytes: ${poll.parseMs.toFixed(2)} ms\n` +
      `  ratio ${poll.ratio.toFixed(2)} (five runs ${polls.map(({ ratio }) => ratio.toFixed(2)).join(" ")}; ` +
      `goal: at most ${POLL_GOAL}); the scan alone, numbers of all pods out: ${poll.scanMs.toFixed(2)} ms, ` +
      `ratio ${poll.scanRatio.toFixed(2)}; ${Math.round(poll.quietShare * 100)} % of the evaluations were quiet`,
  );
}
const quiet = measureQuiet(200);
console.log(
  `quiet evaluation of a pod: ${quiet.quietMicroseconds.toFixed(1)} us; by decideSize: ` +
    `${quiet.decidedMicroseconds.toFixed(1)} us (${Math.round(quiet.share * 100)} % of them were quiet)\n` +
    `  ratio ${quiet.ratio.toFixed(2)} (median of 100 rounds; goal: at most ${QUIET_GOAL})`,
);
const read = await measureReads(480);
console.log(
  `read of a kubelet, ${Math.round(read.bytes / 1000)} kB in chunks, over podfit's connections: ` +
    `${read.ownUs.toFixed(0)} us of CPU; by fetch: ${read.fetchUs.toFixed(0)} us\n` +
    `  ratio ${read.ratio.toFixed(2)} (median of eight rounds; goal: at most ${READ_GOAL})`,
);
const simulations = measureSimulations();
console.log("simulation of 14 days of a pod, one core (fastest of five runs):");
for (const { policy, decisions, decisionsPerSecond, isWaiting } of simulations) {
  const perSecond = (Math.round(decisionsPerSecond / 1000) * 1000).toLocaleString("en");
  const goal = isWaiting
    ? "no goal: its proposals wait most of the time"
    : `goal: ${DECISIONS_GOAL.toLocaleString("en")}`;
  console.log(`  ${policy}: ${decisions} decisions, ${perSecond} a second of CPU (${goal})`);
}
const memory = await measureMemory(60_000);
console.log(
  `resident memory 60 s after sync, ${memory.trackedPods} tracked pods, ${memory.reads} polls: ` +
    `${memory.daemonMiB.toFixed(1)} MiB; empty Deno process: ${memory.emptyMiB.toFixed(1)} MiB\n` +
    `  difference +${memory.differenceMiB.toFixed(1)} MiB (goal: at most +${MEMORY_GOAL_MIB})`,
);
const page = await measurePage(1_000);
console.log(
  `/metrics of 1,000 autoscalers with every series, ${page.lines} lines (${megabytes(page.bytes)} MB): ` +
    `${page.renderMs.toFixed(0)} ms; one join of the same lines: ${page.joinMs.toFixed(0)} ms\n` +
    `  ratio ${page.ratio.toFixed(2)} (median of seven; goal: at most ${PAGE_GOAL})\n` +
    `  read over HTTP, plain and as gzip (${megabytes(page.gzipBytes)} MB) at once: ${page.scrapeMs.toFixed(0)} ms; ` +
    `longest block of the event loop ${page.blockMs.toFixed(1)} ms (least of three; goal: below ${BLOCK_GOAL_MS})\n` +
    `  resident memory: series +${page.seriesMiB.toFixed(1)} MiB, reading +${page.scrapeMiB.toFixed(1)} MiB`,
);
const hours = [await measureRecords("quiet"), await measureRecords("busy")];
for (const { hour, kiB, evaluations, lines, minutes, microseconds } of hours) {
  console.log(
    `records of a pod, a ${hour} hour of ${evaluations} evaluations: ${kiB.toFixed(1)} KiB ` +
      `(goal: at most ${RECORDS_GOAL_KIB}); ${lines} lines, the first ${minutes.toFixed(0)} min ago; ` +
      `${microseconds.toFixed(1)} us an evaluation`,
  );
}
const isMissed = page.ratio > PAGE_GOAL || page.blockMs >= BLOCK_GOAL_MS;
const isLarge = hours.some(({ kiB }) => kiB > RECORDS_GOAL_KIB);
const isSlow = simulations.some((one) => !one.isWaiting && one.decisionsPerSecond < DECISIONS_GOAL);
const isFat = isLarge || memory.differenceMiB > MEMORY_GOAL_MIB;
const isLoud = quiet.ratio > QUIET_GOAL || read.ratio > READ_GOAL;
if (isSlow || isLoud || isMissed || isFat || (poll?.ratio ?? Infinity) > POLL_GOAL) {
  Deno.exitCode = 1;
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}
