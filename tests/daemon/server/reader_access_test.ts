/** Who may read the metrics, as the embedded API server says, how often it is asked, and what is said while it cannot be. */
import { assert, assertEquals, assertStringIncludes } from "#assert";
import { type Access, openReaderAccess } from "../../../lib/daemon/server/reader_access.ts";
import { createClient } from "../../../lib/kube/client.ts";
import { settleEventLoop } from "../../support/virtual_clock.ts";
import { ADMIN, type User } from "../../support/embedded/access.ts";
import type { Json } from "../../support/api_objects.ts";
import { ORIGIN, SimServer } from "../../support/sim_server.ts";

const AS_ADMIN = { headers: { authorization: "Bearer admin" } };
const READER: User = { name: "prometheus", groups: ["system:authenticated"] };
const OTHER: User = { name: "alice", groups: [] };
const PODFIT: User = { name: "podfit", groups: [] };
const ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
const [TOKENS, RIGHTS] = [
  { apiGroups: ["authentication.k8s.io"], resources: ["tokenreviews"], verbs: ["create"] },
  { apiGroups: ["authorization.k8s.io"], resources: ["subjectaccessreviews"], verbs: ["create"] },
];

/** podfit with the right to ask, a reader who may, and one who may not. */
async function start() {
  const tokens = new Map([["admin", ADMIN], ["podfit", PODFIT], ["reader", READER], ["other", OTHER]]);
  const sim = new SimServer({ tokens });
  await grant(sim, PODFIT, [TOKENS, RIGHTS]);
  await grant(sim, READER, [{ nonResourceURLs: ["/metrics"], verbs: ["get"] }]);
  const asked: string[] = [];
  const said: string[] = [];
  let fail: ((request: Request) => Promise<Response>) | null = null;
  const transport = (request: Request) => {
    asked.push(new URL(request.url).pathname.split("/").at(-1) ?? "");
    request.headers.set("authorization", "Bearer podfit");
    return fail === null ? sim.api.handle(request) : fail(request);
  };
  const check = await openReaderAccess({
    client: createClient({ origin: ORIGIN, transport }),
    clock: sim.clock,
    onFailure: ({ kind }) => said.push(kind),
    onAnswered: () => said.push("answered"),
  });
  return {
    sim,
    asked,
    said,
    ask: (token: string) => check(`Bearer ${token}`, "/metrics"),
    check,
    failWith: (next: typeof fail) => fail = next,
  };
}

async function grant(sim: SimServer, { name }: User, rules: readonly Json[]): Promise<void> {
  await sim.create(ROLES, { metadata: { name }, rules }, AS_ADMIN);
  await sim.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
    metadata: { name },
    roleRef: { kind: "ClusterRole", name },
    subjects: [{ kind: "User", name }],
  }, AS_ADMIN);
}

Deno.test("readers are admitted by their right to get /metrics, and named where they lack it", async () => {
  const { ask } = await start();
  assertEquals(await ask("reader"), { kind: "allowed" });
  assertEquals(await ask("other"), { kind: "denied", user: "alice" });
  assertEquals(await ask("nobodys"), { kind: "unknownReader" });
});

/** A token that says so about itself; its signature is nobody's matter here. */
function toJwt(payload: unknown): string {
  const encode = (value: unknown) =>
    new TextEncoder().encode(JSON.stringify(value)).toBase64({ alphabet: "base64url", omitPadding: true });
  return `${encode({ alg: "RS256" })}.${encode(payload)}.c2ln`;
}

Deno.test("a token of the audience podfit is reviewed for it, and every other for the API server (C52)", async () => {
  const status = { authenticated: true, user: { username: "prometheus" } };
  const cases: readonly (readonly [token: string, audiences: unknown, accepted: Json, kind: string])[] = [
    [toJwt({ aud: ["podfit"] }), ["podfit"], ["podfit"], "allowed"],
    [toJwt({ aud: "podfit" }), ["podfit"], ["podfit"], "allowed"],
    // The API server does not know audiences: the token is one of its own.
    [toJwt({ aud: ["podfit"], n: 1 }), ["podfit"], undefined, "allowed"],
    [toJwt({ aud: ["podfit"], n: 2 }), ["podfit"], ["another"], "unknownReader"],
    [toJwt({ aud: ["https://kubernetes.default.svc"] }), undefined, ["https://kubernetes.default.svc"], "allowed"],
    [toJwt({ aud: ["notpodfit"] }), undefined, undefined, "allowed"],
    [toJwt(null), undefined, undefined, "allowed"],
    ["opaque", undefined, undefined, "allowed"],
    ["a.%.b", undefined, undefined, "allowed"],
  ];
  const { ask, failWith } = await start();
  for (const [token, audiences, accepted, kind] of cases) {
    const specs: Json[] = [];
    failWith(async (request) => {
      const body = await request.json();
      if (body.kind !== "TokenReview") return Response.json({ ...body, status: { allowed: true } });
      specs.push(body.spec);
      return Response.json({ ...body, status: { ...status, audiences: accepted } });
    });
    assertEquals((await ask(token)).kind, kind, token);
    assertEquals(specs, [{ token, ...(audiences !== undefined && { audiences }) }]);
  }
});

Deno.test("what is no bearer token is refused without asking anybody", async () => {
  const { check, asked } = await start();
  const headers = [
    null,
    "",
    "Bearer",
    "Bearer ",
    "Basic reader",
    "reader",
    "Bearer reader, Bearer reader",
    "Bearer re ader",
  ];
  for (const header of [...headers, `Bearer ${"x".repeat(8193)}`]) {
    assertEquals(await check(header, "/metrics"), { kind: "unknownReader" }, header ?? "none");
  }
  assertEquals(asked, []);
  assertEquals(await check("bearer   reader", "/metrics"), { kind: "allowed" });
});

Deno.test("answers are kept: a user 1 min, a right 5 min, a refusal 30 s, nobody 10 s", async () => {
  const { sim, ask, asked } = await start();
  const seen = async (token: string, seconds: number) => {
    await sim.clock.advance(seconds * 1000);
    const before = asked.length;
    await ask(token);
    return asked.slice(before).join(" ");
  };
  assertEquals(await seen("reader", 0), "tokenreviews subjectaccessreviews");
  assertEquals(await seen("reader", 59), "");
  assertEquals(await seen("reader", 1), "tokenreviews");
  assertEquals(await seen("reader", 239), "tokenreviews");
  assertEquals(await seen("reader", 1), "subjectaccessreviews");
  assertEquals(await seen("other", 0), "tokenreviews subjectaccessreviews");
  assertEquals(await seen("other", 29), "");
  assertEquals(await seen("other", 1), "subjectaccessreviews");
  assertEquals(await seen("nobodys", 0), "tokenreviews");
  assertEquals(await seen("nobodys", 9), "");
  assertEquals(await seen("nobodys", 1), "tokenreviews");
});

Deno.test("a right that is taken away ends with the answer, and so does a token", async () => {
  const { sim, ask } = await start();
  await ask("reader");
  await sim.call("DELETE", `${ROLES}/prometheus`, undefined, AS_ADMIN);
  await sim.clock.advance(299_999);
  assertEquals(await ask("reader"), { kind: "allowed" });
  await sim.clock.advance(1);
  assertEquals(await ask("reader"), { kind: "denied", user: "prometheus" });
  sim.api.access.revoke("reader");
  await sim.clock.advance(60_000);
  assertEquals(await ask("reader"), { kind: "unknownReader" });
});

Deno.test("many who ask with one token at once are one question, and of others few are asked at a time", async () => {
  const { ask, asked, said, failWith, sim } = await start();
  await Promise.all(Array.from({ length: 50 }, () => ask("reader")));
  assertEquals(asked, ["tokenreviews", "subjectaccessreviews"]);
  failWith(({ signal }) =>
    new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }))
  );
  const waiting = Array.from({ length: 50 }, (_, index) => ask(`guess${index}`));
  for (let turn = 0; turn < 10; turn++) await settleEventLoop();
  assertEquals(asked.length, 2 + 4);
  // Who is known already is not held up.
  assertEquals(await ask("reader"), { kind: "allowed" });
  await sim.clock.advance(10_000);
  const answers = await Promise.all(waiting);
  const why = "cannot ask the API server for tokenreviews.authentication.k8s.io: no answer within 10 s";
  const crowded = "too many readers whom podfit does not know ask at once";
  const whys = answers.map((one) => one.kind === "unanswered" ? one.why : one.kind);
  assertEquals(new Set(whys), new Set([why, crowded]));
  assert(whys.filter((one) => one === crowded).length >= 20, `${whys}`);
  // What was not asked is no failure of the API server's.
  assertEquals(said.filter((one) => one.includes("crowded") || one.includes("at once")), []);
  assertEquals(sim.clock.pending, 0);
});

Deno.test("whoever guesses tokens has the API server asked 10 times a second, and who was known goes first", async () => {
  const { ask, asked, sim } = await start();
  await ask("reader");
  // So long that it has to be asked about anew.
  await sim.clock.advance(60_000);
  asked.length = 0;
  const guesses = Array.from({ length: 400 }, (_, index) => ask(`guess${index}`));
  for (let turn = 0; turn < 10; turn++) await settleEventLoop();
  await sim.clock.advance(5_000);
  assert(asked.length <= 20 + 51 && asked.length > 60, `${asked.length} questions in 5 s`);
  const reader = ask("reader");
  for (let turn = 0; turn < 10; turn++) await settleEventLoop();
  await sim.clock.advance(1_000);
  assertEquals(await reader, { kind: "allowed" });
  await sim.clock.advance(10_000);
  const kinds = new Set((await Promise.all(guesses)).map(({ kind }) => kind));
  // Of 400 more than a hundred wait at no time: the others are answered at once.
  assertEquals(kinds, new Set(["unknownReader", "unanswered"]));
  assertEquals(sim.clock.pending, 0);
});

Deno.test("while the API server fails nobody is admitted who is not known, and the next try asks it again", async () => {
  const { ask, said, failWith, sim } = await start();
  await ask("reader");
  failWith(() => Promise.resolve(new Response("overloaded", { status: 429 })));
  assertEquals(await ask("reader"), { kind: "allowed" });
  const why = "cannot ask the API server for tokenreviews.authentication.k8s.io: overloaded";
  assertEquals(await ask("other"), { kind: "unanswered", why });
  await sim.clock.advance(60_000);
  assertEquals(await ask("reader"), { kind: "unanswered", why });
  failWith(() => Promise.reject(new TypeError("it is down")));
  assertStringIncludes(describe(await ask("reader")), "it is down");
  failWith(null);
  assertEquals(await ask("reader"), { kind: "allowed" });
  assertEquals(said, ["answered", "unanswered", "unanswered", "unanswered", "answered"]);
});

Deno.test("a right to ask that podfit lacks is named", async () => {
  const { sim, ask } = await start();
  for (
    const [rules, resource] of [[[RIGHTS], "tokenreviews.authentication"], [
      [TOKENS],
      "subjectaccessreviews.authorization",
    ]]
  ) {
    await sim.patch(`${ROLES}/podfit`, { rules }, AS_ADMIN);
    const access = await ask("reader");
    assertEquals(access.kind, "rightMissing");
    assertStringIncludes(
      describe(access),
      `lacks the right to "create" ${resource}.k8s.io, which is needed to admit readers`,
    );
  }
});

function describe(access: Access): string {
  return "why" in access ? access.why : access.kind;
}
