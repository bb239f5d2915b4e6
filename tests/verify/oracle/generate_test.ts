/** Do made-up courses meet what they are to meet (section 14 of the contract), and are they the same for the same seed? */
import { assert, assertEquals, assertNotEquals } from "#assert";
import { askedOf, type Course, type CoursePod, type CourseTick, type HpaRules, targetOf } from "./course.ts";
import { generateCourse } from "./generate.ts";
import { readLines } from "./lines.ts";

const COURSES = Array.from({ length: 300 }, (_, index) => generateCourse(1, index));
const TICKS = COURSES.flatMap(({ ticks }) => ticks);

Deno.test("generateCourse() makes the same course of the same seed and index, and another one of any other", () => {
  assertEquals(generateCourse(1, 7), generateCourse(1, 7));
  assertNotEquals(generateCourse(1, 7).ticks, generateCourse(1, 8).ticks);
  assertNotEquals(generateCourse(1, 7).ticks, generateCourse(2, 7).ticks);
});

const rules = (course: Course): readonly HpaRules[] =>
  Object.values(course.spec.behavior ?? {}).filter((one) => one !== undefined);
const courses: Readonly<Record<string, (course: Course) => boolean>> = {
  "no behavior": ({ spec }) => spec.behavior === undefined,
  "an empty behavior": ({ spec }) => JSON.stringify(spec.behavior) === "{}",
  "a window of one tick": (one) =>
    rules(one).some(({ stabilizationWindowSeconds }) => stabilizationWindowSeconds === 15),
  "a period of one tick": (one) =>
    rules(one).some(({ policies }) => policies?.some((each) => each.periodSeconds === 15)),
  "periods of 1 s and 1800 s": (one) =>
    [1, 1800].some((seconds) =>
      rules(one).some(({ policies }) => policies?.some((each) => each.periodSeconds === seconds))
    ),
  "several policies": (one) => rules(one).some(({ policies = [] }) => policies.length > 1),
  "a tolerance": (one) => rules(one).some(({ tolerance }) => tolerance !== undefined),
  "several metrics": ({ spec }) => spec.metrics.length > 1,
  "no replicas": ({ replicas }) => replicas === 0,
  "metrics of pods and others": ({ spec: { metrics } }) =>
    metrics.length > 1 && metrics.some(({ type }) => type === "Pods"),
  ...Object.fromEntries(
    (["Pods AverageValue", "Object AverageValue", "Object Value", "External AverageValue", "External Value"] as const)
      .map((
        kind,
      ) => [
        kind,
        ({ spec: { metrics } }: Course) =>
          metrics.some((one) => askedOf(one) !== null && `${one.type} ${targetOf(one).type}` === kind),
      ]),
  ),
};
const itemsOf = ({ answers = {}, refusedAnswers = {} }: CourseTick) =>
  Object.values({ ...answers, ...refusedAnswers }).map((body) =>
    (body as { items: { value: unknown }[] | null }).items
  );
const valuesOf = (tick: CourseTick) => itemsOf(tick).flatMap((items) => (items ?? []).map(({ value }) => `${value}`));
const ticks: Readonly<Record<string, (tick: CourseTick) => boolean>> = {
  "another status": ({ status }) => status !== undefined,
  "a refused write": ({ refused }) => refused === true,
  "a changed spec": ({ spec }) => spec !== undefined,
  "others' writes": ({ replicas }) => replicas !== undefined,
  "no pods": ({ pods }) => pods.length === 0,
  "a failing metric": ({ usage }) => Object.keys(usage).length < 5,
  "a sum beyond doubles": ({ usage }) =>
    Object.values(usage["memory"] ?? {}).reduce((sum, { value }) => sum + value, 0) > Number.MAX_SAFE_INTEGER,
  "an answer without items": (tick) => itemsOf(tick).some((items) => items?.length === 0),
  "an answer without a list": (tick) => itemsOf(tick).includes(null),
  "an answer with many items": (tick) => itemsOf(tick).some((items) => items?.length === 30),
  "an answer that the contract refuses": ({ refusedAnswers }) => refusedAnswers !== undefined,
  "an answer with a negative value": (tick) => valuesOf(tick).some((value) => value.startsWith("-")),
  "a value of no number": (tick) => valuesOf(tick).includes("NaN"),
  "a value in millionths": (tick) => valuesOf(tick).some((value) => value.endsWith("u")),
  "a value beyond doubles": (tick) => valuesOf(tick).some((value) => /^[0-9]{17,}m$/.test(value)),
  "a value that is a JSON number": (tick) =>
    itemsOf(tick).some((items) => items?.some(({ value }) => typeof value === "number")),
  "a question with a selector": ({ answers = {} }) => Object.keys(answers).some((one) => one.includes("notin")),
  "a negative value": ({ external }) => Object.values(external).flat().some((value) => value < 0),
};
const pods: Readonly<Record<string, (pod: CoursePod, at: number) => boolean>> = {
  "a pending pod": ({ phase }) => phase === "Pending",
  "a failed pod": ({ phase }) => phase === "Failed",
  "a succeeded pod": ({ phase }) => phase === "Succeeded",
  "a deleting pod": ({ deleting }) => deleting === true,
  "a pod without start": ({ start }) => start === undefined,
  "a start of exactly 300 s ago": ({ start }, at) => start === at - 300_000,
  "a transition exactly 30 s after the start": ({ start, readyAt }) =>
    start !== undefined && readyAt === start + 30_000,
  "an unknown readiness": ({ ready }) => ready === "Unknown",
  "no readiness": ({ ready }) => ready === undefined,
  "a sidecar": ({ init }) => init?.some(({ restartPolicy }) => restartPolicy === "Always") === true,
  "a plain init container": ({ init }) => init?.some(({ restartPolicy }) => restartPolicy === undefined) === true,
  "pod-level requests": ({ resources }) => resources !== undefined,
  "overhead": ({ overhead }) => overhead !== undefined,
  "a request of 0": ({ containers }) => containers.some(({ resources }) => resources.requests["cpu"] === "0m"),
  "a container without request": ({ containers }) => containers.some(({ resources }) => !resources.requests["cpu"]),
};

Deno.test("generateCourse() meets everything that the oracle is to be asked", () => {
  const missed = [
    ...Object.entries(courses).filter(([, is]) => !COURSES.some(is)),
    ...Object.entries(ticks).filter(([, is]) => !TICKS.some(is)),
    ...Object.entries(pods).filter(([, is]) => !TICKS.some((tick) => tick.pods.some((pod) => is(pod, tick.at)))),
  ];
  assertEquals(missed.map(([what]) => what), []);
  assert(TICKS.length > 1000);
});

Deno.test("listLines() gives whole lines, however the text is cut up", async () => {
  const parts = ["a", "b\nc", "\n\nd\n", "e"].map((part) => new TextEncoder().encode(part));
  assertEquals(await Array.fromAsync(readLines(ReadableStream.from(parts))), ["ab", "c", "", "d", "e"]);
});
