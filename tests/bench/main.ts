// deno-lint-ignore-file no-console
/**
 * `deno task bench`: what podfit costs, as ratios of two sides measured in one run; milliseconds and megabytes differ
 * from machine to machine. Exit code 1 when a goal is missed.
 */
import { measureMemory } from "./memory.ts";
import { measurePoll } from "./poll.ts";

const POLL_GOAL = 1.25;
const MEMORY_GOAL_MIB = 40;

const polls = [1, 2, 3, 4, 5].map(() => measurePoll(300)).sort((a, b) => a.ratio - b.ratio);
const poll = polls[2];
if (poll !== undefined) {
  console.log(
    `poll of a node, 110 pods x 2 containers (${Math.round(poll.bytes / 1000)} kB), bytes in, decisions out: ` +
      `${poll.pollMs.toFixed(2)} ms; JSON.parse of the same bytes: ${poll.parseMs.toFixed(2)} ms\n` +
      `  ratio ${poll.ratio.toFixed(2)} (five runs ${polls.map(({ ratio }) => ratio.toFixed(2)).join(" ")}; ` +
      `goal: at most ${POLL_GOAL})`,
  );
}
const memory = await measureMemory(60_000);
console.log(
  `resident memory 60 s after sync, ${memory.trackedPods} tracked pods, ${memory.reads} polls: ` +
    `${memory.daemonMiB.toFixed(1)} MiB; empty Deno process: ${memory.emptyMiB.toFixed(1)} MiB\n` +
    `  difference +${memory.differenceMiB.toFixed(1)} MiB (goal: at most +${MEMORY_GOAL_MIB})`,
);
if ((poll?.ratio ?? Infinity) > POLL_GOAL || memory.differenceMiB > MEMORY_GOAL_MIB) Deno.exitCode = 1;
