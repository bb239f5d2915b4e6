/** Does lint find in ScaledObjects and in authentications what their parsers find, and on the right line? */
import { assert, assertEquals, assertStringIncludes } from "#assert";
import { stringify } from "yaml";
import { lintManifests } from "../../../lib/cli/lint/lint_files.ts";
import { AUTHENTICATION, toAuthentication } from "../../support/authentications.ts";
import { BAD_SCALED_OBJECTS } from "../../support/bad_scaled_objects.ts";
import { GOOD_SCALED_OBJECTS } from "../../support/good_scaled_objects.ts";
import type { Json } from "../../support/api_objects.ts";
import { applyEdits, type Edits, QUICK_START } from "../../support/manifests.ts";
import { runPodfit } from "../../support/podfit_process.ts";
import { CPU, CRON, METRICS_API, toScaledObject } from "../../support/scaled_objects.ts";

Deno.test("lint names every problem of a ScaledObject on its line (R96, R3, R4)", () => {
  // An object of another kind is passed over.
  const known = BAD_SCALED_OBJECTS.filter(({ path }) => path !== "kind");
  for (const { sentence, manifest, path, message } of known) {
    const text = JSON.stringify(manifest, null, 1);
    const { findings } = lint(text);
    const errors = findings.filter(({ level }) => level === "error");
    assertEquals(errors.map((one) => one.path), [path], sentence);
    assert(message.endsWith("...") || errors[0]?.message === message, sentence);
    const key = path.replace(/\[\d+\]$/, "").split(/[.[]/).at(-1) ?? "";
    const line = text.split("\n")[(errors[0]?.place.line ?? 0) - 1] ?? "";
    const isMissing = (errors[0]?.message ?? "").startsWith("Missing") || !text.includes(`"${key}"`);
    assert(isMissing || line.includes(`"${key}"`) || path.endsWith("]"), `${sentence}: ${line}`);
    assertEquals(lint(stringify(manifest)).findings.length, findings.length, sentence);
  }
});

Deno.test("lint names a mistake in one trigger as an error on its line, next to one that is right (R96, R4)", () => {
  const bad = { ...METRICS_API, metadata: { ...METRICS_API.metadata, url: "invalid-invalid" } };
  const text = JSON.stringify(toScaledObject({ "spec.triggers": [CRON, bad] }), null, 1);
  const [finding, ...others] = lint(text).findings;
  assertEquals([finding?.level, finding?.path, others], ["error", "spec.triggers[1].metadata.url", []]);
  assertStringIncludes(text.split("\n")[(finding?.place.line ?? 0) - 1] ?? "", '"url": "invalid-invalid"');
});

Deno.test("lint finds no error in good ScaledObjects, in YAML and in JSON (R96)", () => {
  for (const { sentence, manifest } of GOOD_SCALED_OBJECTS) {
    for (const text of [stringify(manifest), JSON.stringify(manifest)]) {
      const { findings, checked, others } = lint(text);
      assertEquals(findings.filter(({ level }) => level === "error"), [], sentence);
      assertEquals([checked, others], [new Map([["scaled object" as const, 1]]), 0]);
    }
  }
});

Deno.test("lint warns of what has no effect in a ScaledObject (R96, R4)", () => {
  const { findings } = lint(stringify(toScaledObject({ "spec.paused": true })));
  assertEquals(findings.map(({ level, path, object }) => [level, path, object]), [[
    "warning",
    "spec.paused",
    "shop/web",
  ]]);
});

Deno.test("lint checks authentications of a namespace and of the cluster (R96, R16)", () => {
  for (const kind of ["TriggerAuthentication", "ClusterTriggerAuthentication"]) {
    const good = lint(stringify(toAuthentication({ kind })));
    assertEquals([good.findings, good.checked], [[], new Map([["trigger authentication" as const, 1]])]);
    const bad = lint(stringify(toAuthentication({ kind, "spec.hashiCorpVault": { address: "a" } })));
    assertEquals(bad.findings.map(({ level, path }) => [level, path]), [["error", "spec.hashiCorpVault"]]);
  }
});

Deno.test("lint knows objects of KEDA's group without kind, in lists and in another case, and passes over its other kinds (R96)", () => {
  const { kind: _, ...nameless } = toScaledObject({});
  assertEquals(lint(stringify(nameless)).findings.map(({ path, message }) => [path, message]), [
    ["kind", 'Missing field "kind": must be ScaledObject'],
  ]);
  assertEquals(lint(stringify(toScaledObject({ "kind": "scaledObject" }))).findings.map(({ path }) => path), ["kind"]);
  const { apiVersion: _version, kind: _kind, ...item } = toScaledObject({});
  const list = lint(stringify({ apiVersion: "keda.sh/v1alpha1", kind: "ScaledObjectList", items: [item] }));
  assertEquals([list.findings, list.checked], [[], new Map([["scaled object" as const, 1]])]);
  const source = lint(stringify(toScaledObject({ "kind": "CloudEventSource" })));
  assertEquals([source.findings, source.checked.size, source.others], [[], 0, 1]);
});

Deno.test("lint says of a ScaledJob that podfit ignores it, and what to do (R96)", () => {
  const { findings, checked } = lint(stringify(toScaledObject({ "kind": "ScaledJob" })));
  assertEquals(findings.map(({ level, path }) => [level, path]), [["warning", "kind"]]);
  assertStringIncludes(findings[0]?.message ?? "", "keep KEDA for it, next to podfit");
  assertEquals(checked, new Map([["scaled job" as const, 1]]));
});

Deno.test("lint takes objects of one name and of several kinds for several, and warns of two of one kind (R96)", () => {
  const scaled = stringify(toScaledObject({}));
  const twin = stringify(toAuthentication({ "metadata": { name: "web", namespace: "shop" } }));
  assertEquals(lint([scaled, twin].join("---\n")).findings, []);
  assertEquals(lint([scaled, scaled].join("---\n")).findings.map(({ path, level }) => [level, path]), [
    ["warning", "metadata.name"],
  ]);
});

Deno.test("lint warns of a trigger whose pods an autoscaler gives no maximum, so that pods are added first (R82, R96)", () => {
  const profile = { profile: "balanced" };
  const policy = {
    policy: {
      ...{ pollInterval: "10s", consecutiveSamples: 3, cooldown: "30s" },
      cpu: { requests: { scaleUpThreshold: 80, scaleDownThreshold: 50, targetUtilization: 70 } },
    },
  };
  const bounds = { bounds: { cpu: { requests: { max: "2" } } } };
  const [requests, limits] = [{ cpu: "1" }, { cpu: "2" }];
  const range = {
    apiVersion: "v1",
    kind: "LimitRange",
    metadata: { name: "defaults", namespace: "shop" },
    spec: { limits: [{ type: "Container", default: { cpu: "2" }, defaultRequest: { cpu: "1" } }] },
  };
  const cases: readonly (readonly [
    sentence: string,
    resources: Json,
    autoscaler: Json,
    trigger: Edits,
    warns: boolean,
    ranges?: readonly Json[],
  ])[] = [
    ["a profile, which changes the limit", { requests, limits }, profile, {}, true],
    ["no limit", { requests }, policy, {}, true],
    [
      "no limit, and bounds of the limit alone",
      { requests },
      {
        ...profile,
        bounds: { cpu: { limits: { max: "2" } } },
      },
      {},
      true,
    ],
    ["a maximum", { requests }, { ...profile, ...bounds }, {}, false],
    [
      "a maximum of the limit",
      { requests, limits },
      {
        ...profile,
        bounds: { cpu: { limits: { max: "2" } } },
      },
      {},
      false,
    ],
    ["a limit that nothing changes", { requests, limits }, policy, {}, false],
    ["such a limit of a LimitRange", {}, policy, {}, false, [range]],
    ["a baseline", { requests }, profile, { "metadata.baseline": "initial" }, false],
    ["an amount", { requests }, profile, { "metricType": "AverageValue" }, false],
    [
      "another container",
      { requests },
      { ...profile, containerName: "log" },
      { "metadata.containerName": "app" },
      false,
    ],
    ["an autoscaler that recommends", { requests }, { ...profile, mode: "recommend" }, {}, false],
  ];
  for (const [sentence, resources, autoscaler, trigger, warns, ranges = []] of cases) {
    const containers = [{ name: "app", image: "a", resources }, {
      name: "log",
      image: "a",
      resources: { requests, limits: requests },
    }];
    const metadata = { name: "web", namespace: "shop" };
    const template = { metadata: { labels: { app: "web" } }, spec: { containers } };
    const objects = [
      {
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata,
        spec: { selector: { matchLabels: { app: "web" } }, template },
      },
      {
        ...{ apiVersion: "keda.kedify.io/v1alpha1", kind: "PodResourceAutoscaler", metadata },
        spec: { target: { kind: "deployment", name: "web" }, containerName: "app", ...autoscaler },
      },
      toScaledObject({ "spec.minReplicaCount": 1, "spec.triggers": [applyEdits(CPU, trigger)] }),
      ...ranges,
    ];
    const { findings } = lint(objects.map((one) => JSON.stringify(one)).join("\n---\n"));
    const found = findings.filter(({ rule }) => rule === "no-maximum");
    assertEquals(found.map(({ path }) => path), warns ? ["spec.triggers[0]"] : [], sentence);
    if (warns) assertStringIncludes(found[0]?.message ?? "", "set bounds.cpu.requests.max");
  }
});

/** A deployment "web" with two containers, a ScaledObject with a cpu trigger, and autoscalers of a profile by name. */
function lintGrowth(
  { autoscalers, trigger = {}, podSpec = {} }: {
    readonly autoscalers: Readonly<Record<string, Json>>;
    readonly trigger?: Edits;
    readonly podSpec?: Json;
  },
) {
  const [labels, namespace] = [{ app: "web" }, "shop"];
  const resources = { requests: { cpu: "250m" }, limits: { cpu: "4" } };
  const containers = ["app", "log"].map((name) => ({ name, image: "a", resources }));
  const objects = [
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "web", namespace },
      spec: {
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers, ...podSpec } },
      },
    },
    ...Object.entries(autoscalers).map(([name, spec]) => ({
      apiVersion: "keda.kedify.io/v1alpha1",
      kind: "PodResourceAutoscaler",
      metadata: { name, namespace },
      spec: { target: { kind: "deployment", name: "web" }, profile: "balanced", ...spec },
    })),
    toScaledObject({ "spec.minReplicaCount": 1, "spec.triggers": [applyEdits(CPU, trigger)] }),
  ];
  return lint(objects.map((one) => JSON.stringify(one)).join("\n---\n")).findings
    .filter(({ rule }) => ["no-maximum", "few-replicas", "replicas-fight"].includes(rule))
    .map(({ rule, message }) => `${rule}: ${/autoscalers? "[^:]*?"(?= (?:has|lets?|moves)\b)/.exec(message)?.[0]}`);
}

Deno.test("lint takes the maximum of the autoscaler that owns each container, as the daemon does (C12, L50, R82, R96)", () => {
  const every = { containerName: "*" };
  const upTo = (containerName: string, max: string, others: Json = {}) => ({
    ...{ containerName, bounds: { cpu: { requests: { max } } } },
    ...others,
  });
  const ofApp = { "metadata.containerName": "app" };
  const cases: readonly (readonly [
    sentence: string,
    autoscalers: Readonly<Record<string, Json>>,
    trigger: Edits,
    found: readonly string[],
  ])[] = [
    ["the named one, whose name comes last", { all: every, one: upTo("app", "800m") }, ofApp, []],
    ["the named one, whose name comes first", { zero: every, one: upTo("app", "800m") }, ofApp, []],
    ["both, and the one for all others has no maximum", { all: every, one: upTo("app", "800m") }, {}, [
      'no-maximum: autoscaler "all"',
    ]],
    ["the one for all of a higher priority", { all: { ...every, priority: 5 }, one: upTo("app", "800m") }, ofApp, [
      'no-maximum: autoscaler "all"',
    ]],
    [
      "one that leaves the container out",
      { all: { ...every, excludeContainers: ["app"] }, one: upTo("app", "800m") },
      ofApp,
      [],
    ],
    ["the named one, which is wide", { all: upTo("*", "300m"), one: upTo("app", "3") }, ofApp, [
      'few-replicas: autoscaler "one"',
    ]],
    [
      "one for all, next to a wide one for another container",
      { all: upTo("*", "300m"), log: upTo("log", "3") },
      ofApp,
      [],
    ],
    ["both, of which one is wide", { all: upTo("*", "250m"), one: upTo("app", "3") }, {}, [
      'few-replicas: autoscaler "one"',
    ]],
    ["both, which are wide", { all: upTo("*", "3"), one: upTo("app", "3") }, {}, [
      'few-replicas: autoscalers "one" and "all"',
    ]],
  ];
  const bySelector = (app: string) => ({ target: undefined, selector: { matchLabels: { app } } });
  const selecting: typeof cases = [
    ["one that selects the pods", { web: { ...every, ...bySelector("web") } }, {}, ['no-maximum: autoscaler "web"']],
    ["one that selects other pods", { web: { ...every, ...bySelector("other") } }, {}, []],
    [
      "one with a maximum that selects the pods, before one without",
      { first: { ...upTo("app", "800m"), ...bySelector("web"), priority: 5 }, web: { containerName: "app" } },
      ofApp,
      [],
    ],
    [
      "one that selects the pods, where usage is compared with live requests",
      { web: { ...every, ...bySelector("web") } },
      { "metadata.baseline": "live" },
      ['replicas-fight: autoscaler "web"'],
    ],
  ];
  for (const [sentence, autoscalers, trigger, found] of [...cases, ...selecting]) {
    assertEquals(lintGrowth({ autoscalers, trigger }), found, sentence);
  }
  const excluding = { web: { ...every, excludeContainers: ["app"] } };
  const live = { ...ofApp, "metadata.baseline": "live" };
  assertEquals(
    lintGrowth({ autoscalers: excluding, trigger: live }),
    [],
    "an autoscaler of other containers fights nobody",
  );
});

Deno.test("lint warns of no missing maximum where the pod itself has the request that usage is compared with (R25, R82, R96)", () => {
  const cases: readonly (readonly [sentence: string, podSpec: Json, trigger: Edits, warns: boolean])[] = [
    ["a request of the pod", { resources: { requests: { cpu: "1" } } }, {}, false],
    ["a limit of the pod, which is its request too", { resources: { limits: { cpu: "4" } } }, {}, false],
    ["a request of the pod and containerName", { resources: { requests: { cpu: "1" } } }, {
      "metadata.containerName": "app",
    }, true],
    ["a request of the pod for memory alone", { resources: { requests: { memory: "1Gi" } } }, {}, true],
    [
      "a limit of the pod for memory, which makes a request for cpu",
      { resources: { limits: { memory: "1Gi" } } },
      {},
      false,
    ],
  ];
  for (const [sentence, podSpec, trigger, warns] of cases) {
    const found = lintGrowth({ autoscalers: { web: { containerName: "app" } }, trigger, podSpec });
    assertEquals(found, warns ? ['no-maximum: autoscaler "web"'] : [], sentence);
    const bounds = { cpu: { requests: { max: "3" } } };
    const wide = lintGrowth({ autoscalers: { web: { containerName: "app", bounds } }, trigger, podSpec });
    assertEquals(wide, warns ? ['few-replicas: autoscaler "web"'] : [], sentence);
    const live = { ...trigger, "metadata.baseline": "live" };
    const fight = lintGrowth({ autoscalers: { web: { containerName: "app" } }, trigger: live, podSpec });
    assertEquals(fight, warns ? ['replicas-fight: autoscaler "web"'] : [], sentence);
  }
});

Deno.test("lint finds the container without the request that Utilization is a share of (R25, R96)", () => {
  const app = { name: "app", image: "a" };
  const asking = { ...app, resources: { requests: { cpu: "1" } } };
  const range = (namespace: string) => ({
    apiVersion: "v1",
    kind: "LimitRange",
    metadata: { name: "defaults", namespace },
    spec: { limits: [{ type: "Container", defaultRequest: { cpu: "1" } }] },
  });
  const withRequests = (resources: unknown) => ({ containers: [app], resources });
  const bad = "container app";
  const cases:
    readonly (readonly [sentence: string, podSpec: unknown, trigger: Edits, lacking: string | null, range?: string])[] =
      [
        ["no request", { containers: [app] }, {}, bad],
        ["a request of 0", { containers: [{ ...app, resources: { requests: { cpu: "0" } } }] }, {}, bad],
        [
          "a request of the other resource",
          { containers: [{ ...app, resources: { requests: { memory: "1Mi" } } }] },
          {},
          bad,
        ],
        ["a request", { containers: [asking] }, {}, null],
        [
          "a limit, which is the request too",
          { containers: [{ ...app, resources: { limits: { cpu: "1" } } }] },
          {},
          null,
        ],
        ["a second container without", { containers: [asking, { ...app, name: "log" }] }, {}, "container log"],
        ["an init container without", { containers: [asking], initContainers: [{ ...app, name: "init" }] }, {}, null],
        [
          "a sidecar without",
          { containers: [asking], initContainers: [{ ...app, name: "mesh", restartPolicy: "Always" }] },
          ...[{}, "container mesh"] as const,
        ],
        ["another container without", { containers: [asking, { ...app, name: "log" }] }, {
          "metadata.containerName": "app",
        }, null],
        ["a request of the pod", withRequests({ requests: { cpu: "1" } }), {}, null],
        ["a limit of the pod", withRequests({ limits: { cpu: "1" } }), {}, null],
        ["a request of the pod and containerName", withRequests({ requests: { cpu: "1" } }), {
          "metadata.containerName": "app",
        }, bad],
        ["an amount", { containers: [app] }, { "metricType": "AverageValue" }, null],
        ["a baseline that is an amount", { containers: [app] }, { "metadata.baseline": "1" }, null],
        ["the baseline initial", { containers: [app] }, { "metadata.baseline": "initial" }, bad],
        ["a LimitRange with a default", { containers: [app] }, {}, null, "shop"],
        ["a LimitRange of another namespace", { containers: [app] }, {}, bad, "other"],
      ];
  for (const [sentence, podSpec, edits, lacking, namespace] of cases) {
    const labels = { app: "web" };
    const workload = {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "web", namespace: "shop" },
      spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: podSpec } },
    };
    const object = toScaledObject({ "spec.minReplicaCount": 1, "spec.triggers": [applyEdits(CPU, edits)] });
    const objects = [workload, object, ...(namespace === undefined ? [] : [range(namespace)])];
    const { findings } = lint(objects.map((one) => stringify(one)).join("---\n"));
    const shown = findings.map(({ level, rule, path, message }) =>
      `${level} ${rule} ${path} ${message.match(/but the (.*?) doesn't/)?.[1]}`
    );
    const expected = `warning request-missing spec.triggers[0] ${lacking}`;
    assertEquals(shown, lacking === null ? [] : [expected], sentence);
  }
});

Deno.test("podfit lint counts what it checked by kind, and ends with 0 where no autoscaler is (R96)", async () => {
  const scaled = stringify(toScaledObject({}));
  const other = stringify(toScaledObject({ "metadata.name": "two", "spec.scaleTargetRef.name": "two" }));
  const all = [QUICK_START, scaled, other, stringify(AUTHENTICATION)].join("---\n");
  const many = await lintText(all);
  assertEquals([many.code, many.complaints], [
    0,
    ["podfit: 1 autoscaler, 2 scaled objects, 1 trigger authentication: 0 errors, 1 warning"],
  ]);
  const one = await lintText(scaled);
  assertEquals([one.code, one.stdout, one.complaints], [0, "", ["podfit: 1 scaled object: 0 errors, 0 warnings"]]);
  const bad = await lintText(stringify(toScaledObject({ "spec.maxReplicaCount": 0 })));
  assertEquals(bad.code, 1);
  assertStringIncludes(bad.stdout, "error: shop/web: spec.maxReplicaCount: Cannot use 0 as maxReplicaCount");
});

function lint(text: string) {
  return lintManifests([{ name: "a.yaml", text }]);
}

function lintText(stdin: string) {
  return runPodfit({ args: ["lint", "-f", "-"], permissions: "lint", stdin });
}
