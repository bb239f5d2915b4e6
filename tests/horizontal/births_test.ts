/** With which requests was a pod created, when it has been resized since (R82)? */
import { assert, assertEquals } from "#assert";
import {
  createFindInitialRequest,
  type InitialResources,
  needsTemplate,
  nextInitialResources,
} from "../../lib/horizontal/initial_requests.ts";
import { container, MI, pod, resizeEntry, resources, SIZE, START } from "../support/builders.ts";
import { NO_BIRTHS, sizeOf } from "../support/workload_pods.ts";

/** Resized by podfit from 100m to 300m of CPU. */
const RESIZED = pod({
  name: "web-2",
  containers: [container({ spec: { ...SIZE, "cpu.requests": 300 } })],
  resizes: [resizeEntry("podfit.main", START, { main: ["cpu.requests"] })],
});

function readBorn(births: Partial<InitialResources>, others: readonly (typeof RESIZED)[] = []): number | null {
  const own = { pod: RESIZED, initialResources: { ...NO_BIRTHS, ...births } };
  const all = [own, ...others.map((one) => ({ pod: one, initialResources: NO_BIRTHS }))];
  return createFindInitialRequest(all, "cpu")(own, "main");
}

function asking(millicores: number | null, name = "main") {
  return pod({ containers: [container({ name, spec: { ...SIZE, "cpu.requests": millicores } })] });
}

Deno.test("born is the spec's request until somebody has resized it in place, whatever else is known (R82)", () => {
  const births = { recorded: sizeOf(7), revision: sizeOf(8), template: sizeOf(9) };
  const born = createFindInitialRequest([], "cpu");
  assertEquals(born({ pod: pod(), initialResources: births }, "main"), 100);
  const memoryOnly = pod({ resizes: [resizeEntry("podfit.main", START, { main: ["memory.requests", "cpu.limits"] })] });
  assertEquals(born({ pod: memoryOnly, initialResources: births }, "main"), 100, "another side was resized");
  const beside = pod({ resizes: [resizeEntry("podfit.side", START, { side: ["cpu.requests"] })] });
  assertEquals(born({ pod: beside, initialResources: births }, "main"), 100, "another container was resized");
  const byHand = pod({ resizes: [resizeEntry("kubectl-edit", START, { main: ["cpu.requests"] })] });
  assertEquals(born({ pod: byHand, initialResources: births }, "main"), 7, "by whomever");
});

Deno.test("born of a resized pod is podfit's record, its own revision's template, the workload's, then the median of siblings (R82)", () => {
  const [recorded, revision, template] = [sizeOf(7), sizeOf(8), sizeOf(9)];
  const siblings = [asking(40), asking(20), asking(10), asking(30)];
  assertEquals(readBorn({ recorded, revision, template }, siblings), 7);
  assertEquals(readBorn({ revision, template }, siblings), 8);
  assertEquals(readBorn({ template }, siblings), 9);
  assertEquals(readBorn({}, siblings), 20);
  assertEquals(readBorn({ recorded: {}, revision: sizeOf(null), template }), 9, "what a template has not is not in it");
  assertEquals(
    readBorn({ recorded: { constructor: resources() } }, [asking(null), asking(50, "other"), RESIZED]),
    null,
  );
});

Deno.test("nextInitialResources() keeps what a container asked for before its first resize, and follows what nobody has resized (R82)", () => {
  const first = nextInitialResources(null, pod());
  assertEquals(first, { main: SIZE });
  assert(nextInitialResources(first, pod({ resourceVersion: "200" })) === first);
  const second = nextInitialResources(first, RESIZED);
  assert(second === first, "the request before the resize stays");
  assertEquals(
    createFindInitialRequest([], "cpu")({ pod: RESIZED, initialResources: { ...NO_BIRTHS, recorded: second } }, "main"),
    100,
  );
});

Deno.test("nextInitialResources() makes nothing up of a pod that was resized before podfit saw it (R82)", () => {
  const record = nextInitialResources(null, RESIZED);
  assertEquals(record, { main: { ...SIZE, "cpu.requests": null } });
  const init = pod({
    containers: [container({ name: "init", kind: "init" }), container({ name: "side", kind: "sidecar" })],
  });
  assertEquals(Object.keys(nextInitialResources(null, init)), ["side"]);
});

Deno.test("needsTemplate() asks for templates only where a resized request is in no record (R82)", () => {
  assertEquals(needsTemplate(pod(), null), false);
  assertEquals(needsTemplate(RESIZED, null), true);
  assertEquals(needsTemplate(RESIZED, sizeOf(100)), false);
  assertEquals(needsTemplate(RESIZED, sizeOf(null, 128 * MI)), true);
  const limitsOnly = pod({ resizes: [resizeEntry("podfit.main", START, { main: ["cpu.limits"] })] });
  assertEquals(needsTemplate(limitsOnly, null), false);
  const two = pod({ containers: [container(), container({ name: "side" })], resizes: RESIZED.resizes });
  assertEquals(needsTemplate(two, null), true, "one container of two was resized");
});
