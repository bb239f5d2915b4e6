/** Which podfit is asked for the records of a pod, through the API server, and what people read where that fails. */
import { assertEquals, assertMatch, assertRejects } from "#assert";
import {
  askUntilAnswered,
  createDebugListener,
  DebugError,
  type DebugSource,
  fetchAll,
  fetchLatest,
} from "../../../lib/cli/connection/records.ts";
import { openPodfits, type PodfitQuery } from "../../../lib/cli/connection/podfits.ts";
import { explainFromSources } from "../../../lib/cli/explain/explain.ts";
import { isPodNameOf } from "../../../lib/cli/explanation/explain_workload.ts";
import { type RecordLine, toRecord } from "../../../lib/record/record.ts";
import type { Json } from "../../support/api_objects.ts";
import { START } from "../../support/builders.ts";
import { answerDebug, formatTestLine } from "../../support/debug_server.ts";
import { evaluation } from "../../support/evaluations.ts";

const ORIGIN = "https://cluster.example:6443";
const { signal } = new AbortController();
const DEBUG = "--debug-listen=0.0.0.0:8081";
const POD: Json = { metadata: { name: "web", namespace: "shop", labels: {} }, spec: { nodeName: "node-1" } };
const WANTED: PodfitQuery = { namespace: "shop", pod: "web", podfitNamespace: "podfit" };

interface PodfitFacts {
  readonly mode?: "central" | "node-local" | "sidecar";
  readonly node?: string;
  readonly args?: readonly string[];
  readonly ready?: boolean;
}

function podfit(
  name: string,
  { mode = "central", node = "node-1", args = [DEBUG], ready = true }: PodfitFacts = {},
): Json {
  return {
    metadata: {
      name,
      namespace: "podfit",
      uid: `uid-of-${name}`,
      labels: { "podfit.dev/mode": mode },
    },
    spec: { nodeName: node, containers: [{ name: "podfit", args }] },
    status: { conditions: [{ type: "Ready", status: ready ? "True" : "False" }] },
  };
}

/** An API server by its answers to paths without the query; 404 for others. */
function server(answers: Readonly<Record<string, unknown>>, asked: string[] = []) {
  const transport = (request: Request): Promise<Response> => {
    const { pathname, search } = new URL(request.url);
    asked.push(`${pathname}${search}`);
    const answer = answers[pathname];
    if (typeof answer === "function") return Promise.resolve(answer(request));
    return Promise.resolve(answer === undefined ? refuse(404, `${pathname} not found`) : Response.json(answer));
  };
  return { origin: ORIGIN, transport };
}

function refuse(code: number, message: string): Response {
  return Response.json({ kind: "Status", apiVersion: "v1", status: "Failure", code, message }, { status: code });
}

function cluster(podfits: readonly Json[], more: Readonly<Record<string, unknown>> = {}) {
  const at = (namespace: string) => ({ items: podfits.filter(({ metadata }) => metadata.namespace === namespace) });
  return {
    "/api/v1/namespaces/shop/pods/web": POD,
    "/api/v1/pods": { items: podfits },
    "/api/v1/namespaces/podfit/pods": at("podfit"),
    "/api/v1/namespaces/shop/pods": at("shop"),
    ...more,
  };
}

const namesOf = (sources: readonly DebugSource[]) => sources.map(({ name }) => name);
const LEASE = "/apis/coordination.k8s.io/v1/namespaces/podfit/leases/podfit";

Deno.test("openPodfits() asks the one controller that there is, and of several the holder of the Lease", async () => {
  const one = server(cluster([podfit("podfit-a")]));
  assertEquals(namesOf(await openPodfits(one, WANTED, signal)), ['podfit "podfit/podfit-a"']);
  const lease = { spec: { holderIdentity: "podfit-b_075e3441" } };
  const two = server(cluster([podfit("podfit-a"), podfit("podfit-b")], { [LEASE]: lease }));
  assertEquals(namesOf(await openPodfits(two, WANTED, signal)), ['podfit "podfit/podfit-b"']);
});

Deno.test("openPodfits() asks all replicas where the reader may not read the Lease, and the one that knows answers", async () => {
  const pods = [podfit("podfit-a"), podfit("podfit-b")];
  const asked: string[] = [];
  const records = (name: string) => `/api/v1/namespaces/podfit/pods/${name}:8081/proxy/debug/records`;
  const api = server({
    ...cluster(pods),
    [LEASE]: () => refuse(403, 'leases.coordination.k8s.io "podfit" is forbidden'),
    [records("podfit-a")]: () => new Response('Nothing is known of pod "shop/web"', { status: 404 }),
    [records("podfit-b")]: () => new Response(`${formatTestLine(lineOf("web"))}\n`),
  }, asked);
  const sources = await openPodfits(api, WANTED, signal);
  assertEquals(namesOf(sources), ['podfit "podfit/podfit-a"', 'podfit "podfit/podfit-b"']);
  const lines = await askUntilAnswered(
    sources,
    (source) => fetchAll(source, { pod: "web", namespace: "shop" }, { signal }),
  );
  assertEquals(lines.map(({ name }) => name), ["web"]);
});

Deno.test("each request for records has the uid of the podfit that it is for", async () => {
  const sent: (string | null)[] = [];
  const pods = [podfit("podfit-a"), podfit("agent", { mode: "node-local" })];
  const api = server(cluster(pods));
  const transport = (request: Request) => {
    if (request.url.includes("/proxy/")) sent.push(request.headers.get("podfit-pod-uid"));
    return api.transport(request);
  };
  for (const source of await openPodfits({ ...api, transport }, WANTED, signal)) {
    await assertRejects(() => drain(source), DebugError);
  }
  assertEquals(sent, ["uid-of-podfit-a", "uid-of-agent"]);
});

const forbid = (verb: string, resource: string, namespace: string) => () =>
  refuse(403, `User "alice" cannot ${verb} resource "${resource}" in API group "" in the namespace "${namespace}"`);

/** By the right that is missing: the answers of the API server, and what the error has to name. */
const MISSING: Readonly<Record<string, readonly [answers: Readonly<Record<string, unknown>>, named: RegExp]>> = {
  "get pods, where the pod is": [
    { "/api/v1/namespaces/shop/pods/web": forbid("get", "pods", "shop") },
    /cannot get resource "pods" .* in the namespace "shop"/,
  ],
  "list pods, where podfit is": [
    { "/api/v1/namespaces/podfit/pods": forbid("list", "pods", "podfit") },
    /cannot list resource "pods" .* in the namespace "podfit"/,
  ],
  "get pods/proxy, where podfit is": [
    {
      "/api/v1/namespaces/podfit/pods/podfit-a:8081/proxy/debug/records": forbid("get", "pods/proxy", "podfit"),
    },
    /cannot get resource "pods\/proxy" .* in the namespace "podfit"; it takes the right to "get" on "pods\/proxy" in podfit's namespace/,
  ],
};
for (const [right, [answers, named]] of Object.entries(MISSING)) {
  Deno.test(`a reader without the right to ${right} is told which right that is`, async () => {
    const ask = async () => {
      const [source] = await openPodfits(server(cluster([podfit("podfit-a")], answers)), WANTED, signal);
      await drain(source);
    };
    const error = await assertRejects(ask, DebugError);
    assertEquals(error.reason, "NoRight");
    assertMatch(error.message, named);
  });
}

Deno.test("what the listener says to a client that does not come through the API server is printed", async () => {
  const why =
    "Forbidden: records are read through the API server (pods/proxy), by podfit explain, top and record of this version";
  const [source] = await openPodfits(
    server(withProxy(() => new Response(`${why}\n`, { status: 403 }))),
    WANTED,
    signal,
  );
  const error = await assertRejects(() => drain(source), DebugError);
  assertEquals([error.reason, error.message], ["NoRight", `Cannot ask podfit "podfit/podfit-a": ${why}`]);
});

Deno.test("openPodfits() looks for the Lease under the name that the controllers are told", async () => {
  const args = [DEBUG, "--leader-elect-resource-name", "other"];
  const lease = { spec: { holderIdentity: "podfit-b_075e3441" } };
  const path = LEASE.replace("leases/podfit", "leases/other");
  const two = server(cluster([podfit("podfit-a", { args }), podfit("podfit-b", { args })], { [path]: lease }));
  assertEquals(namesOf(await openPodfits(two, WANTED, signal)), ['podfit "podfit/podfit-b"']);
});

Deno.test("openPodfits() asks the agent of the pod's node, and every agent where no pod is named", async () => {
  const agents = [podfit("a", { mode: "node-local" }), podfit("b", { mode: "node-local", node: "node-2" })];
  assertEquals(namesOf(await openPodfits(server(cluster(agents)), WANTED, signal)), ['podfit "podfit/a"']);
  const all = await openPodfits(server(cluster(agents)), { ...WANTED, pod: null }, signal);
  assertEquals(namesOf(all), ['podfit "podfit/a"', 'podfit "podfit/b"']);
});

Deno.test("openPodfits() asks the podfit in the pod itself where the pod has the label of a sidecar", async () => {
  const pod = {
    metadata: { ...POD.metadata, labels: { "podfit.dev/mode": "sidecar" } },
    spec: {
      containers: [{ name: "main" }],
      initContainers: [{ name: "podfit", env: [{ name: "PODFIT_DEBUG_LISTEN", value: ":9000" }] }],
    },
  };
  const asked: string[] = [];
  const api = server({ "/api/v1/namespaces/shop/pods/web": pod }, asked);
  const [source] = await openPodfits(api, WANTED, signal);
  await assertRejects(() => drain(source), DebugError);
  assertEquals(asked.at(-1), "/api/v1/namespaces/shop/pods/web:9000/proxy/debug/records?namespace=shop&pod=web");
});

Deno.test("openPodfits() asks the leader of each install where there are several", async () => {
  const other = [DEBUG, "--leader-elect-resource-name=other"];
  const alone = [DEBUG, "--leader-elect=false"];
  const pods = [
    podfit("a-1"),
    podfit("b-1", { args: other }),
    podfit("a-2"),
    podfit("b-2", { args: other }),
    podfit("c", { args: alone }),
    podfit("d", { args: alone }),
  ];
  const leases = {
    [LEASE]: { spec: { holderIdentity: "a-2_1" } },
    [LEASE.replace("leases/podfit", "leases/other")]: { spec: { holderIdentity: "b-2_1" } },
  };
  const names = ["a-2", "b-2", "c", "d"].map((name) => `podfit "podfit/${name}"`);
  assertEquals(namesOf(await openPodfits(server(cluster(pods, leases)), WANTED, signal)), names);
});

Deno.test("of several podfits the first that knows of it answers, and else what stood in the way is told", async () => {
  const ask = (...answers: readonly (string | DebugError)[]) =>
    askUntilAnswered(answers.map((_, at) => ({ at, name: "", read: () => [] as never })), ({ at }) => {
      const answer = answers[at];
      return answer instanceof DebugError ? Promise.reject(answer) : Promise.resolve(answer);
    });
  const [nothing, forbidden] = [new DebugError("NothingKnown", "nothing"), new DebugError("NoRight", "no right")];
  assertEquals(await ask(nothing, forbidden, "records"), "records");
  await assertRejects(() => ask(nothing, forbidden, nothing), DebugError, "no right");
  await assertRejects(() => ask(nothing, nothing), DebugError, "nothing");
});

Deno.test("a podfit that ends meanwhile is one that is asked again", async () => {
  const [source] = await openPodfits(server(withProxy(() => refuse(404, 'pods "podfit-a" not found'))), WANTED, signal);
  assertEquals((await assertRejects(() => drain(source), DebugError)).reason, "Unreachable");
});

Deno.test("of a thousand agents no more than sixteen are asked at a time, and all of them", async () => {
  let [asked, asking, most] = [0, 0, 0];
  const source: DebugSource = {
    name: "agent",
    async *read() {
      asked++;
      most = Math.max(most, ++asking);
      await Promise.resolve();
      asking--;
      yield* [];
    },
  };
  assertEquals(await fetchLatest(Array.from({ length: 1000 }, () => source), {}, { signal }), {
    lines: [],
    warnings: [],
  });
  assertEquals([asked, most], [1000, 16]);
});

Deno.test("a pod's name says of which workload it is, by the workload's kind", () => {
  const pods = ["web-7d9f4c-x2x4k", "web-x2x4k", "web-0", "web-7d9f4c-x2x4k-0", "other-x2x4k"];
  const of = (target: string) => pods.filter((pod) => isPodNameOf(pod, target));
  assertEquals(of("deployment/web"), ["web-7d9f4c-x2x4k"]);
  assertEquals(of("daemonset/web"), ["web-x2x4k"]);
  assertEquals(of("statefulset/web"), ["web-0"]);
  assertEquals(of("scaledobject/web"), []);
  // The API server cuts a generated name before its five random characters.
  const long = "w".repeat(50);
  assertEquals(isPodNameOf(`${`${long}-6f67d4ffb-`.slice(0, 58)}x2x4k`, `deployment/${long}`), true);
  assertEquals(isPodNameOf(`${long}-api-6f-x2x4k`, `deployment/${long}`), false);
  for (let length = 45; length < 70; length++) {
    const name = "w".repeat(length);
    const [pod, ofSet] = [`${name}-6f67d4ffb4-`, `${name}-`].map((start) => `${start.slice(0, 58)}x2x4k`);
    assertEquals(isPodNameOf(pod ?? "", `deployment/${name}`), true, `${length}`);
    assertEquals(isPodNameOf(ofSet ?? "", `daemonset/${name}`), true, `${length}`);
    assertEquals(isPodNameOf(`${name}-0`, `statefulset/${name}`), true, `${length}`);
    assertEquals(isPodNameOf(pod ?? "", `deployment/v${name}`), false, `${length}`);
  }
});

Deno.test("openPodfits() asks each ready sidecar of the namespace where no pod is named", async () => {
  const sidecar = (name: string, namespace: string, ready = true) => {
    const pod = podfit(name, { mode: "sidecar", ready });
    return { ...pod, metadata: { ...pod.metadata, namespace } };
  };
  const pods = [podfit("podfit-a"), sidecar("a", "shop"), sidecar("b", "shop", false), sidecar("c", "other")];
  const asked: string[] = [];
  const shop = await openPodfits(server(cluster(pods), asked), { ...WANTED, pod: null }, signal);
  assertEquals(namesOf(shop), ['podfit "podfit/podfit-a"', 'podfit "shop/a"']);
  assertEquals(asked, [
    "/api/v1/namespaces/podfit/pods?labelSelector=podfit.dev%2Fmode+in+%28central%2Cnode-local%29",
    `/apis/rbac.authorization.k8s.io/v1/clusterrolebindings?${BINDINGS}`,
    "/api/v1/namespaces/shop/pods?labelSelector=podfit.dev%2Fmode+in+%28sidecar%29",
  ]);
  const all = await openPodfits(server(cluster(pods)), { ...WANTED, pod: null, namespace: null }, signal);
  assertEquals(namesOf(all), ['podfit "podfit/podfit-a"', 'podfit "shop/a"', 'podfit "other/c"']);
});

Deno.test("openPodfits() goes through pods/proxy by HTTPS where podfit has a certificate", async () => {
  const asked: string[] = [];
  const args = [DEBUG, "--tls-cert-file=/etc/podfit/tls/tls.crt"];
  const [source] = await openPodfits(server(cluster([podfit("podfit-a", { args })]), asked), WANTED, signal);
  await assertRejects(() => drain(source), DebugError);
  assertEquals(
    asked.at(-1),
    "/api/v1/namespaces/podfit/pods/https:podfit-a:8081/proxy/debug/records?namespace=shop&pod=web",
  );
});

const BINDINGS = "labelSelector=app.kubernetes.io%2Fcomponent+in+%28controller%2Cagent%29";

/** A pod of a tenant that says that it is a podfit. */
function fake(mode: "central" | "node-local" | "sidecar", name = "web-1", namespace = "tenant"): Json {
  const pod = podfit(name, { mode });
  return { ...pod, metadata: { ...pod.metadata, namespace } };
}

const ALL: PodfitQuery = { namespace: null, pod: null, podfitNamespace: "podfit" };

Deno.test("openPodfits() asks no central and no node-local podfit outside of podfit's namespace", async () => {
  const pods = [podfit("podfit-a"), fake("central"), fake("node-local")];
  const asked: string[] = [];
  for (const wanted of [WANTED, { ...WANTED, pod: null }, ALL]) {
    assertEquals(namesOf(await openPodfits(server(cluster(pods), asked), wanted, signal)), [
      'podfit "podfit/podfit-a"',
    ]);
  }
  assertEquals(asked.filter((path) => path.includes("tenant")), []);
  const elsewhere = { ...WANTED, podfitNamespace: "tenant" };
  const found = server({ ...cluster(pods), "/api/v1/namespaces/tenant/pods": { items: [fake("central")] } });
  assertEquals(namesOf(await openPodfits(found, elsewhere, signal)), ['podfit "tenant/web-1"']);
});

Deno.test("openPodfits() asks only pods of the accounts that the chart's bindings name, where they may be read", async () => {
  const of = (name: string, serviceAccountName: string) => {
    const pod = podfit(name, { args: [DEBUG, "--leader-elect=false"] });
    return { ...pod, spec: { ...pod.spec, serviceAccountName } };
  };
  const pods = [of("real", "podfit"), of("other", "default")];
  const bindings = (answer: unknown) =>
    openPodfits(
      server(cluster(pods, { "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings": answer })),
      WANTED,
      signal,
    ).then(namesOf);
  const bind = (name: string, namespace: string) => ({
    items: [{ subjects: [{ kind: "ServiceAccount", name, namespace }, { kind: "User", name: "default" }] }],
  });
  const both = ['podfit "podfit/real"', 'podfit "podfit/other"'];
  assertEquals(await bindings(bind("podfit", "podfit")), ['podfit "podfit/real"']);
  assertEquals(await bindings(bind("podfit", "tools")), both, "another release");
  assertEquals(await bindings({ items: [] }), both, "not installed by the chart");
  assertEquals(await bindings(() => refuse(403, "forbidden")), both, "not readable");
});

/** A line about that pod, as a podfit sends it. */
function lineOf(name: string, { namespace = "shop", uid = name, now = START, node = "node-1" } = {}): RecordLine {
  const { before, input, outcome } = evaluation({});
  const pod = { ...input.pod, namespace, name, nodeName: node };
  const record = toRecord({ before, input: { ...input, now, pod }, outcome });
  return { kind: "pod", namespace, name, uid, count: 1, since: now, record };
}

/** What podfits answer, whatever they are asked. */
function answering(
  pods: readonly Json[],
  lines: Readonly<Record<string, readonly RecordLine[]>>,
  asked: string[] = [],
) {
  const answers = Object.entries(lines).map(([name, all]) => [
    `/api/v1/namespaces/${name.replace("/", "/pods/")}:8081/proxy/debug/records`,
    () => new Response(all.map((line) => `${formatTestLine(line)}\n`).join("")),
  ]);
  return server({ ...cluster(pods), ...Object.fromEntries(answers) }, asked);
}

async function listNames(pods: readonly Json[], lines: Readonly<Record<string, readonly RecordLine[]>>) {
  const sources = await openPodfits(answering(pods, lines), ALL, signal);
  const { lines: latest, warnings } = await fetchLatest(sources, {}, { signal });
  return { pods: latest.map(({ namespace, name }) => `${namespace}/${name}`), warnings, latest };
}

Deno.test("a sidecar speaks for its own pod only, and cannot hide another by its uid", async () => {
  const victim = lineOf("victim", { uid: "u1" });
  const sidecar = fake("sidecar", "web-1", "tenant");
  const { pods, latest } = await listNames([podfit("podfit-a"), sidecar], {
    "podfit/podfit-a": [victim],
    "tenant/web-1": [
      lineOf("victim", { uid: "u1", now: START + 1 }),
      lineOf("web-1", { namespace: "tenant", uid: "u1", now: START + 2 }),
      lineOf("web-2", { namespace: "tenant" }),
    ],
  });
  assertEquals(pods, ["shop/victim", "tenant/web-1"]);
  assertEquals(latest[0]?.record.input.now, START);
});

Deno.test("a sidecar is asked about its own pod only, and about no ScaledObject", async () => {
  const asked: string[] = [];
  const api = answering([fake("sidecar")], { "tenant/web-1": [] }, asked);
  const [source] = await openPodfits(api, ALL, signal);
  const others = [{ namespace: "shop", pod: "web-1" }, { namespace: "tenant", pod: "web-2" }, {
    namespace: "tenant",
    scaledObject: "web-1",
  }];
  for (const query of others) {
    await assertRejects(() => source?.open(query, signal) ?? Promise.resolve(), DebugError, "Nothing is known of it");
  }
  await source?.open({ latest: true }, signal);
  assertEquals(asked.filter((path) => path.includes("/proxy/")), [
    "/api/v1/namespaces/tenant/pods/web-1:8081/proxy/debug/records?latest=true&namespace=tenant&pod=web-1",
  ]);
});

Deno.test("an agent speaks for the pods of its node only", async () => {
  const { pods } = await listNames([podfit("a", { mode: "node-local", node: "node-2" })], {
    "podfit/a": [lineOf("web-1", { node: "node-1" }), lineOf("web-2", { node: "node-2" })],
  });
  assertEquals(pods, ["shop/web-2"]);
});

Deno.test("a line whose record is about another pod, or that was not asked for, is skipped", async () => {
  const forged = { ...lineOf("web"), name: "other" };
  const lines = { "podfit/podfit-a": [forged, lineOf("web"), lineOf("web", { namespace: "payments" })] };
  const [source] = await openPodfits(answering([podfit("podfit-a")], lines), WANTED, signal);
  const seen: string[] = [];
  for await (const { namespace, name } of source?.read({ namespace: "shop" }, signal) ?? []) {
    seen.push(`${namespace}/${name}`);
  }
  assertEquals(seen, ["shop/web"]);
});

Deno.test("one podfit that answers nonsense, or sidecars that may not be listed, are a warning", async () => {
  const pods = [podfit("podfit-a"), fake("sidecar")];
  const path = "/api/v1/namespaces/tenant/pods/web-1:8081/proxy/debug/records";
  const good = answering(pods, { "podfit/podfit-a": [lineOf("web")] });
  const withAnswer = (at: string, answer: () => Response) => ({
    ...good,
    transport: (request: Request) =>
      new URL(request.url).pathname === at ? Promise.resolve(answer()) : good.transport(request),
  });
  for (
    const [api, warning] of [
      [withAnswer(path, () => new Response("nonsense\n")), /^Cannot read the line/],
      [withAnswer(path, () => refuse(503, "gone")), /^Cannot ask podfit "tenant\/web-1": gone/],
      [withAnswer("/api/v1/pods", () => refuse(403, "no")), /sidecars are missing: grant list of pods/],
    ] as const
  ) {
    const sources = await openPodfits(api, ALL, signal);
    const { lines, warnings } = await fetchLatest(sources, {}, { signal });
    assertEquals(lines.map(({ name }) => name), ["web"]);
    assertEquals(warnings.length, 1);
    assertMatch(warnings[0] ?? "", warning);
  }
  const bad = withAnswer("/api/v1/namespaces/podfit/pods/podfit-a:8081/proxy/debug/records", () => refuse(500, "no"));
  const sources = await openPodfits(bad, { ...ALL, namespace: "shop" }, signal);
  await assertRejects(() => fetchLatest(sources, {}, { signal }), DebugError, "Cannot ask podfit");
});

Deno.test("a line that is not a record costs its own object only, and a warning", async () => {
  const bodies = [["web", "nonsense", "api"], ["nonsense"]].map((names) =>
    names.map((name) => `${name === "nonsense" ? name : formatTestLine(lineOf(name))}\n`).join("")
  );
  const sources = bodies.map((body, at) =>
    createDebugListener(`podfit "${at}"`, () => Promise.resolve(new Response(body)))
  );
  const { lines, warnings } = await fetchLatest(sources, {}, { signal });
  assertEquals(lines.map(({ name }) => name), ["web", "api"]);
  assertEquals(warnings, [
    "Cannot read the line: it is not JSON",
    'The records of podfit "0" are not complete: one object is left out. Cannot read the line: it is not JSON',
  ]);
  await assertRejects(() => fetchLatest(sources.slice(1), {}, { signal }), DebugError, "it is not JSON");
});

Deno.test("explain of a workload says which podfits have not answered", async () => {
  const failing: DebugSource = {
    name: "failing",
    // deno-lint-ignore require-yield -- it fails at once
    async *read() {
      await Promise.resolve();
      throw new DebugError("Unreachable", 'Cannot ask podfit "a"');
    },
  };
  const working: DebugSource = {
    name: "working",
    async *read() {
      await Promise.resolve();
      yield lineOf("web-7d9f4c-x2x4k");
    },
  };
  const explained = await explainFromSources([failing, working], { kind: "deployment", name: "web" }, {
    namespace: "shop",
    signal,
    now: () => START,
  });
  assertEquals(explained.unknown, ['Cannot ask podfit "a"']);
});

Deno.test("openPodfits() encodes what it puts into a path", async () => {
  const asked: string[] = [];
  const withLease = (name: string) => {
    const args = [DEBUG, `--leader-elect-resource-name=${name}`, "--leader-elect-resource-namespace=a/b?c#d"];
    return server(cluster(["podfit-a", "podfit-b"].map((one) => podfit(one, { args }))), asked);
  };
  await openPodfits(withLease("../../x"), WANTED, signal);
  assertEquals(asked.at(-1), "/apis/coordination.k8s.io/v1/namespaces/a%2Fb%3Fc%23d/leases/..%2F..%2Fx");
  await assertRejects(() => openPodfits(withLease(".."), WANTED, signal), DebugError, '".." is not a name');
});

const ERRORS: Readonly<Record<string, readonly [Readonly<Record<string, unknown>>, string]>> = {
  "a pod that is not there": [
    { "/api/v1/namespaces/podfit/pods": { items: [] } },
    'Cannot find pod "web" in namespace "shop": there is none',
  ],
  "a cluster without podfit": [
    cluster([podfit("podfit-a", { ready: false })]),
    'Cannot find a podfit in namespace "podfit" that owns it: no ready pod has a label podfit.dev/mode in ' +
    "(central,node-local); name its namespace with --podfit-namespace, or its address with --url",
  ],
  "a podfit without --debug-listen": [
    cluster([podfit("podfit-a", { args: [] })]),
    'Cannot ask podfit "podfit/podfit-a": it has no --debug-listen; set debug.enabled of its chart, or --debug-listen ' +
    "0.0.0.0:8081",
  ],
  "no right to list pods": [
    cluster([], { "/api/v1/namespaces/podfit/pods": () => refuse(403, "pods is forbidden") }),
    "Cannot look for podfit: pods is forbidden; ask an administrator for this right (yours: `kubectl auth can-i --list`)",
  ],
  "no right to pods/proxy": [
    withProxy(() => refuse(403, 'pods "podfit-a:8081" is forbidden')),
    'Cannot ask podfit "podfit/podfit-a": pods "podfit-a:8081" is forbidden; it takes the right to "get" on ' +
    '"pods/proxy" in podfit\'s namespace, or with --metrics-auth kubectl port-forward, --url and --token-file',
  ],
  "a listener that nobody reaches": [
    withProxy(() => refuse(503, "error trying to reach service: dial tcp 10.0.0.7:8081: connect: connection refused")),
    'Cannot ask podfit "podfit/podfit-a": error trying to reach service: dial tcp 10.0.0.7:8081: connect: connection ' +
    "refused; is its --debug-listen on 0.0.0.0, and does a network policy let the API server in?",
  ],
  "a podfit that ends meanwhile": [
    withProxy(() => refuse(404, 'pods "podfit-a" not found')),
    'Cannot ask podfit "podfit/podfit-a": pods "podfit-a" not found',
  ],
  "a token of the API server that has expired": [
    withProxy(() => refuse(401, "Unauthorized")),
    'Cannot ask podfit "podfit/podfit-a": Unauthorized',
  ],
  "a listener that wants a token": [
    withProxy(() => new Response("Unauthorized\n", { status: 401 })),
    'Cannot ask podfit "podfit/podfit-a": it requires the token of a reader (--metrics-auth), which the API server does ' +
    "not pass on; use kubectl -n podfit port-forward pod/podfit-a 8081, and here --url http://127.0.0.1:8081 " +
    "--token-file FILE",
  ],
  "a listener that knows nothing of it": [
    withProxy(answerDebug([])),
    'Nothing is known of pod "shop/web": it has evaluated none',
  ],
  "what is no record": [
    withProxy(() => new Response('{"kind":"pod","record"\n')),
    "Cannot read the line: it is not a whole JSON object, so it may be cut off",
  ],
};

function withProxy(answer: (request: Request) => Response): Readonly<Record<string, unknown>> {
  const path = "/api/v1/namespaces/podfit/pods/podfit-a:8081/proxy";
  const forward = (request: Request) => answer(new Request(request.url.replace(path, "")));
  return cluster([podfit("podfit-a")], { [`${path}/debug/records`]: forward });
}

for (const [what, [answers, message]] of Object.entries(ERRORS)) {
  Deno.test(`explain through the API server says what to do about ${what}`, async () => {
    const asking = async () => {
      const sources = await openPodfits(server(answers), WANTED, signal);
      for (const source of sources) await drain(source);
    };
    const { message: said } = await assertRejects(asking, DebugError);
    assertEquals(said, message);
  });
}

Deno.test("explain through the API server answers from the records of the podfit that has some", async () => {
  const { before, input, outcome } = evaluation({});
  const record = toRecord({
    before,
    input: { ...input, pod: { ...input.pod, namespace: "shop", name: "web" } },
    outcome,
  });
  const line: RecordLine = { kind: "pod", namespace: "shop", name: "web", uid: "u", count: 1, since: START, record };
  const sources = await openPodfits(server(withProxy(answerDebug([line]))), WANTED, signal);
  const explained = await explainFromSources(sources, { kind: "pod", name: "web" }, {
    namespace: "shop",
    signal,
    now: () => START,
  });
  assertEquals(
    explained.answer,
    "web keeps the size that it was given. podfit does not size it: no PodResourceAutoscaler is about a container of it.",
  );
});

async function drain(source: DebugSource | undefined): Promise<void> {
  for await (const _ of source?.read({ namespace: "shop", pod: "web" }, signal) ?? []) { /* Whatever it is. */ }
}
