/** The pressure that a summary has of a container, whose unit it does not say (L20). */
import { assertEquals } from "#assert";
import { parsePressure } from "../../lib/usage/kubelet/parse_summary.ts";

/** Of a container that was held back for 6 of its 20 s. */
const AGE_MS = 20_000;
const MEANS = { avg10: 30, avg60: 9.6, avg300: 1.95 };
const RUNTIME = psi(6_000_000_000);
const CADVISOR = psi(6_000_000);

function psi(total: unknown, some: unknown = total, means: Record<string, unknown> = MEANS): Record<string, unknown> {
  return { full: { total, ...means }, some: { total: some, ...means } };
}

Deno.test("parsePressure() gives the same time of the kernel's microseconds and of the runtime's nanoseconds (L20)", () => {
  const known = { throttledNs: null, largestCpuNs: null, fullNs: 6e9 };
  assertEquals(parsePressure(CADVISOR, AGE_MS), { ...known, fullHint: { unit: "us", percent: 30 } });
  assertEquals(parsePressure(RUNTIME, AGE_MS), { ...known, fullHint: { unit: "ns", percent: 30 } });
});

Deno.test("parsePressure() tells the unit by what some have waited where all have not (L20)", () => {
  assertEquals(parsePressure(psi(0, 6_000_000_000), AGE_MS)?.fullHint?.unit, "ns");
  assertEquals(parsePressure(psi(0, 6_000_000), AGE_MS)?.fullHint?.unit, "us");
});

Deno.test("parsePressure() allows for a start and a time of whole seconds (L20)", () => {
  assertEquals(parsePressure(psi(1_900_000), 0)?.fullHint?.unit, "us");
  assertEquals(parsePressure(psi(2_100_000), 0)?.fullHint?.unit, "ns");
});

const NO_MEASURE: Readonly<Record<string, unknown>> = {
  "zeros, which a kernel without PSI gives for ever": psi(0),
  "nothing": undefined,
  "only what some have waited": { some: { total: 1, ...MEANS } },
  "longer than the instance lives in either unit": psi(60e9),
  "a negative total": psi(-1, 5),
  "a total as text": psi("6000000"),
  "a fraction": psi(0.5),
  "an endless total": psi(1e30),
  "a mean above 100": psi(6_000_000, 6_000_000, { avg10: 130, avg60: 1 }),
  "no means, which its unit is checked against": psi(6_000_000, 6_000_000, {}),
};

for (const [what, value] of Object.entries(NO_MEASURE)) {
  Deno.test(`parsePressure() takes ${what} for no measure (L20)`, () => {
    assertEquals(parsePressure(value, AGE_MS), null);
  });
}
