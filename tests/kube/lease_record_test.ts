/** What is made of a Lease, whoever has written it (C55)? */
import { assertEquals } from "#assert";
import fc from "fast-check";
import { formatMicroTime, holdLease, newLease, parseLease, releaseLease } from "../../lib/kube/lease.ts";

const HOLD = { holder: "a", durationMs: 15_000, now: Date.UTC(2026, 10, 20, 11, 0, 0, 7) };
const LEASE = { metadata: { name: "podfit", resourceVersion: "7", uid: "u" }, spec: newLease("podfit", HOLD).spec };

Deno.test("formatMicroTime() writes six digits, whatever the millisecond (C55)", () => {
  assertEquals(newLease("podfit", HOLD).spec?.renewTime, "2026-11-20T11:00:00.007000Z");
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 4e12 }), (at) => {
      assertEquals(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/.test(formatMicroTime(at)), true);
    }),
  );
});

const READ: Readonly<
  Record<string, readonly [spec: unknown, holder: string | null, durationMs: number, free: boolean]>
> = {
  "as it was written": [LEASE.spec, "a", 15_000, false],
  "released": [{ holderIdentity: "", leaseDurationSeconds: 1 }, null, 15_000, true],
  "emptied by hand": [{ holderIdentity: "", leaseDurationSeconds: 15 }, null, 15_000, false],
  "without a spec": [undefined, null, 15_000, false],
  "with a longer duration": [{ holderIdentity: "b", leaseDurationSeconds: 60 }, "b", 60_000, false],
  "with a shorter one": [{ holderIdentity: "b", leaseDurationSeconds: 1 }, "b", 15_000, false],
  "with one of years": [{ holderIdentity: "b", leaseDurationSeconds: 1e9 }, "b", 60_000, false],
  "with a little more than a minute": [{ holderIdentity: "b", leaseDurationSeconds: 61 }, "b", 60_000, false],
  "with a part of a second more": [{ holderIdentity: "b", leaseDurationSeconds: 20.5 }, "b", 15_000, false],
  "with nonsense": [{ holderIdentity: 7, leaseDurationSeconds: "x", leaseTransitions: -3 }, null, 15_000, false],
};

for (const [what, [spec, holder, durationMs, isReleased]] of Object.entries(READ)) {
  Deno.test(`parseLease() reads a Lease ${what} (C55)`, () => {
    const record = parseLease({ ...LEASE, spec }, 15_000);
    assertEquals([record?.holder, record?.durationMs, record?.isReleased], [holder, durationMs, isReleased]);
  });
}

Deno.test("newLease() rounds a duration up to whole seconds, the unit of its field (C55)", () => {
  const seconds = [15_000, 15_001, 15_999].map((durationMs) =>
    newLease("podfit", { ...HOLD, durationMs }).spec?.leaseDurationSeconds
  );
  assertEquals(seconds, [15, 16, 16]);
});

Deno.test("parseLease() takes any value, and gives a record that can be held and released", () => {
  fc.assert(
    fc.property(fc.anything(), fc.anything(), (value, spec) => {
      for (const one of [value, { ...LEASE, spec }]) {
        const record = parseLease(one, 15_000);
        if (record === null) continue;
        const held = holdLease(record, HOLD).spec;
        assertEquals([held?.holderIdentity, held?.leaseDurationSeconds], ["a", 15]);
        assertEquals(Number.isSafeInteger(held?.leaseTransitions ?? 0), true);
        assertEquals(releaseLease(record, HOLD.now).spec?.holderIdentity, "");
      }
    }),
  );
  assertEquals([null, 7, {}, { metadata: {} }].map((value) => parseLease(value, 15_000)), [null, null, null, null]);
});

Deno.test("holdLease() counts a change of the holder, and no renewal, up to what the field holds (C55)", () => {
  const at = (holderIdentity: string, leaseTransitions: unknown) => {
    const record = parseLease({ ...LEASE, spec: { ...LEASE.spec, holderIdentity, leaseTransitions } }, 15_000);
    return record === null ? null : holdLease(record, HOLD).spec?.leaseTransitions;
  };
  assertEquals([at("a", 4), at("b", 4), at("b", 2 ** 31 - 1)], [4, 5, 2 ** 31 - 1]);
  assertEquals([0, -3, 1.5, "4", undefined].map((count) => at("b", count)), [1, 1, 1, 1, 1]);
});
