/** Who may read the records: clients of the API server's `pods/proxy`, readers with a token, and no others. */
import { assertEquals, assertMatch, assertRejects, assertStringIncludes } from "#assert";
import {
  createFindPodAt,
  createRecordsAccess,
  type FindPodAt,
  POD_UID_HEADER,
  type RecordsReader,
} from "../../../lib/daemon/server/records_access.ts";
import { createHandler, debugRoutes } from "../../../lib/daemon/server/routes.ts";
import { serve } from "../../../lib/daemon/server/serve.ts";
import type { CheckReader } from "../../../lib/daemon/server/reader_access.ts";
import { createClient } from "../../../lib/kube/client.ts";
import { pod } from "../../e2e/support/workloads.ts";
import { ClusterRun } from "../../support/cluster_run.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";

const UID = "0b7c2f7e-9a64-4f1a-8d0a-3a5d1b1c2d3e";
const PROXIED: RecordsReader = { authorization: null, podUid: UID, address: "10.0.0.1" };

interface Setup {
  readonly pods?: Readonly<Record<string, string>>;
  readonly checkReader?: CheckReader | null;
  readonly podIp?: string | null;
}

/** A check that counts what it asks the API server. */
function setUp({ pods = {}, checkReader = null, podIp = null }: Setup = {}) {
  const asked: string[] = [];
  const clock = new VirtualClock();
  const findPodAt: FindPodAt = (address) => {
    asked.push(address);
    return Promise.resolve(pods[address] ?? null);
  };
  return { asked, clock, check: createRecordsAccess({ podUid: UID, podIp, findPodAt, checkReader, clock }) };
}

Deno.test("a client that sends the uid of podfit's pod, and has no pod's address, may read", async () => {
  const { check, asked } = setUp();
  assertEquals(await check(PROXIED), { kind: "allowed" });
  assertEquals(await check({ ...PROXIED, address: "::ffff:10.0.0.1" }), { kind: "allowed" });
  assertEquals(asked, ["10.0.0.1"]);
});

Deno.test("without the uid nobody may read, and the API server is not asked about the address", async () => {
  const { check, asked } = setUp();
  for (const podUid of [null, "", "podfit", UID.toUpperCase(), `${UID}0`, UID.slice(1), UID.replace("0b", "0c")]) {
    const access = await check({ ...PROXIED, podUid });
    assertEquals(access.kind, "outsider", String(podUid));
  }
  assertEquals(asked, []);
});

Deno.test("a pod that knows the uid may not read, nor may podfit's own address", async () => {
  const { check, asked } = setUp({ pods: { "10.1.0.7": "shop/web-1", "fd00::7": "shop/web-2" } });
  for (const address of ["10.1.0.7", "::ffff:10.1.0.7"]) {
    assertEquals(await check({ ...PROXIED, address }), {
      kind: "outsider",
      why: 'the request comes from pod "shop/web-1", and records are read through the API server (pods/proxy), by ' +
        "podfit explain, top and record of this version",
    });
  }
  assertEquals((await check({ ...PROXIED, address: "fd00::7" })).kind, "outsider");
  for (const address of ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", null]) {
    assertEquals((await check({ ...PROXIED, address })).kind, "outsider", String(address));
  }
  assertEquals(asked, ["10.1.0.7", "fd00::7"]);
});

Deno.test("a client of another family than the first address of podfit's pod may not read: it may be a pod's second address", async () => {
  const [first, second] = [{ ...PROXIED, address: "fd00::1" }, { ...PROXIED, address: "::ffff:10.0.0.1" }];
  for (const [podIp, reader, other] of [["fd00::9", first, second], ["10.0.0.9", second, first]] as const) {
    const { check, asked } = setUp({ podIp });
    assertEquals([(await check(reader)).kind, (await check(other)).kind], ["allowed", "outsider"]);
    assertEquals(asked.length, 1);
  }
});

Deno.test("an address is asked about each 5 seconds, that of a pod once a minute, and a failure is not kept", async () => {
  for (const [reader, keepMs] of [[PROXIED, 5000], [{ ...PROXIED, address: "10.1.0.7" }, 60_000]] as const) {
    const { check, asked, clock } = setUp({ pods: { "10.1.0.7": "shop/web" } });
    for (let count = 0; count < 100; count++) await check(reader);
    assertEquals(asked.length, 1);
    await clock.advance(keepMs - 1);
    await check(reader);
    assertEquals(asked.length, 1);
    await clock.advance(2);
    await check(reader);
    assertEquals(asked.length, 2);
  }
  const { clock } = setUp();
  let failures = 0;
  const findPodAt = () => Promise.reject(new Error(`down ${++failures}`));
  const failing = createRecordsAccess({ podUid: UID, podIp: null, findPodAt, checkReader: null, clock });
  for (const count of [1, 2]) {
    assertEquals(await failing(PROXIED), {
      kind: "unanswered",
      why: `cannot ask the API server which pod has the address 10.0.0.1: down ${count}`,
    });
  }
});

Deno.test("with --metrics-auth a token decides, and the API server's proxy still needs none", async () => {
  const tokens: (string | null)[] = [];
  const checkReader: CheckReader = (authorization, path) => {
    tokens.push(authorization, path);
    return Promise.resolve({ kind: "denied", user: "alice" });
  };
  const { check } = setUp({ checkReader });
  assertEquals(await check({ ...PROXIED, authorization: "Bearer x" }), { kind: "denied", user: "alice" });
  assertEquals(await check(PROXIED), { kind: "allowed" });
  assertEquals((await check({ ...PROXIED, podUid: null })).kind, "outsider");
  assertEquals(tokens, ["Bearer x", "/debug/records"]);
});

Deno.test("the pod of an address is found among the pods of the cluster, the host's and the API server's own excepted", async () => {
  await using run = await ClusterRun.start();
  await run.create(pod("web", { fields: { nodeName: "node-1" } }));
  await run.advance(5);
  const server = run.cluster.connect();
  const read = async () => {
    const response = await server.transport(new Request(`${server.origin}/api/v1/namespaces/default/pods/web`));
    return (await response.json()).status.podIP;
  };
  const address = await read();
  assertMatch(address, /^[\d.]+$/);
  const find = (namespaces: readonly string[] | null) =>
    createFindPodAt({ client: createClient(server), clock: run.clock, namespaces })(address);
  assertEquals(await find(null), "default/web");
  assertEquals(await find(["default"]), "default/web");
  assertEquals(await find(["kube-system"]), null);
  assertEquals(
    await createFindPodAt({ client: createClient(server), clock: run.clock, namespaces: null })("192.0.2.9"),
    null,
  );
});

const METADATA = { namespace: "kube-system", name: "one" };
const PEERS: Readonly<Record<string, readonly [unknown, string | null]>> = {
  "any pod": [{ metadata: METADATA }, "kube-system/one"],
  "a pod in the host's network": [{ metadata: METADATA, spec: { hostNetwork: true } }, null],
  "a pod that has ended": [{ metadata: METADATA, status: { phase: "Succeeded" } }, null],
  "konnectivity-agent": [{ metadata: { ...METADATA, labels: { "k8s-app": "konnectivity-agent" } } }, null],
  "a tenant's pod with that label": [
    { metadata: { name: "one", namespace: "shop", labels: { "k8s-app": "konnectivity-agent" } } },
    "shop/one",
  ],
};
for (const [title, [item, expected]] of Object.entries(PEERS)) {
  Deno.test(`an address of ${title} ${expected === null ? "may be that of the API server" : "is not that of the API server"}`, async () => {
    const transport = () => Promise.resolve(Response.json({ items: [item] }));
    const client = createClient({ origin: "https://cluster.example", transport });
    assertEquals(await createFindPodAt({ client, clock: new VirtualClock(), namespaces: null })("10.1.0.7"), expected);
  });
}

Deno.test("the search for a pod rejects where podfit may not list pods", async () => {
  const body = { kind: "Status", apiVersion: "v1", status: "Failure", code: 403, message: "pods is forbidden" };
  const transport = () => Promise.resolve(Response.json(body, { status: 403 }));
  const client = createClient({ origin: "https://cluster.example", transport });
  const find = createFindPodAt({ client, clock: new VirtualClock(), namespaces: null });
  const { message } = await assertRejects(() => find("10.1.0.7"), Error);
  assertStringIncludes(message, "pods is forbidden");
});

Deno.test("over a connection, the listener takes the client's own address and not what a header says", async () => {
  const seen: (string | null)[] = [];
  const records = { get: () => ["a\n"], listLatest: () => ["a\n"], watch: () => null };
  const routes = debugRoutes(records, ({ address, podUid }) => {
    seen.push(address, podUid);
    return Promise.resolve({ kind: "outsider", why: "x" });
  });
  await using http = serve(createHandler([routes]), { hostname: "127.0.0.1", port: 0 });
  const headers = { [POD_UID_HEADER]: UID, "x-forwarded-for": "10.0.0.1", forwarded: "for=10.0.0.1" };
  const response = await fetch(`http://127.0.0.1:${http.port}/debug/records?latest=true`, { headers });
  assertEquals([response.status, await response.text(), seen], [403, "Forbidden: x\n", ["127.0.0.1", UID]]);
});
