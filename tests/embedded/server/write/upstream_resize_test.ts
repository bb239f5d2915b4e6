/**
 * The tables of Kubernetes' own tests of resizes, as inputs and outcomes, against the embedded API server.
 * From k8s.io/kubernetes v1.36.3 (Apache-2.0): TestValidatePodResize of pkg/apis/core/validation/validation_test.go,
 * the patch errors of test/e2e/common/node/pod_resize.go, the quotas and limit ranges of test/e2e/node/pod_resize.go.
 */
import { assert, assertEquals } from "#assert";
import { validateResize } from "../../../../lib/embedded/server/kinds/pods.ts";
import type { Json } from "../../../support/api_objects.ts";
import { type Answer, SimServer } from "../../../support/sim_server.ts";

/** A case of TestValidatePodResize. The problems are those that the function of 1.36.3 returned. */
interface Validated {
  readonly name: string;
  readonly old: Json;
  readonly new: Json;
  readonly problems: readonly Json[];
}

const { cases: VALIDATED, base: BASE } = JSON.parse(
  await Deno.readTextFile(new URL("../../../testdata/validate_pod_resize.json", import.meta.url)),
) as { readonly cases: readonly Validated[]; readonly base: { readonly container: Json; readonly spec: Json } };

/** A pod of the table, with what all of its pods have. */
function toPod({ spec, ...pod }: Json): Json {
  const lists = ["containers", "initContainers"].flatMap((list) =>
    spec[list] === undefined ? [] : [[list, spec[list].map((one: Json) => ({ ...BASE.container, ...one }))]]
  );
  return { ...pod, spec: { ...BASE.spec, ...spec, ...Object.fromEntries(lists) } };
}

Deno.test("the table of TestValidatePodResize has its 68 cases, of which 35 are refused", () => {
  assertEquals(VALIDATED.length, 68);
  assertEquals(VALIDATED.filter(({ problems }) => problems.length > 0).length, 35);
});

for (const [index, { name, old, new: sent, problems }] of VALIDATED.entries()) {
  Deno.test(`validateResize() finds what ValidatePodResize finds: ${index + 1}, ${name}`, () => {
    assertEquals(validateResize(toPod(sent), toPod(old)), problems);
  });
}

/** CPU request and limit, memory request and limit, request of disk; "" = none. */
type Sizes = readonly [cpu: string, cpuLimit: string, memory: string, memoryLimit: string, disk?: string];

function toResources([cpu, cpuLimit, memory, memoryLimit, disk = ""]: Sizes): Json {
  const pick = (list: Json) => Object.fromEntries(Object.entries(list).filter(([, amount]) => amount !== ""));
  return {
    requests: pick({ cpu, memory, "ephemeral-storage": disk }),
    limits: pick({ cpu: cpuLimit, memory: memoryLimit }),
  };
}

/** Two pods "a" and "b" of these containers, of which the first is resized. */
async function start(containers: Readonly<Record<string, Sizes>>, ...more: readonly [path: string, object: Json][]) {
  const sim = new SimServer();
  await sim.createNamespace("up");
  for (const [path, object] of more) await sim.create(`/api/v1/namespaces/up/${path}`, object);
  for (const name of ["a", "b"]) {
    const spec = {
      containers: Object.entries(containers).map(([name, sizes]) => ({
        name,
        image: "localhost/load:1",
        resources: toResources(sizes),
      })),
    };
    await sim.create("/api/v1/namespaces/up/pods", { metadata: { name }, spec });
  }
  return sim;
}

/** As `MakeResizePatch` makes it: a strategic merge patch with the order of the containers and the changed amounts. */
function resize(sim: SimServer, spec: Json): Promise<Answer> {
  return sim.patch("/api/v1/namespaces/up/pods/a/resize", { spec });
}

/** The pod is as the resize left it; a refused one changed nothing. */
async function assertOutcome(
  sim: SimServer,
  spec: Json,
  { refused, sizes }: { readonly refused: readonly string[]; readonly sizes: readonly Sizes[] },
): Promise<void> {
  const before = await sim.get("/api/v1/namespaces/up/pods/a");
  const { code, body } = await resize(sim, spec);
  const after = await sim.get("/api/v1/namespaces/up/pods/a");
  if (refused.length > 0) {
    assert(code === 403 || code === 422, `${code}: ${body.message}`);
    for (const words of refused) assert(body.message.includes(words), body.message);
    assertEquals(after, before);
    return;
  }
  assertEquals(code, 200, body.message);
  assertEquals(
    after.spec.containers.map(({ resources }: Json) => resources),
    sizes.map(toResources),
  );
}

/** What is asked for "c1" of 300m and 300Mi, and the words of the refusal; none = it is taken. */
type Asked = Readonly<Record<string, readonly [cpu: string, memory: string, ...refused: string[]]>>;

const ORIGINAL: Sizes = ["300m", "300m", "300Mi", "300Mi"];

async function assertAsked(asked: Asked, path: string, object: Json): Promise<void> {
  for (const [sentence, [cpu, memory, ...refused]] of Object.entries(asked)) {
    const sim = await start({ c1: ORIGINAL }, [path, object]);
    const sizes: Sizes = [cpu, cpu, memory, memory];
    try {
      await assertOutcome(sim, {
        "$setElementOrder/containers": [{ name: "c1" }],
        containers: [{ name: "c1", resources: toResources(sizes) }],
      }, { refused, sizes: [sizes] });
    } catch (error) {
      throw new Error(`${sentence}: ${error}`, { cause: error });
    }
  }
}

const QUOTA = "exceeded quota: resize-resource-quota, requested:";

Deno.test("resizes against a quota of 800m and 800Mi, by two pods of 300m and 300Mi", async () => {
  await assertAsked(
    {
      "exceed maximum CPU": ["600m", "400Mi", `${QUOTA} cpu=300m, used: cpu=600m, limited: cpu=800m`],
      "exceed maximum Memory": ["250m", "750Mi", `${QUOTA} memory=450Mi, used: memory=600Mi, limited: memory=800Mi`],
      "exceed maximum CPU and Memory": [
        "600m",
        "750Mi",
        `${QUOTA} cpu=300m,memory=450Mi, used: cpu=600m,memory=600Mi, limited: cpu=800m,memory=800Mi`,
      ],
      "valid increase of CPU": ["350m", "300Mi"],
      "valid increase of Memory": ["350m", "350Mi"],
      "valid increase for both CPU and Memory": ["400m", "400Mi"],
    },
    "resourcequotas",
    { metadata: { name: "resize-resource-quota" }, spec: { hard: { cpu: "800m", memory: "800Mi" } } },
  );
});

Deno.test("resizes against a limit range of 50m to 500m and 50Mi to 500Mi", async () => {
  const [cpuOver, memoryOver] = [
    "maximum cpu usage per Container is 500m",
    "maximum memory usage per Container is 500Mi",
  ];
  const [cpuUnder, memoryUnder] = [
    "minimum cpu usage per Container is 50m",
    "minimum memory usage per Container is 50Mi",
  ];
  await assertAsked(
    {
      "exceed maximum CPU": ["600m", "250Mi", `forbidden: ${cpuOver}, but limit is 600m`],
      "exceed maximum Memory": ["250m", "750Mi", `forbidden: ${memoryOver}, but limit is 750Mi`],
      "exceed maximum Memory and CPU": [
        "600m",
        "600Mi",
        `${cpuOver}, but limit is 600m`,
        `${memoryOver}, but limit is 600Mi`,
      ],
      "request below min CPU": ["10m", "400Mi", `forbidden: ${cpuUnder}, but request is 10m`],
      "request below min Memory": ["250m", "10Mi", `forbidden: ${memoryUnder}, but request is 10Mi`],
      "request below min CPU and min Memory": [
        "10m",
        "10Mi",
        `${cpuUnder}, but request is 10m`,
        `${memoryUnder}, but request is 10Mi`,
      ],
      "valid increase of CPU": ["350m", "300Mi"],
      "valid increase of Memory": ["350m", "350Mi"],
      "valid increase of CPU and Memory": ["400m", "400Mi"],
      "valid decrease of Memory": ["400m", "350Mi"],
      "valid decrease of CPU": ["350m", "350Mi"],
      "valid decrease of CPU and Memory": ["250m", "250Mi"],
    },
    "limitranges",
    {
      metadata: { name: "resize-limit-ranger" },
      spec: {
        limits: [{
          type: "Container",
          max: { cpu: "500m", memory: "500Mi" },
          min: { cpu: "50m", memory: "50Mi" },
          default: { cpu: "100m", memory: "100Mi" },
          defaultRequest: { cpu: "50m", memory: "50Mi" },
        }],
      },
    },
  );
});

const NO_CHANGE_OF_QOS = "Pod QOS Class may not change as a result of resizing";
const NO_LIMIT_LESS = "resource limits cannot be removed";
const NO_REQUEST_LESS = "resource requests cannot be removed";
const SAME_ORDER = "spec.containers[0].name: Forbidden: containers may not be renamed or reordered on resize, " +
  "spec.containers[1].name: Forbidden: containers may not be renamed or reordered on resize";
const NONE: Sizes = ["", "", "", ""];
const CPU: Sizes = ["20m", "", "", ""];
const BURSTABLE: Sizes = ["20m", "35m", "35Mi", "50Mi"];
const GUARANTEED: Sizes = ["20m", "20m", "35Mi", "35Mi"];

function toC1(resources: Json): Json {
  return { "$setElementOrder/containers": [{ name: "c1" }], containers: [{ name: "c1", resources }] };
}

/** By the names of the entries: the containers before, the patch, and the words of the refusal. */
const PATCH_ERRORS: Readonly<Record<string, readonly [Readonly<Record<string, Sizes>>, Json, string]>> = {
  "BestEffort pod - request memory": [{ c1: NONE }, toC1({ requests: { memory: "35Mi" } }), NO_CHANGE_OF_QOS],
  "BestEffort pod - request cpu": [{ c1: NONE }, toC1({ requests: { cpu: "20m" } }), NO_CHANGE_OF_QOS],
  "Guaranteed pod - remove cpu & memory limits": [{ c1: GUARANTEED }, toC1({ limits: null }), NO_LIMIT_LESS],
  "Burstable pod - remove cpu & memory limits + increase requests": [
    { c1: BURSTABLE },
    toC1({ limits: null, requests: { cpu: "25m", memory: "40Mi" } }),
    NO_LIMIT_LESS,
  ],
  "Burstable pod - remove memory requests": [
    { c1: ["", "", "35Mi", ""] },
    toC1({ requests: null }),
    NO_REQUEST_LESS,
  ],
  "Burstable pod - remove cpu requests": [{ c1: CPU }, toC1({ requests: null }), NO_REQUEST_LESS],
  "Burstable pod - reorder containers": [
    { c1: CPU, c2: CPU },
    { "$setElementOrder/containers": [{ name: "c2" }, { name: "c1" }] },
    SAME_ORDER,
  ],
  "Guaranteed pod - rename containers": [
    { "c1-old": GUARANTEED, "c2-old": GUARANTEED },
    {
      "$setElementOrder/containers": [{ name: "c1-new" }, { name: "c2-new" }],
      containers: [
        { name: "c1-new", resources: toResources(GUARANTEED) },
        { name: "c2-new", resources: toResources(GUARANTEED) },
        { "$patch": "delete", name: "c1-old" },
        { "$patch": "delete", name: "c2-old" },
      ],
    },
    SAME_ORDER,
  ],
  "Burstable pod - set requests == limits": [
    { c1: BURSTABLE },
    toC1({ requests: { cpu: "35m", memory: "50Mi" } }),
    NO_CHANGE_OF_QOS,
  ],
  "Burstable pod - resize ephemeral storage": [
    { c1: ["20m", "", "35Mi", "", "1"] },
    toC1({ requests: { "ephemeral-storage": "3" } }),
    "only cpu and memory resources are mutable",
  ],
};

for (const [name, [containers, spec, refused]] of Object.entries(PATCH_ERRORS)) {
  Deno.test(`pods/resize refuses an invalid patch: ${name}`, async () => {
    await assertOutcome(await start(containers), spec, { refused: [refused], sizes: [] });
  });
}

Deno.test("a pod with limits of its own requests what its containers request, or else its limit", async () => {
  const sim = new SimServer();
  await sim.createNamespace("up");
  const create = (container: Json, own: Json) =>
    sim.call("POST", "/api/v1/namespaces/up/pods?dryRun=All", {
      metadata: { name: "a" },
      spec: { containers: [{ name: "c1", image: "x", resources: container }], resources: own },
    });
  const limits = { cpu: "2", memory: "1Gi" };
  const { body } = await create({ requests: { cpu: "10m" } }, { limits });
  assertEquals(body.spec.resources, { limits, requests: { cpu: "10m", memory: "1Gi" } });
  const { body: empty } = await create({ requests: { cpu: "10m" } }, {});
  assertEquals([empty.spec.resources, empty.status.qosClass], [{}, "Burstable"]);
  const refused: readonly (readonly [container: Json, own: Json, message: string])[] = [
    [
      { requests: { cpu: "20m" } },
      { requests: { cpu: "10m" } },
      'spec.resources.requests[cpu]: Invalid value: "10m": must be greater than or equal to aggregate container ' +
      "requests of 20m",
    ],
    [
      { requests: { cpu: "10m" }, limits: { cpu: "3" } },
      { limits: { cpu: "2" } },
      'spec.resources.containers[0][cpu].limits: Invalid value: "3": must be less than or equal to pod limits of 2',
    ],
    [
      {},
      { requests: { "ephemeral-storage": "1Gi" } },
      'spec.resources.requests[ephemeral-storage]: Unsupported value: "ephemeral-storage": supported values: "cpu", ' +
      '"hugepages-", "memory"',
    ],
  ];
  for (const [container, own, message] of refused) {
    assertEquals((await create(container, own)).body.message, `Pod "a" is invalid: ${message}`);
  }
});

Deno.test("a new init container must not restart on resize, but one of an older version may", async () => {
  const sim = new SimServer();
  await sim.createNamespace("up");
  const init = { name: "i", image: "x", resizePolicy: [{ resourceName: "cpu", restartPolicy: "RestartContainer" }] };
  const spec = { containers: [{ name: "c1", image: "x" }], initContainers: [init] };
  const { body } = await sim.call("POST", "/api/v1/namespaces/up/pods", { metadata: { name: "a" }, spec });
  assertEquals(
    body.message,
    'Pod "a" is invalid: spec.initContainers[0].resizePolicy[0].restartPolicy: Invalid value: "RestartContainer": must ' +
      "not be set to 'RestartContainer' for non-sidecar initContainers",
  );
  assertEquals(validateResize(toPod({ spec }), toPod({ spec })), []);
});

Deno.test("a container with claims is not resized, because the server compares without the claims that were sent", () => {
  const toClaiming = (cpu: string) =>
    toPod({ spec: { containers: [{ name: "c1", resources: { requests: { cpu }, claims: [{ name: "gpu" }] } }] } });
  const problem = {
    field: "spec",
    reason: "FieldValueForbidden",
    message: "Forbidden: only cpu and memory resources are mutable",
  };
  assertEquals(validateResize(toClaiming("20m"), toClaiming("10m")), [problem]);
});
