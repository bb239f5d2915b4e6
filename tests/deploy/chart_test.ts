/** What does the chart make of each value that it can be given? Ignored where helm is not built. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "#assert";
import { parse } from "../../lib/runtime/yaml.ts";
import project from "../../deno.json" with { type: "json" };
import { CHART, parseObjects, type Rendered, renderText, runHelm, type Values } from "../../tools/helm.ts";
import { ENVIRONMENT } from "../../tools/image/facts.ts";
import { listFlips, readLeaves } from "../support/chart_flips.ts";
import { renderFew } from "../support/chart_renders.ts";
import { chartTest } from "../support/needs_helm.ts";
import { listSchemaFaults } from "../support/object_schemas.ts";
import { listFaults } from "../support/rendered_faults.ts";

const LEAVES = await readLeaves();
const FLIPS = listFlips(LEAVES);
const MODES = ["central", "node-local", "sidecar"] as const;
/** Values that contradict a mode, and what the chart then says. */
const CONTRADICTIONS =
  /(statsSource: \S+ (reads the files of one node|needs rights to nodes)|kubelet\.\* says how|scaledObjects\.enabled needs)/;

chartTest("the chart has the version of deno.json, as chart and as what it installs", async () => {
  const { version, appVersion } = parse(await Deno.readTextFile(`${CHART}/Chart.yaml`)) as Record<string, unknown>;
  assertEquals([version, appVersion], [project.version, project.version]);
});

Deno.test("Artifact Hub gets each definition with its name and version, and an example that fits its schema", async () => {
  const { annotations } = parse(await Deno.readTextFile(`${CHART}/Chart.yaml`)) as Record<
    string,
    Record<string, string>
  >;
  const listed = parse(annotations?.["artifacthub.io/crds"] ?? "") as readonly Record<string, string>[];
  const files = ["podresourceautoscaler", "scaledobject", "triggerauthentication", "clustertriggerauthentication"];
  const definitions = await Promise.all(
    // deno-lint-ignore no-explicit-any -- definitions are objects of any kind
    files.map(async (name) => parse(await Deno.readTextFile(`${CHART}/files/${name}.yaml`)) as any),
  );
  assertEquals(
    listed.map(({ kind, name, version }) => ({ kind, name, version })),
    definitions.map(({ metadata, spec }) => ({
      kind: spec.names.kind,
      name: metadata.name,
      version: spec.versions[0].name,
    })),
  );
  const examples = parse(annotations?.["artifacthub.io/crdsExamples"] ?? "") as readonly Rendered[];
  assertEquals(examples.flatMap(listSchemaFaults), []);
  assert(examples.length > 0);
});

chartTest("the chart gives V8 the flags of the image, and a heap that fits into the limit of memory", async () => {
  const read = async (values: Values = {}) =>
    /name: DENO_V8_FLAGS\n\s+value: "(\S+)"/.exec(await renderText({ values }))?.[1];
  const limited = (memory: string) => read({ resources: { limits: { memory } } });
  assertEquals(await read(), `${ENVIRONMENT.DENO_V8_FLAGS},--max-old-space-size=145`);
  assertEquals(await limited("1Gi"), `${ENVIRONMENT.DENO_V8_FLAGS},--max-old-space-size=583`);
  for (const other of ["128Mi", "500M", "268435456"]) assertEquals(await limited(other), undefined, other);
});

chartTest("helm lint --strict has nothing to say about any mode", async () => {
  for (const mode of MODES) {
    const { code, stdout, stderr } = await runHelm(["lint", "--strict", CHART], { mode });
    assertEquals([code, /\[(WARNING|ERROR)\].*/.exec(stdout + stderr)?.[0]], [0, undefined], mode);
  }
});

chartTest(
  "every value stands in values.yaml with its name, can be flipped, and says in the schema what it is for",
  async () => {
    const text = await Deno.readTextFile(`${CHART}/values.yaml`);
    const names = (path: string) => path.split(".").at(-1) ?? "";
    assertEquals(LEAVES.filter(({ path }) => !new RegExp(`\\b${names(path)}:`).test(text)), []);
    assertEquals(LEAVES.filter(({ path }) => !FLIPS.some((flip) => flip.path === path)), []);
    assertEquals(LEAVES.filter(({ schema }) => (schema.description ?? "") === ""), []);
    assert(LEAVES.length > 80, String(LEAVES.length));
  },
);

chartTest("each value by itself changes what is rendered, and what is rendered is sound", async () => {
  const render = renderFew();
  const faults = await Promise.all(FLIPS.map(async ({ name, beside, values }) => {
    const [before, after] = await Promise.all([render(beside), render(values)]);
    const dead = before === after ? [`${name} changes nothing`] : [];
    return [...dead, ...listTextFaults(after).map((fault) => `${name}: ${fault}`)];
  }));
  assertEquals(faults.flat(), []);
});

chartTest(
  "each value in mode node-local renders something sound, or is refused for contradicting the mode",
  async () => {
    const render = renderFew();
    const faults = await Promise.all(
      FLIPS.filter(({ path }) => path !== "mode").map(async ({ name, values }) => {
        const said = await render({ ...values, mode: "node-local" }).then(listTextFaults, (error) => [String(error)]);
        return said.filter((fault) => !CONTRADICTIONS.test(fault)).map((fault) => `${name}: ${fault}`);
      }),
    );
    assertEquals(faults.flat(), []);
  },
);

function listTextFaults(text: string): readonly string[] {
  return listFaults(parseObjects(text));
}

chartTest("a name of its own is in every name but those that podfit looks for", async () => {
  for (const mode of MODES) {
    const values = { mode, kubelet: {}, sidecar: { serviceAccounts: [{ namespace: "shop", name: "web" }] } };
    const objects = parseObjects(await renderText({ name: "blue", namespace: "tools", values }));
    const foreign = objects.filter(({ metadata: { name } }) => !name.startsWith("blue-podfit"));
    const known = [
      "CustomResourceDefinition podresourceautoscalers.keda.kedify.io",
      "ServiceAccount podfit-kubelet",
    ];
    assertEquals(
      foreign.map(({ kind, metadata: { name } }) => `${kind} ${name}`).filter((one) => !known.includes(one)),
      [],
    );
    assertEquals(listFaults(objects, "tools"), []);
  }
});

chartTest("a name that YAML would read as a number or as a truth is still a name", async () => {
  for (const odd of ["777", "1e3", "null", "true"]) {
    const own = { name: odd, key: odd };
    const common = {
      fullnameOverride: odd,
      serviceAccount: { name: odd },
      priorityClassName: odd,
      watchNamespaces: [odd],
      excludeNamespaces: ["kube-system"],
      metrics: { auth: true, tls: { secretName: odd } },
      podMonitor: { enabled: true, tokenSecret: own },
      serviceMonitor: { enabled: true },
      prometheusRule: { enabled: true },
      networkPolicy: { enabled: true },
      namespace: { create: true },
      sample: { enabled: true },
    };
    const cases: readonly Values[] = [
      { ...common, kubelet: { ca: { configMap: own } }, scaledObjects: { enabled: true, secretNamespaces: [odd] } },
      { ...common, kubelet: { ca: { secret: own } }, nameOverride: odd, priorityClassName: "system-node-critical" },
      { ...common, mode: "node-local" },
      { mode: "sidecar", nameOverride: odd, sidecar: { serviceAccounts: [{ namespace: odd, name: odd }] } },
    ];
    for (const values of cases) {
      const objects = parseObjects(await renderText({ name: odd, namespace: odd, values }));
      assertEquals(listFaults(objects, odd), [], `${odd} ${JSON.stringify(values)}`);
      const monitors = objects.filter(({ apiVersion }) => apiVersion.startsWith("monitoring.coreos.com/"));
      // No schema of these is at hand.
      for (const monitor of monitors) assertEquals(listOdd(monitor), [], odd);
    }
  }
});

/** Names and keys that are not texts. */
function listOdd(value: unknown): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, one]) =>
    /^(name|namespace|key)$/i.test(key) && typeof one !== "string" && typeof one !== "object" ? [key] : listOdd(one)
  );
}

chartTest(
  "a misspelt value, one of the wrong kind and one that is none are refused, and which it is is said",
  async () => {
    const cases: readonly (readonly [Values, string])[] = [
      [{ replicaz: 3 }, "additional properties 'replicaz' not allowed"],
      [{ image: { tagg: "1" } }, "at '/image': additional properties 'tagg' not allowed"],
      [{ agent: { orgId: "x" } }, "at '/agent': additional properties 'orgId' not allowed"],
      [{ mode: "centrall" }, "at '/mode': value must be one of 'central', 'node-local', 'sidecar'"],
      [{ replicas: "two" }, "at '/replicas': got string, want integer"],
      [{ limits: { maxCpu: "many" } }, "at '/limits/maxCpu': 'many' does not match pattern"],
      [{ watchNamespaces: ["A_b"] }, "at '/watchNamespaces/0': 'A_b' does not match pattern"],
      [
        { kubelet: { preferredAddressTypes: ["Podname"] } },
        "at '/kubelet/preferredAddressTypes/0': value must be one of",
      ],
      [
        { sidecar: { serviceAccounts: [{ name: "a" }] } },
        "at '/sidecar/serviceAccounts/0': missing property 'namespace'",
      ],
    ];
    for (const [values, why] of cases) assertStringIncludes(await refuse(values), why);
    // What else a parent chart gives to all of its charts is none of podfit's business.
    await renderText({ values: { global: { registry: "x" } } });
  },
);

chartTest("values that contradict each other are refused, with what to change", async () => {
  const cases: readonly (readonly [Values, RegExp])[] = [
    [{ statsSource: "cgroup" }, /statsSource: cgroup .* set mode: node-local/],
    [
      { mode: "sidecar", statsSource: "kubelet" },
      /statsSource: kubelet needs rights to nodes.*: set statsSource: metrics-api/,
    ],
    [{ leaderElection: { enabled: false } }, /replicas above 1 .*: set replicas: 1/],
    [
      { kubelet: { ca: { inline: PEM }, insecureTls: true } },
      /kubelet\.insecureTls accepts any: leave one of them out/,
    ],
    [{ kubelet: { ca: { inline: PEM, secret: { name: "a" } } } }, /kubelet\.ca has more than one .*: give one/],
    [{ mode: "node-local", kubelet: { insecureTls: true } }, /statsSource: cgroup asks none: leave it out/],
    [
      { mode: "node-local", scaledObjects: { enabled: true } },
      /mode: node-local manages only a part of them: set mode: ce/,
    ],
    [{ mode: "sidecar", scaledObjects: { enabled: true } }, /scaledObjects\.enabled needs all pods of a workload/],
    [{ mode: "sidecar", sample: { enabled: true } }, /sample\.enabled needs a podfit that runs/],
    ...[{ watchNamespaces: ["shop"] }, { excludeNamespaces: ["default"] }].map((values) =>
      [{ ...values, sample: { enabled: true } }, /in namespace default, which podfit does not manage/] as const
    ),
    [{ serviceAccount: { create: false } }, /serviceAccount\.create: false needs serviceAccount\.name/],
    [{ metrics: { auth: true }, podMonitor: { enabled: true } }, /needs podMonitor\.tokenSecret\.name/],
  ];
  for (const [values, why] of cases) assertMatch(await refuse(values), why);
});

chartTest("the policy of each mode has the excluded namespaces of the values (C54, L56)", async () => {
  for (const mode of MODES) {
    const objects = parseObjects(await renderText({ values: { mode, excludeNamespaces: ["ingress"] } }));
    const { variables } = objects.find(({ kind }) => kind === "ValidatingAdmissionPolicy")?.["spec"];
    const { expression } = variables.find(({ name }: Rendered["metadata"]) => name === "isExcluded");
    assertStringIncludes(expression, 'request.namespace in ["ingress"]', mode);
  }
});

const PEM = "-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----";

chartTest("the definition is upgraded with the chart and survives it, unless told otherwise", async () => {
  const find = async (crds: Values) => {
    const objects = parseObjects(await renderText({ values: { crds } }));
    return objects.find(({ kind }) => kind === "CustomResourceDefinition");
  };
  const source = parse(await Deno.readTextFile(new URL("../../crds/podresourceautoscaler.yaml", import.meta.url)));
  const rendered = await find({});
  assertEquals(rendered?.metadata.annotations, { "helm.sh/resource-policy": "keep" });
  assertEquals(rendered?.["spec"], (source as Rendered)["spec"]);
  assertEquals((await find({ keep: false }))?.metadata.annotations, undefined);
  assertEquals(await find({ install: false }), undefined);
});

chartTest("the definitions of keda.sh come with replicas, unless KEDA's are there, and are ours (R1)", async () => {
  const list = async (values: Values) =>
    parseObjects(await renderText({ values })).filter(({ kind }) => kind === "CustomResourceDefinition");
  const names = async (values: Values) => (await list(values)).map(({ metadata }) => metadata.name).toSorted();
  const own = "podresourceautoscalers.keda.kedify.io";
  const keda = ["clustertriggerauthentications.keda.sh", "scaledobjects.keda.sh", "triggerauthentications.keda.sh"];
  assertEquals(await names({}), [own]);
  assertEquals(await names({ scaledObjects: { enabled: true } }), [keda[0], own, ...keda.slice(1)]);
  assertEquals(await names({ scaledObjects: { enabled: true, installDefinitions: false } }), [own]);
  assertEquals(await names({ scaledObjects: { enabled: true }, crds: { install: false } }), []);
  for (const definition of await list({ scaledObjects: { enabled: true } })) {
    const file = `${definition["spec"].names.singular}.yaml`;
    const source = parse(await Deno.readTextFile(new URL(`../../crds/${file}`, import.meta.url)));
    assertEquals(definition["spec"], (source as Rendered)["spec"]);
    assertEquals(definition.metadata.annotations?.["helm.sh/resource-policy"], "keep");
    assertEquals(definition.metadata.labels?.["app.kubernetes.io/name"], "podfit");
  }
});

chartTest("a place of credentials is a namespace, or a namespace with names of secrets, each once (R95)", async () => {
  const refused: readonly unknown[] = [
    "Shop",
    "*",
    { namespace: "shop" },
    { namespace: "shop", names: [] },
    { namespace: "shop", names: ["a/b"] },
    { namespace: "shop", names: ["a", "a"] },
    { namespace: "shop", names: ["a"], keys: ["b"] },
    { names: ["a"] },
    7,
  ];
  const render = (secretNamespaces: readonly unknown[]) =>
    renderText({ values: { scaledObjects: { enabled: true, secretNamespaces } } }).then(() => "", String);
  for (const one of refused) assertMatch(await render([one]), /secretNamespaces/, JSON.stringify(one));
  assertStringIncludes(
    await render(["shop", { namespace: "shop", names: ["a"] }]),
    'scaledObjects.secretNamespaces names namespace "shop" twice: put its names into one entry',
  );
});

chartTest("what triggers ask is let through, with the look-up of its name", async () => {
  const egress = async (networkPolicy: Values) => {
    const objects = parseObjects(await renderText({ values: { networkPolicy: { enabled: true, ...networkPolicy } } }));
    return objects.find(({ kind }) => kind === "NetworkPolicy")?.["spec"].egress;
  };
  const rule = { to: [{ namespaceSelector: {} }], ports: [{ port: 9090 }] };
  const dns = { ports: [{ protocol: "UDP", port: 53 }, { protocol: "TCP", port: 53 }] };
  assertEquals(await egress({ triggerEgress: [rule] }), [...await egress({}), rule, dns]);
});

chartTest(
  "podfit may read external.metrics.k8s.io next to KEDA only, and installs no definitions there (M15)",
  async () => {
    const find = async (scaledObjects: Values) => {
      const objects = parseObjects(await renderText({ values: { scaledObjects } }));
      const rules = objects.filter(({ kind }) => kind === "ClusterRole").flatMap((role) => role["rules"]);
      return {
        metrics: rules.filter(({ apiGroups }) => apiGroups.includes("external.metrics.k8s.io")),
        objects: rules.find(({ resources }) => resources.includes("scaledobjects"))?.verbs,
        definitions: objects.filter(({ kind }) => kind === "CustomResourceDefinition").length,
      };
    };
    assertEquals(await find({}), { metrics: [], objects: undefined, definitions: 1 });
    assertEquals(await find({ enabled: true }), { metrics: [], objects: ["list", "watch", "patch"], definitions: 4 });
    assertEquals(await find({ mode: "selected" }), {
      metrics: [{ apiGroups: ["external.metrics.k8s.io"], resources: ["*"], verbs: ["get", "list"] }],
      objects: ["get", "list", "watch", "patch"],
      definitions: 1,
    });
  },
);

chartTest("records are served by default, and the network policy lets API servers to their port alone", async () => {
  const find = async (values: Values) => {
    const objects = parseObjects(await renderText({ values: { networkPolicy: { enabled: true }, ...values } }));
    const [{ ports, env, args }] = objects.find(({ kind }) => kind === "Deployment")?.["spec"].template.spec.containers;
    return {
      ports: ports.map((one: Rendered) => one["containerPort"]),
      uid: env.find(({ name }: Rendered["metadata"]) => name === "PODFIT_POD_UID")?.valueFrom.fieldRef.fieldPath,
      flag: args.find((arg: string) => arg.startsWith("--debug-listen=")),
      ingress: objects.find(({ kind }) => kind === "NetworkPolicy")?.["spec"].ingress,
      role: objects.find(({ kind, metadata }) => kind === "Role" && metadata.name === "podfit-records-reader")
        ?.["rules"],
    };
  };
  const port = (number: number) => [{ protocol: "TCP", port: number }];
  const metricsFrom = [{ namespaceSelector: {} }];
  const given = await find({ networkPolicy: { enabled: true, metricsFrom } });
  assertEquals([given.ports, given.uid, given.flag], [[8080, 8081], "metadata.uid", "--debug-listen=0.0.0.0:8081"]);
  assertEquals(given.ingress, [{ ports: port(8080), from: metricsFrom }, { ports: port(8081) }]);
  assertEquals(given.role, [
    { apiGroups: [""], resources: ["pods"], verbs: ["get", "list"] },
    { apiGroups: [""], resources: ["pods/proxy"], verbs: ["get"] },
    { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get"] },
  ]);
  const cidr = "10.0.0.0/8";
  const byCidr = await find({ networkPolicy: { enabled: true, apiServerCidrs: [cidr] } });
  assertEquals(byCidr.ingress[1], { ports: port(8081), from: [{ ipBlock: { cidr } }] });
  const recordsFrom = [{ ipBlock: { cidr: "10.0.0.1/32" } }];
  const named = await find({ networkPolicy: { enabled: true, apiServerCidrs: [cidr], recordsFrom } });
  assertEquals(named.ingress[1], { ports: port(8081), from: recordsFrom });
  const off = await find({ debug: { enabled: false } });
  assertEquals(off, {
    ports: [8080],
    uid: undefined,
    flag: undefined,
    ingress: [{ ports: port(8080) }],
    role: undefined,
  });
});

chartTest("the values of the Kedify agent's chart go before podfit's own", async () => {
  const on = { podResourceAutoscalersEnabled: true, praRequiresAnnotatedPods: true };
  const off = { podResourceAutoscalersEnabled: false, praRequiresAnnotatedPods: false };
  const cases: readonly (readonly [Values, Values])[] = [
    [{}, { PRA_ENABLED: "true" }],
    [{ enabled: false, requireAnnotation: true }, { PRA_ENABLED: "false", PRA_REQUIRES_ANNOTATED_PODS: "true" }],
    [{ agent: { features: off }, requireAnnotation: true }, { PRA_ENABLED: "false" }],
    [{ agent: { features: on }, enabled: false }, { PRA_ENABLED: "true", PRA_REQUIRES_ANNOTATED_PODS: "true" }],
    [{ agent: { features: off }, global: { features: on } }, {
      PRA_ENABLED: "true",
      PRA_REQUIRES_ANNOTATED_PODS: "true",
    }],
    [{ agent: { agentId: "a" }, agentId: "b" }, { PRA_ENABLED: "true", KEDIFY_AGENT_ID: "a" }],
  ];
  for (const [values, env] of cases) {
    const objects = parseObjects(await renderText({ values }));
    const [{ env: given }] = objects.find(({ kind }) => kind === "Deployment")?.["spec"].template.spec.containers;
    const written = given.filter(({ name, value }: { name: string; value?: string }) =>
      value !== undefined && name !== "DENO_V8_FLAGS"
    );
    const pairs = written.map(({ name, value }: { name: string; value: string }) => [name, value]);
    assertEquals(Object.fromEntries(pairs), env, JSON.stringify(values));
  }
});

chartTest("a Secret and a ConfigMap are mounted as folders, so that podfit sees what replaces them", async () => {
  const values = {
    metrics: { tls: { secretName: "cert" } },
    kubelet: { ca: { configMap: { name: "ca", key: "pem" } } },
  };
  const objects = parseObjects(await renderText({ values }));
  const { containers: [container], volumes } = objects.find(({ kind }) => kind === "Deployment")?.["spec"].template
    .spec;
  assertEquals(container.volumeMounts, [
    { name: "kubelet-ca", mountPath: "/etc/podfit/kubelet-ca", readOnly: true },
    { name: "tls", mountPath: "/etc/podfit/tls", readOnly: true },
  ]);
  assertEquals(volumes, [
    { name: "kubelet-ca", configMap: { name: "ca", items: [{ key: "pem", path: "ca.crt" }] } },
    { name: "tls", secret: { secretName: "cert", defaultMode: 0o440 } },
  ]);
  assertEquals([container.livenessProbe, container.readinessProbe].map(({ httpGet }) => httpGet.scheme), [
    "HTTPS",
    "HTTPS",
  ]);
});

chartTest("the notes of each mode begin with three commands, and name the label that a hostPath needs", async () => {
  for (const mode of MODES) {
    const { code, stdout } = await runHelm(
      ["install", "podfit", CHART, "--namespace", "podfit", "--dry-run=client", "--hide-notes=false"],
      { mode, crds: { install: false } },
    );
    assertEquals(code, 0);
    const notes = stdout.slice(stdout.indexOf("NOTES:"));
    assert((notes.match(/^ {2}kubectl /gm) ?? []).length >= 3, notes);
    assertEquals(notes.includes("pod-security.kubernetes.io/enforce=privileged"), mode === "node-local", mode);
  }
});

async function readNotes(values: Values): Promise<string> {
  const { code, stdout, stderr } = await runHelm(
    ["install", "podfit", CHART, "--namespace", "podfit", "--dry-run=client", "--hide-notes=false"],
    values,
  );
  assertEquals([code, code === 0 ? "" : stderr], [0, ""]);
  return stdout.slice(stdout.indexOf("NOTES:"));
}

chartTest(
  "the notes say how to uninstall with ScaledObjects: next to KEDA they are released, and never deleted",
  async () => {
    for (const mode of ["all", "selected", "off"]) {
      const notes = await readNotes({ scaledObjects: { mode }, crds: { install: false } });
      assertEquals(notes.includes("kubectl delete scaledobjects"), mode === "all", notes);
      assertEquals(notes.includes("podfit release --all-namespaces"), mode === "selected", notes);
    }
  },
);

chartTest("the notes say what to try next: the sample where it is installed, else how to install it", async () => {
  const without = await readNotes({});
  assertMatch(without, /^ {2}helm upgrade podfit CHART .* --set sample\.enabled=true$/m);
  const given = await readNotes({ sample: { enabled: true } });
  assert(!given.includes("sample.enabled=true"), given);
  assertMatch(given, /pods\/\$POD:8080\/proxy\/set\?cpu=300m"$/m);
  assertMatch(given, /kubectl get podresourceautoscaler podfit-sample --namespace podfit --watch$/m);
});

chartTest("the notes say that tokens of readers go in clear without a certificate", async () => {
  const isTold = async (metrics: Values) => (await readNotes({ metrics })).includes("send their tokens in clear");
  assertEquals(await isTold({ auth: true }), true);
  assertEquals(await isTold({ auth: true, tls: { secretName: "tls" } }), false);
  assertEquals(await isTold({ auth: false }), false);
});

chartTest("the notes say what False in METRICS means where podfit checks certificates of kubelets", async () => {
  const expected = {
    true: [{}, { mode: "node-local", statsSource: "kubelet" }, { statsSource: "auto" }],
    false: [
      { kubelet: { insecureTls: true } },
      { kubelet: { ca: { secret: { name: "ca" } } } },
      { statsSource: "metrics-api" },
      { mode: "node-local" },
      { mode: "sidecar" },
    ],
  };
  for (const [isTold, cases] of Object.entries(expected)) {
    for (const values of cases) {
      const notes = await readNotes(values);
      const found = /If the condition Metrics is False[^]*kind, k3d and kubeadm[^]*--set kubelet\.insecureTls=true$/m
        .test(notes);
      assertEquals(String(found), isTold, JSON.stringify(values));
    }
  }
});

chartTest(
  "the notes name every definition that an uninstall leaves, and how pods get back to their template",
  async () => {
    for (const scaledObjects of [{ enabled: false }, { enabled: true }, { enabled: true, installDefinitions: false }]) {
      for (const keep of [true, false]) {
        const values = { scaledObjects, crds: { keep } };
        const objects = parseObjects(await renderText({ values }));
        const kept = objects.filter(({ metadata }) => metadata.annotations?.["helm.sh/resource-policy"] === "keep");
        const notes = await readNotes(values);
        const named = [...notes.matchAll(/^ {2}kubectl delete crd (.*)$/gm)].flatMap(([, names = ""]) =>
          names.split(" ")
        );
        assertEquals(named.toSorted(), kept.map(({ metadata: { name } }) => name).toSorted(), JSON.stringify(values));
        assertEquals(notes.includes("kubectl delete scaledobjects"), scaledObjects.enabled);
        assertStringIncludes(notes, "helm uninstall podfit --namespace podfit --wait");
        assertMatch(notes, /kubectl rollout restart deployment\/NAME$/m);
        assertMatch(notes, /the Lease podfit, .*\n\n {2}kubectl delete namespace podfit$/m);
      }
    }
    assertStringIncludes(await readNotes({ mode: "sidecar" }), "leaves the Leases podfit-sidecar");
  },
);

chartTest(
  "the sample has podfit's image and an autoscaler, which a first install makes after the definition",
  async () => {
    const values = { sample: { enabled: true }, image: { repository: "registry.example/podfit", tag: "2" } };
    const objects = parseObjects(await renderText({ values }));
    const [workload, autoscaler] = ["Deployment", "PodResourceAutoscaler"].map((kind) =>
      objects.find((one) => one.kind === kind && one.metadata.name === "podfit-sample")
    );
    const { containers: [container] } = workload?.["spec"].template.spec;
    assertEquals(container.image, "registry.example/podfit:2");
    assertEquals(container.args[0], "sample");
    const annotated = parseObjects(await renderText({ values: { ...values, requireAnnotation: true } })).find((one) =>
      one.kind === "Deployment" && one.metadata.name === "podfit-sample"
    );
    assertEquals(annotated?.["spec"].template.metadata.annotations, { "pra.kedify.io/reconcile": "enabled" });
    const many = { limits: { maxAutoscalersPerNamespace: 1_000_000, maxScaledObjectsPerNamespace: 1_000_000 } };
    assertMatch(await renderText({ values: many }), /--max-autoscalers-per-namespace=1000000"?$/m);
    assertEquals(autoscaler?.["spec"].target, { kind: "deployment", name: "podfit-sample" });
    assertEquals(autoscaler?.metadata.annotations?.["helm.sh/hook"], "post-install,post-upgrade");
    // No pod of the sample is one of podfit's, for Services, budgets and policies.
    const own = objects.find((one) => one.kind === "Deployment" && one.metadata.name === "podfit");
    const { matchLabels } = own?.["spec"].selector;
    const labels = workload?.["spec"].template.metadata.labels;
    assert(Object.entries(matchLabels).some(([name, value]) => labels[name] !== value));
    const known = await renderText({ values, args: ["--api-versions", DEFINED] });
    const adopted = parseObjects(known).find(({ kind }) => kind === "PodResourceAutoscaler");
    assertEquals(adopted?.metadata.annotations, undefined);
  },
);

const DEFINED = "keda.kedify.io/v1alpha1/PodResourceAutoscaler";

chartTest(
  "the notes warn where readers of metrics send tokens in clear, and name the audience that limits the harm",
  async () => {
    for (const secretName of ["", "podfit-tls"]) {
      const { code, stdout } = await runHelm(
        ["install", "podfit", CHART, "--namespace", "podfit", "--dry-run=client", "--hide-notes=false"],
        { metrics: { auth: true, tls: { secretName } }, crds: { install: false } },
      );
      assertEquals(code, 0);
      const notes = stdout.slice(stdout.indexOf("NOTES:"));
      assertEquals(/WARNING: .* in clear[^]*--audience podfit/.test(notes), secretName === "", notes);
    }
  },
);

async function refuse(values: Values): Promise<string> {
  const { code, stderr } = await runHelm(["template", "podfit", CHART], values);
  assertEquals(code, 1, JSON.stringify(values));
  return stderr;
}
