/** Do the checks, which the model's own runs pass, find anything in what a real kubelet answered and reported? */
import { assert, assertEquals } from "#assert";
import { checkPodWatch } from "../../support/embedded/check_pod_watch.ts";
import { checkSummaries } from "../../support/embedded/check_summaries.ts";
import { readSummaries, readWatch } from "../../support/recorded.ts";

const SUMMARIES: Readonly<Record<string, { hasCadvisor: boolean; polls: number }>> = {
  summaries_cadvisor: { hasCadvisor: true, polls: 220 },
  summaries_starting: { hasCadvisor: true, polls: 50 },
  summaries_fresh: { hasCadvisor: false, polls: 60 },
  summaries_oom: { hasCadvisor: false, polls: 20 },
  summaries_restart: { hasCadvisor: false, polls: 30 },
};

for (const [name, { hasCadvisor, polls }] of Object.entries(SUMMARIES)) {
  Deno.test(`checkSummaries() finds nothing in the recorded ${name} (C21, C22)`, async () => {
    const stream = await readSummaries(name);
    assert(stream.length >= polls, `${stream.length} polls`);
    assertEquals(checkSummaries(stream, { hasCadvisor }), []);
  });
}

const WATCHES = {
  watch_lives: 60,
  watch_resizes: 30,
  watch_deferred: 20,
  watch_memory_below_usage: 15,
  watch_restart_policy: 9,
  watch_oom: 20,
  watch_back_off: 15,
};

for (const [name, events] of Object.entries(WATCHES)) {
  Deno.test(`checkPodWatch() finds nothing in the recorded ${name} (C41, C46)`, async () => {
    const stream = await readWatch(name);
    assert(stream.length >= events, `${stream.length} events`);
    assertEquals(checkPodWatch(stream), []);
  });
}
