/**
 * Violations of the namespace's limit ranges by a resized pod.
 * Clauses: L32.
 */
import { assertEquals } from "#assert";
import { findLimitRangeViolation, type LimitRangeRule } from "../../lib/model/pod_amounts.ts";
import { container, MI, pod, resources, SIZE } from "../support/builders.ts";
import { NO_RESOURCES, type ResourceField, type Resources } from "../../lib/units/resources.ts";

const NONE = { cpu: null, memory: null };

function range(rule: Partial<LimitRangeRule>): LimitRangeRule {
  return {
    name: "sizes",
    type: "Container",
    min: NONE,
    max: NONE,
    maxLimitRequestRatio: NONE,
    defaults: NO_RESOURCES,
    ...rule,
  };
}

/**
 * [sentence, rule, change of the container's size, size of another container, the field that is found; undefined =
 * none]
 */
const ROWS: readonly [
  string,
  Partial<LimitRangeRule>,
  Partial<Resources>,
  Resources | null,
  ResourceField | null | undefined,
][] = [
  [
    "accepts what is within",
    { min: { cpu: 100, memory: null }, max: { cpu: 200, memory: null } },
    {},
    null,
    undefined,
  ],
  ["names a request below min", { min: { cpu: 100, memory: null } }, { "cpu.requests": 99 }, null, "cpu.requests"],
  ["names a limit below min", { min: { cpu: 100, memory: null } }, { "cpu.limits": 99 }, null, "cpu.limits"],
  ["names a limit above max", { max: { cpu: 200, memory: null } }, { "cpu.limits": 201 }, null, "cpu.limits"],
  ["names a request above max", { max: { cpu: 90, memory: null } }, { "cpu.limits": 80 }, null, "cpu.requests"],
  [
    "wants a request where there is a min",
    { min: { cpu: 1, memory: null } },
    { "cpu.requests": null },
    null,
    "cpu.requests",
  ],
  [
    "wants a limit where there is a max",
    { max: { cpu: 999, memory: null } },
    { "cpu.limits": null },
    null,
    "cpu.limits",
  ],
  [
    "wants no limit for a min, no request for a max",
    {
      min: { cpu: 1, memory: null },
      max: { cpu: null, memory: 999 * MI },
    },
    { "cpu.limits": null, "memory.requests": null },
    null,
    undefined,
  ],
  ["accepts a limit at the ratio", { maxLimitRequestRatio: { cpu: 2, memory: null } }, {}, null, undefined],
  ["names a limit beyond the ratio", { maxLimitRequestRatio: { cpu: 1.9, memory: null } }, {}, null, "cpu.limits"],
  ["finds what a sibling breaks, which no size of this one heals", { max: { cpu: 200, memory: null } }, {}, {
    ...SIZE,
    "cpu.limits": 300,
  }, null],
  [
    "finds a default that it would add",
    { defaults: resources({ "memory.limits": MI }) },
    { "memory.limits": null },
    null,
    null,
  ],
  [
    "finds a default that it would add to a sibling",
    { defaults: resources({ "cpu.requests": 10 }) },
    {},
    resources(),
    null,
  ],
  ["adds no default to what is given", { defaults: SIZE }, {}, SIZE, undefined],
  ["adds a pod up against its max", { type: "Pod", max: { cpu: 300, memory: null } }, {}, SIZE, "cpu.limits"],
  ["accepts a pod at its max", { type: "Pod", max: { cpu: 400, memory: null } }, {}, SIZE, undefined],
  ["adds a pod up against its min", { type: "Pod", min: { cpu: 150, memory: null } }, {}, SIZE, undefined],
  ["gives a pod no defaults", { type: "Pod", defaults: SIZE }, { "memory.limits": null }, null, undefined],
];
for (const [sentence, rule, change, other, found] of ROWS) {
  Deno.test(`findLimitRangeViolation() ${sentence} (L32)`, () => {
    const one = container();
    const facts = pod({ containers: [one, ...(other === null ? [] : [container({ name: "aux", spec: other })])] });
    const limits = { ranges: [range(rule)], quota: NO_RESOURCES };
    const violation = findLimitRangeViolation(limits, facts, { container: one, to: { ...SIZE, ...change } });
    assertEquals(violation === null ? undefined : violation.key, found, violation?.message);
  });
}

Deno.test("findLimitRangeViolation() says which range, what it allows, and of whom (L32)", () => {
  const one = container();
  const limits = { ranges: [range({ max: { cpu: 150, memory: null } })], quota: NO_RESOURCES };
  const { message } = findLimitRangeViolation(limits, pod({ containers: [one] }), { container: one, to: SIZE }) ?? {};
  assertEquals(message, 'limit range "sizes" allows at most 150m of cpu.limits, and container "main" has 200m');
});
