/** Does everyone get what it wants while there is enough, and its part by requests when there is not? */
import { assertAlmostEquals, assertEquals } from "#assert";
import * as fc from "fast-check";
import { shareCpu, type Want } from "../../../lib/embedded/model/requests.ts";

const want = (millicores: number, requestMillicores: number, limitMillicores: number | null = null): Want => ({
  millicores,
  requestMillicores,
  limitMillicores,
});

const CASES: Readonly<Record<string, readonly [wants: readonly Want[], shares: readonly number[]]>> = {
  "gives what is wanted while there is enough": [[want(300, 1), want(700, 1)], [300, 700]],
  "stops at the limit": [[want(900, 100, 400), want(100, 100, 400)], [400, 100]],
  "shares by requests what is too little": [[want(900, 100), want(900, 300)], [250, 750]],
  "leaves to the others what one does not want": [[want(100, 500), want(900, 100), want(900, 400)], [100, 180, 720]],
  "weighs no request as the least": [[want(900, 0), want(999, 998)], [2, 998]],
  "gives nobody anything of nothing": [[], []],
};

for (const [name, [wants, shares]] of Object.entries(CASES)) {
  Deno.test(`shareCpu() ${name}`, () => {
    for (const [index, share] of shareCpu(wants, 1000).entries()) assertAlmostEquals(share, shares[index] ?? NaN, 1e-6);
    assertEquals(wants.length, shares.length);
  });
}

Deno.test("shareCpu() hands out all that is wanted, up to what there is", () => {
  const amounts = fc.record({
    millicores: fc.nat(3000),
    requestMillicores: fc.nat(2000),
    limitMillicores: fc.option(fc.nat(2000), { nil: null }),
  });
  fc.assert(fc.property(fc.array(amounts), fc.nat(4000), (wants, capacity) => {
    const caps = wants.map(({ millicores, limitMillicores }) => Math.min(millicores, limitMillicores ?? Infinity));
    const shares = shareCpu(wants, capacity);
    const sum = (list: readonly number[]) => list.reduce((total, one) => total + one, 0);
    assertAlmostEquals(sum(shares), Math.min(capacity, sum(caps)), 1e-6);
    assertEquals(shares.filter((share, index) => share < 0 || share > (caps[index] ?? 0) + 1e-9), []);
  }));
});
