/**
 * Objects that are fetched by name when they are needed: secrets of triggers and templates of pods.
 * Clauses: R16, R82.
 */
import { assertEquals, assertRejects, assertStringIncludes } from "#assert";
import {
  createAskEndpoints,
  createAskObject,
  createFetchCredentials,
  type DaemonCredentialRules,
  listEndpointUrls,
  SAFE_CREDENTIAL_RULES,
} from "../../../lib/daemon/replicas/triggers.ts";
import { ScaledObjectCache } from "../../../lib/daemon/cluster/scaled_objects.ts";
import { createTemplates } from "../../../lib/daemon/replicas/templates.ts";
import { createClient } from "../../../lib/kube/client.ts";
import { type Aggregation, AGGREGATIONS, type ObjectSource } from "../../../lib/model/scaled_object.ts";
import { REQUEST_MS } from "../../../lib/daemon/replicas/query_limits.ts";
import { untilAborted } from "../../../lib/runtime/tasks.ts";
import type { ResolvedCredentials } from "../../../lib/triggers/credentials.ts";
import type { TriggerParameters } from "../../../lib/triggers/value.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";
import { parseAuthentication } from "../../../lib/resources/trigger_authentication/trigger_authentication.ts";
import type { Json } from "../../support/api_objects.ts";
import { pod } from "../../support/builders.ts";
import { apiSource, externalTrigger } from "../../support/triggers.ts";

const PLACE = {
  namespace: "shop",
  target: { apiVersion: "apps/v1", kind: "Deployment", name: "web", envContainer: null },
};

/** An API server with these objects, by path. `403` = access is denied. */
function open(objects: Readonly<Record<string, Json | 403>>) {
  const asked: string[] = [];
  const client = createClient({
    origin: "http://api",
    transport: (request) => {
      if (request.signal.aborted) return Promise.reject(request.signal.reason);
      const path = request.url.slice("http://api".length);
      asked.push(path);
      const found = objects[path];
      const code = found === 403 ? 403 : 404;
      const refusal = { kind: "Status", code, message: "no" };
      return Promise.resolve(
        found === undefined || found === 403 ? Response.json(refusal, { status: code }) : Response.json(found),
      );
    },
  });
  return { asked, client, clock: new VirtualClock(), signal: new AbortController().signal };
}

function readToken(
  kind: "TriggerAuthentication" | "ClusterTriggerAuthentication",
  secrets: Readonly<Record<string, Json | 403>>,
  rules: Partial<DaemonCredentialRules> = {},
) {
  const { asked, client, clock, signal } = open(secrets);
  const objects = new ScaledObjectCache();
  const namespace = kind === "TriggerAuthentication" ? { namespace: "shop" } : {};
  objects.setAuthentication(parseAuthentication({
    apiVersion: "keda.sh/v1alpha1",
    kind,
    metadata: { name: "auth", uid: "a", resourceVersion: "1", ...namespace },
    spec: { secretTargetRef: [{ parameter: "bearerToken", name: "token", key: "value" }] },
  }));
  const read = createFetchCredentials({
    client,
    clock,
    objects,
    clusterObjectNamespace: "podfit",
    credentialRules: { goAnywhere: true, overPlainHttp: true, needLabel: false, ...rules },
    findTarget: () => PLACE,
  });
  return { asked, read: (name = "auth") => read({ namespace: "shop", ref: { kind, name } }, signal) };
}

function parametersOf(found: ResolvedCredentials): TriggerParameters | string {
  return found.kind === "resolved" ? found.credentials : found.message;
}

const SECRET = { data: { value: btoa("s3cret") } };

Deno.test("secrets are read in the object's namespace, and those of the cluster's authentications in podfit's alone (R16)", async () => {
  const all = {
    "/api/v1/namespaces/shop/secrets/token": { data: { value: btoa("theirs") } },
    "/api/v1/namespaces/podfit/secrets/token": SECRET,
  };
  const own = readToken("TriggerAuthentication", all);
  assertEquals(parametersOf(await own.read()), { bearerToken: "theirs" });
  assertEquals(own.asked, ["/api/v1/namespaces/shop/secrets/token"]);
  const cluster = readToken("ClusterTriggerAuthentication", all);
  assertEquals(parametersOf(await cluster.read()), { bearerToken: "s3cret" });
  assertEquals(cluster.asked, ["/api/v1/namespaces/podfit/secrets/token"]);
});

Deno.test("a secret or an authentication that is not there is missing, and one that may not be read names the right (R16)", async () => {
  assertEquals((await readToken("TriggerAuthentication", {}).read()).kind, "missing");
  assertEquals((await readToken("TriggerAuthentication", {}).read("other")).kind, "missing");
  const forbidden = await readToken("TriggerAuthentication", { "/api/v1/namespaces/shop/secrets/token": 403 }).read();
  assertStringIncludes(forbidden.kind === "failed" ? forbidden.message : "", "grant get of secrets");
});

const QUEUE = { kind: "kubernetes-resource", name: "queue", format: "number", valueLocation: "" } as const;

function askObject(objects: Readonly<Record<string, Json | 403>>, own: Partial<ObjectSource>, needLabel = false) {
  const { asked, client, clock, signal } = open(objects);
  const ask = createAskObject({ client, clock, credentialRules: { ...SAFE_CREDENTIAL_RULES, needLabel } });
  const source = { ...QUEUE, objectKind: "Secret", key: "value", valueType: "float64", ...own } as const;
  let bytes = 0;
  const run = async (ended = signal) => {
    const work = {
      run: <T>(job: () => T) => Promise.resolve(job()),
      countBytes: (read: number) => void (bytes += read),
    };
    const answer = await ask(externalTrigger(source), {
      credentials: {},
      now: 0,
      signal: ended,
      namespace: "shop",
      work,
    });
    return answer.kind === "value"
      ? answer.value
      : answer.message.replace('Cannot read trigger "s0-kubernetes-resource": ', "");
  };
  return { asked, run, bytes: () => bytes };
}

Deno.test("a trigger reads its ConfigMap or Secret by name, each time again, and says why there is no value (R97)", async () => {
  const [secret, configMap] = ["/api/v1/namespaces/shop/secrets/queue", "/api/v1/namespaces/shop/configmaps/queue"];
  const objects: Record<string, Json | 403> = { [secret]: { data: { value: btoa("7") } } };
  const { asked, run, bytes } = askObject(objects, {});
  assertEquals(await run(), 7);
  objects[secret] = { data: { value: btoa("12.5 jobs") } };
  assertEquals([await run(), asked, bytes()], [12.5, [secret, secret], 10]);
  const map = askObject({ [configMap]: { data: { value: "s3cret" }, binaryData: { other: "MQ==" } } }, {
    objectKind: "ConfigMap",
  });
  assertEquals([await map.run(), map.asked], ["its text does not begin with a number", [configMap]]);
  const cases: readonly (readonly [string, Parameters<typeof askObject>])[] = [
    ['there is no secret "shop/queue"', [{}, {}]],
    ['secret "shop/queue" has no key "other"', [objects, { key: "other" }]],
    ['config map "shop/queue" has no key "toString"', [{ [configMap]: { data: {} } }, {
      objectKind: "ConfigMap",
      key: "toString",
    }]],
  ];
  for (const [cause, given] of cases) assertEquals(await askObject(...given).run(), cause);
  const forbidden = await askObject({ [secret]: 403 }, {}).run();
  assertStringIncludes(String(forbidden), 'grant get of secrets in namespace "shop"');
  assertStringIncludes(String(await askObject(objects, {}, true).run()), "label it podfit.dev/trigger=true");
  assertEquals(await askObject(objects, {}).run(AbortSignal.abort()), "stopped before it answered");
});

const SLICES =
  "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices?labelSelector=kubernetes.io%2Fservice-name%3Dqueue";

function slice(addresses: readonly string[], own: Json = {}): Json {
  const endpoints = addresses.map((address) => ({ addresses: [address], conditions: { ready: true } }));
  return { addressType: "IPv4", ports: [{ port: 8080 }], endpoints, ...own };
}

/** `ask` gives the value of each address. */
function askEndpoints(
  list: Json | 403,
  values: Readonly<Record<string, number | "fails" | "never">>,
  { aggregation = "sum" }: { readonly aggregation?: Aggregation | null } = {},
) {
  const { client, clock } = open({ [SLICES]: list });
  const urls: string[] = [];
  const services = new Set<string | undefined>();
  const spent: unknown[] = [];
  const ask = createAskEndpoints({
    client,
    clock,
    budget: {
      wait: () => Promise.resolve(),
      spend: (namespace, { ms = 0, bytes = 0 }) => void spent.push([namespace, ms, bytes > 0]),
    },
    async ask({ source }, { signal, service }) {
      if (source.kind !== "metrics-api" || source.aggregation !== null) throw new Error("not one URL");
      services.add(service);
      urls.push(source.url);
      const value = values[new URL(source.url).hostname] ?? 0;
      if (value === "never") await untilAborted(signal).then(() => signal.throwIfAborted());
      return typeof value === "number"
        ? { kind: "value", value, isEmpty: false }
        : { kind: "failed", message: `no value of ${source.url}`, isEmpty: false };
    },
  });
  const source = apiSource({ url: "http://queue.shop.svc:8080/stats?a=b", aggregation });
  const run = async (signal = new AbortController().signal) => {
    const answer = await ask(externalTrigger(source), { credentials: {}, now: 0, signal, namespace: "shop" });
    return answer.kind === "value"
      ? answer.value
      : answer.message.replace('Cannot read trigger "s0-metrics-api": ', "");
  };
  return { ask, run, urls, services, spent, clock };
}

Deno.test("a trigger asks each ready endpoint of its Service once, and makes one value of theirs (R98)", async () => {
  const list = {
    items: [
      slice(["10.0.0.3", "10.0.0.1"]),
      slice(["10.0.0.1", "10.0.0.2"], { ports: [{ port: 9090 }] }),
      slice([], {
        endpoints: [{ addresses: ["10.0.0.9"], conditions: { ready: false } }, { addresses: ["10.0.0.4"] }],
      }),
      slice(["fd00::1"], { addressType: "IPv6" }),
    ],
  };
  const values = { "10.0.0.1": 1, "10.0.0.2": 2, "10.0.0.3": 3, "10.0.0.4": 6 };
  const results = [];
  for (const aggregation of AGGREGATIONS) {
    const { run, urls, services, spent } = askEndpoints(list, values, { aggregation });
    results.push(await run());
    assertEquals([...services], ["http://queue.shop.svc:8080/stats?a=b"], "what may be denied by name");
    assertEquals(urls, [
      "http://10.0.0.3:8080/stats?a=b",
      "http://10.0.0.1/stats?a=b",
      "http://10.0.0.2/stats?a=b",
      "http://10.0.0.4:8080/stats?a=b",
    ]);
    assertEquals(spent, [["shop", REQUEST_MS, true]]);
  }
  assertEquals(results, [3, 12, 6, 1]);
  const six = listEndpointUrls("https://u:p@queue.shop/a", {
    items: [slice(["fd00::1"], { addressType: "IPv6", ports: [{ port: 443 }] })],
  });
  assertEquals(six, ["https://u:p@[fd00::1]/a"]);
});

Deno.test("endpoints that fail do not count, and a trigger fails where all do, where there is none, and without the right (R98)", async () => {
  const list = { items: [slice(["10.0.0.1", "10.0.0.2"])] };
  assertEquals(await askEndpoints(list, { "10.0.0.1": "fails", "10.0.0.2": 4 }, { aggregation: "average" }).run(), 4);
  const fails = await askEndpoints(list, { "10.0.0.1": "fails", "10.0.0.2": "fails" }).run();
  assertEquals(fails, "no value of http://10.0.0.1:8080/stats?a=b");
  assertEquals(await askEndpoints({ items: [] }, {}).run(), "its Service has no ready endpoint");
  const many = Array.from({ length: 101 }, (_, index) => `10.0.1.${index}`);
  const { run, urls } = askEndpoints({ items: [slice(many)] }, {});
  assertStringIncludes(String(await run()), "its Service has more than 100 endpoints");
  assertEquals(urls, []);
  assertEquals(await askEndpoints({ items: [slice(many.slice(1))] }, {}).run(), 0);
  const forbidden = String(await askEndpoints(403, {}).run());
  assertStringIncludes(forbidden, 'the endpoints of Service "shop/queue" cannot be listed');
  assertStringIncludes(forbidden, "scaledObjects.serviceEndpoints=true");
  const large = { items: [slice([], { extra: "x".repeat(256 * 1024) })] };
  assertStringIncludes(String(await askEndpoints(large, {}).run()), "the endpoints of its Service cannot be listed: ");
});

Deno.test("a trigger waits 15 s for all of its endpoints together, is not asked again at once, and ends when it is stopped (R98)", async () => {
  const list = { items: [slice(["10.0.0.1", "10.0.0.2"])] };
  const part = askEndpoints(list, { "10.0.0.1": "never", "10.0.0.2": 4 });
  const value = part.run();
  await part.clock.advance(15_000);
  assertEquals(await value, 4);
  const none = askEndpoints(list, { "10.0.0.1": "fails", "10.0.0.2": "never" });
  const trigger = externalTrigger(apiSource({ url: "http://queue.shop.svc:8080/", aggregation: "sum" }));
  const answer = none.ask(trigger, {
    credentials: {},
    now: 0,
    signal: new AbortController().signal,
    namespace: "shop",
  });
  await none.clock.advance(15_000);
  assertEquals(await answer, {
    kind: "failed",
    message: 'Cannot read trigger "s0-metrics-api": no answer within 15 s',
    isEmpty: false,
    isSlow: true,
  });
  await assertRejects(() => askEndpoints(list, {}).run(AbortSignal.abort(new Error("stopped"))), Error, "stopped");
});

Deno.test("a list of endpoints of any shape makes URLs or nothing (R98)", () => {
  const list = (items: unknown) => listEndpointUrls("http://queue.shop/", { items });
  for (
    const odd of [null, 5, {}, [null], [{}], [{ endpoints: 5 }], [{ endpoints: [{ addresses: [5, "a b", "@", ""] }] }]]
  ) {
    assertEquals(list(odd), [], JSON.stringify(odd));
  }
  assertEquals(listEndpointUrls("http://queue.shop/", null), []);
  assertEquals(list([slice(["pod.example"], { addressType: "FQDN", ports: null })]), ["http://pod.example/"]);
});

Deno.test("a list of very many endpoints makes few URLs, whether they are all the same or not (R98)", () => {
  const native = URL.canParse;
  let looks = 0;
  URL.canParse = (...given) => {
    looks++;
    return native(...given);
  };
  try {
    const count = (addresses: readonly string[]) => {
      looks = 0;
      return [listEndpointUrls("http://queue.shop/", { items: [slice(addresses)] }).length, looks];
    };
    const many = Array.from({ length: 10_000 }, (_, index) => `10.1.${index >> 8}.${index & 255}`);
    assertEquals(count(many), [101, 101]);
    assertEquals(count(many.map(() => "10.1.0.1")), [1, 1]);
  } finally {
    URL.canParse = native;
  }
});

Deno.test("where the operator asks for a label, a secret without it is not used (R16)", async () => {
  const path = "/api/v1/namespaces/shop/secrets/token";
  const read = async (labels: Json, needLabel: boolean) =>
    await readToken("TriggerAuthentication", { [path]: { ...SECRET, metadata: { labels } } }, { needLabel }).read();
  assertEquals(parametersOf(await read({ "podfit.dev/trigger": "true" }, true)), { bearerToken: "s3cret" });
  assertEquals(parametersOf(await read({}, false)), { bearerToken: "s3cret" });
  const refused = await read({ "podfit.dev/trigger": "no" }, true);
  assertEquals(refused.kind, "failed");
  assertStringIncludes(String(parametersOf(refused)), "label it podfit.dev/trigger=true");
});

Deno.test("variables without containerName are the first container's, whatever envSourceContainerName says (R16)", async () => {
  const container = (name: string): Json => ({ name, env: [{ name: "TOKEN", value: `${name}'s` }] });
  const { client, clock, signal } = open({
    [DEPLOYMENT]: { spec: { template: { spec: { containers: [container("first"), container("second")] } } } },
  });
  const objects = new ScaledObjectCache();
  objects.setAuthentication(parseAuthentication({
    apiVersion: "keda.sh/v1alpha1",
    kind: "TriggerAuthentication",
    metadata: { name: "auth", namespace: "shop", uid: "a", resourceVersion: "1" },
    spec: {
      env: [
        { parameter: "bearerToken", name: "TOKEN" },
        { parameter: "apiKey", name: "TOKEN", containerName: "second" },
      ],
    },
  }));
  const place = { ...PLACE, target: { ...PLACE.target, envContainer: "second" } };
  const read = createFetchCredentials({
    client,
    clock,
    objects,
    clusterObjectNamespace: "podfit",
    credentialRules: SAFE_CREDENTIAL_RULES,
    findTarget: () => place,
  });
  const found = await read({ namespace: "shop", ref: { kind: "TriggerAuthentication", name: "auth" } }, signal);
  assertEquals(parametersOf(found), { bearerToken: "first's", apiKey: "second's" });
});

function template(cpu: string): Json {
  return { spec: { template: { spec: { containers: [{ name: "main", resources: { requests: { cpu } } }] } } } };
}

const REPLICA_SET = "/apis/apps/v1/namespaces/shop/replicasets/web-abc";
const DEPLOYMENT = "/apis/apps/v1/namespaces/shop/deployments/web";

Deno.test("templates are those of a pod's own ReplicaSet and of its workload now; a revision is read once (R82)", async () => {
  const { asked, client, clock, signal } = open({ [REPLICA_SET]: template("100m"), [DEPLOYMENT]: template("300m") });
  const templates = createTemplates({ client, clock });
  const own = pod({ labels: { "pod-template-hash": "abc" } });
  assertEquals(templates.find(PLACE, own), { revision: null, template: null });
  await templates.fetch(PLACE, [own, own], signal);
  const cpu = (sizes: ReturnType<typeof templates.find>["revision"]) => sizes?.["main"]?.["cpu.requests"];
  const { revision, template: now } = templates.find(PLACE, own);
  assertEquals([cpu(revision), cpu(now)], [100, 300]);
  await clock.advance(61_000);
  await templates.fetch(PLACE, [own], signal);
  assertEquals(asked.filter((path) => path === REPLICA_SET).length, 1);
  assertEquals(asked.filter((path) => path === DEPLOYMENT).length, 2);
});

Deno.test("templates of a StatefulSet's pods are those of their controller revision (R82)", async () => {
  const path = "/apis/apps/v1/namespaces/shop/controllerrevisions/web-7";
  const { client, clock, signal } = open({ [path]: { data: template("200m") } });
  const templates = createTemplates({ client, clock });
  const place = { ...PLACE, target: { ...PLACE.target, kind: "StatefulSet" } };
  const own = pod({ labels: { "controller-revision-hash": "web-7" } });
  await templates.fetch(place, [own], signal);
  assertEquals(templates.find(place, own).revision?.["main"]?.["cpu.requests"], 200);
});
