/** Who may do what in the embedded API server: tokens, and rights out of the manifests that grant them. */
import { assertEquals } from "#assert";
import { ADMIN } from "../../../support/embedded/access.ts";
import type { Json } from "../../../support/api_objects.ts";
import { readRefusal } from "../../../support/refusals.ts";
import { readRights } from "../../../support/rights.ts";
import { type Answer, expectOk, podManifest, SimServer } from "../../../support/sim_server.ts";

const PODS = "/api/v1/namespaces/shop/pods";
const AS_ADMIN = { headers: { authorization: "Bearer admin" } };

/** With the project's own rights applied, its account's token, and a pod "a" in "shop". */
async function start() {
  const sim = new SimServer({ tokens: new Map([["admin", ADMIN]]) });
  await sim.create("/api/v1/namespaces", { metadata: { name: "shop" } }, AS_ADMIN);
  for (const object of await readRights()) {
    const [group, plural] = [object.apiVersion.replace(/^v1$/, ""), `${object.kind.toLowerCase()}s`];
    const inside = object.metadata.namespace === undefined ? "" : `namespaces/${object.metadata.namespace}/`;
    const path = `${group === "" ? "/api/v1" : `/apis/${group}`}/${inside}${plural}`;
    await sim.create(path, object, AS_ADMIN);
  }
  await sim.create(PODS, podManifest("a", { requests: { cpu: "100m" } }), AS_ADMIN);
  const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
  const login = async (account: string) => {
    const path = `/api/v1/namespaces/podfit/serviceaccounts/${account}/token`;
    const { status } = await sim.create(path, request, AS_ADMIN);
    return { authorization: `Bearer ${status.token}` };
  };
  return { sim, headers: await login("podfit"), kubeletHeaders: await login("podfit-kubelet") };
}

function resize(sim: SimServer, headers: Record<string, string>): Promise<Answer> {
  const spec = { containers: [{ name: "main", resources: { requests: { cpu: "200m" } } }] };
  return sim.patch(`${PODS}/a/resize`, { spec }, { headers });
}

Deno.test("podfit's account may do what its manifest grants, and nothing else (C54)", async () => {
  const { sim, headers } = await start();
  assertEquals((await resize(sim, headers)).code, 200);
  assertEquals((await sim.call("GET", "/api/v1/pods", undefined, { headers })).code, 200);
  const answers = await Promise.all([
    sim.patch(`${PODS}/a`, { metadata: { labels: { x: "y" } } }, { headers }),
    sim.call("DELETE", `${PODS}/a`, undefined, { headers }),
    sim.call("GET", "/api/v1/secrets", undefined, { headers }),
    sim.call("GET", "/api/v1/nodes/node1/proxy/stats/summary", undefined, { headers }),
    sim.call("GET", "/metrics", undefined, { headers }),
  ]);
  const who = 'User "system:serviceaccount:podfit:podfit" cannot';
  assertEquals(answers.map(({ code, body }) => [code, body.message]), [
    [403, `pods "a" is forbidden: ${who} patch resource "pods" in API group "" in the namespace "shop"`],
    [403, `pods "a" is forbidden: ${who} delete resource "pods" in API group "" in the namespace "shop"`],
    [403, `secrets is forbidden: ${who} list resource "secrets" in API group "" at the cluster scope`],
    [403, `nodes "node1" is forbidden: ${who} get resource "nodes/proxy" in API group "" at the cluster scope`],
    [403, `forbidden: ${who} get path "/metrics"`],
  ]);
});

Deno.test("a right that is taken away is missed in a real server's words", async () => {
  const { sim, headers } = await start();
  const role = "/apis/rbac.authorization.k8s.io/v1/clusterroles/podfit";
  const rules = [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }];
  expectOk(await sim.patch(role, { rules }, AS_ADMIN));
  assertEquals((await resize(sim, headers)).body, readRefusal("rights").body);
});

Deno.test("a role is good for its namespace alone", async () => {
  const { sim, headers } = await start();
  const rbac = "/apis/rbac.authorization.k8s.io/v1";
  expectOk(await sim.call("DELETE", `${rbac}/clusterrolebindings/podfit`, undefined, AS_ADMIN));
  await sim.create(`${rbac}/namespaces/shop/rolebindings`, {
    metadata: { name: "podfit" },
    roleRef: { kind: "ClusterRole", name: "podfit" },
    subjects: [{ kind: "ServiceAccount", namespace: "podfit", name: "podfit" }],
  }, AS_ADMIN);
  const list = async (path: string) => (await sim.call("GET", path, undefined, { headers })).code;
  assertEquals([await list(PODS), await list("/api/v1/pods"), await list("/api/v1/namespaces/default/pods")], [
    200,
    403,
    403,
  ]);
});

Deno.test("a token nobody knows is refused, one that is revoked too, none at all is anonymous", async () => {
  const { sim, headers } = await start();
  const ask = (authorization: string) => sim.call("GET", "/api/v1/pods", undefined, { headers: { authorization } });
  const unauthorized = { code: 401, body: await unauthorizedBody() };
  assertEquals(await ask("Bearer wrong"), unauthorized);
  sim.api.access.revoke(headers.authorization.slice("Bearer ".length));
  assertEquals(await ask(headers.authorization), unauthorized);
  const { code, body } = await sim.call("GET", "/api/v1/pods");
  assertEquals([code, body.message], [
    403,
    'pods is forbidden: User "system:anonymous" cannot list resource "pods" in API group "" at the cluster scope',
  ]);
});

Deno.test("podfit's account may ask for tokens of the account that kubelets see, and of no other (C54)", async () => {
  const { sim, headers } = await start();
  const ask = async (namespace: string, account: string) => {
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`;
    return (await sim.call("POST", path, { spec: {} }, { headers })).code;
  };
  assertEquals(await ask("podfit", "podfit-kubelet"), 201);
  assertEquals([await ask("podfit", "podfit"), await ask("shop", "podfit-kubelet")], [403, 403]);
});

Deno.test("the account that kubelets see may read usage, and nothing of the API (C54)", async () => {
  const { sim, kubeletHeaders: headers } = await start();
  assertEquals((await resize(sim, headers)).code, 403);
  for (const path of ["/api/v1/pods", "/api/v1/nodes", "/api/v1/nodes/node1/proxy/stats/summary"]) {
    assertEquals((await sim.call("GET", path, undefined, { headers })).code, 403, path);
  }
});

Deno.test("kubelets are told whose a token is and what its owner may do", async () => {
  const { sim, kubeletHeaders } = await start();
  const token = kubeletHeaders.authorization.slice("Bearer ".length);
  const review = (group: string, plural: string, spec: Json) =>
    sim.create(`/apis/${group}.k8s.io/v1/${plural}`, { spec }, AS_ADMIN);
  const { status } = await review("authentication", "tokenreviews", { token });
  assertEquals([status.authenticated, status.user.username], [true, "system:serviceaccount:podfit:podfit-kubelet"]);
  const may = async (subresource: string) => {
    const resourceAttributes = { verb: "get", resource: "nodes", subresource };
    const spec = { user: status.user.username, groups: status.user.groups, resourceAttributes };
    return (await review("authorization", "subjectaccessreviews", spec)).status.allowed;
  };
  assertEquals([await may("stats"), await may("proxy")], [true, false]);
});

Deno.test("who may not ask about others is refused, asks about themselves, and a question without a token is none", async () => {
  const { sim, headers } = await start();
  const ask = async (group: string, plural: string, spec: Json, options: { headers: Record<string, string> }) => {
    const { code, body } = await sim.call("POST", `/apis/${group}.k8s.io/v1/${plural}`, { spec }, options);
    return [code, body.message ?? body.status.allowed];
  };
  const who = 'User "system:serviceaccount:podfit:podfit" cannot create resource';
  assertEquals(await ask("authentication", "tokenreviews", { token: "x" }, { headers }), [
    403,
    `tokenreviews.authentication.k8s.io is forbidden: ${who} "tokenreviews" in API group "authentication.k8s.io" at ` +
    "the cluster scope",
  ]);
  const resourceAttributes = { verb: "list", resource: "pods" };
  assertEquals(await ask("authorization", "subjectaccessreviews", { user: "a", resourceAttributes }, { headers }), [
    403,
    `subjectaccessreviews.authorization.k8s.io is forbidden: ${who} "subjectaccessreviews" in API group ` +
    '"authorization.k8s.io" at the cluster scope',
  ]);
  assertEquals(await ask("authorization", "selfsubjectaccessreviews", { resourceAttributes }, { headers }), [
    201,
    true,
  ]);
  assertEquals(await ask("authentication", "tokenreviews", {}, AS_ADMIN), [
    400,
    "token is required for TokenReview in authentication",
  ]);
});

function unauthorizedBody(): Json {
  const rest = { metadata: {}, status: "Failure", message: "Unauthorized", reason: "Unauthorized", code: 401 };
  return { kind: "Status", apiVersion: "v1", ...rest };
}
