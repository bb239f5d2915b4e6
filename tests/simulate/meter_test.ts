/** Counting what is used: a sample says the counter of its own time, however long the slice it falls into. */
import { assert, assertEquals } from "#assert";
import { newMeter, nextMeter, type Sample } from "../../lib/simulate/model/meter.ts";

const GOT = {
  millicores: 100,
  unmetMillicores: 0,
  stalled: 0,
  throttled: 0,
  cpus: 1,
  workingSetBytes: 2 ** 20,
  cacheBytes: 0,
};
const KEY = ["node1", "pod1"];

/** The last sample of each minute, counted in slices of that length. */
function listSamples(sliceMs: number): readonly (Sample | null)[] {
  let meter = newMeter(0, KEY);
  const samples: (Sample | null)[] = [];
  for (let at = 0; at < 600_000; at += sliceMs) {
    meter = nextMeter(meter, GOT, { from: at, to: at + sliceMs, key: KEY });
    if ((at + sliceMs) % 60_000 === 0) samples.push(meter.sample);
  }
  return samples;
}

Deno.test("nextMeter() takes the same samples in slices of a minute as in those of a second", () => {
  const fine = listSamples(1000);
  assertEquals(fine.length, 10);
  for (const sample of fine) {
    assert(sample !== null && sample.cpuNs === sample.at * 100_000 && sample.nanoCores === 1e8);
  }
  assertEquals(listSamples(15_000), fine);
  assertEquals(listSamples(60_000), fine);
});
