import { assert, assertEquals, assertRejects, assertStringIncludes } from "#assert";
import fc from "fast-check";
import type { Authentication } from "../../lib/resources/trigger_authentication/trigger_authentication.ts";
import { resolveCredentials, type ResolvedCredentials, type TargetResult } from "../../lib/triggers/credentials.ts";
import type { ObjectResult } from "../../lib/triggers/container_env.ts";

type Entries = Readonly<Record<string, string>>;

Deno.test("resolveCredentials() reads each secret once, by its name, in the object's namespace (R16)", async () => {
  const cluster = world({ "shop/prom": { token: "t", pass: "pé\n" } });
  const secrets = [
    { parameter: "bearerToken", name: "prom", key: "token" },
    { parameter: "password", name: "prom", key: "pass" },
  ];
  assertEquals(await cluster.resolve({ secrets }), resolved({ bearerToken: "t", password: "pé\n" }));
  assertEquals(cluster.asked, ["secret shop/prom"]);
});

Deno.test("resolveCredentials() reads secrets of a ClusterTriggerAuthentication in podfit's own namespace and nowhere else (R16)", async () => {
  const secrets = [{ parameter: "token", name: "prom", key: "token" }];
  const kind = "ClusterTriggerAuthentication";
  const both = world({ "shop/prom": { token: "the tenant's" }, "podfit/prom": { token: "podfit's" } });
  assertEquals(await both.resolve({ kind, secrets }), resolved({ token: "podfit's" }, kind));
  assertEquals(both.asked, ["secret podfit/prom"]);
  const tenant = world({ "shop/prom": { token: "the tenant's" } });
  assertEquals((await tenant.resolve({ kind, secrets })).kind, "missing");
});

Deno.test("resolveCredentials() reads no secret of podfit's own namespace for anything of a tenant's (R16)", async () => {
  const own = { "podfit/prom": { token: "podfit's" } };
  const secrets = [{ parameter: "token", name: "prom", key: "token" }];
  assertEquals((await world(own).resolve({ secrets })).kind, "missing");
  // Whoever writes the pod template names secrets too, also where a ClusterTriggerAuthentication names the variable.
  const target = deployment({ env: [{ name: "TOKEN", valueFrom: { secretKeyRef: { name: "prom", key: "token" } } }] });
  const env = [{ parameter: "token", name: "TOKEN", containerName: null }];
  const cluster = world(own, { target });
  assertEquals((await cluster.resolve({ kind: "ClusterTriggerAuthentication", env })).kind, "missing");
  assertEquals(cluster.asked, ["target", "secret shop/prom"]);
});

Deno.test("resolveCredentials() lets the variables of a tenant name no server for the operator's secrets (R16)", async () => {
  const target = deployment({ env: [{ name: "SERVER", value: "https://evil.example" }] });
  const env = [{ parameter: "serverAddress", name: "SERVER", containerName: null }];
  const secrets = [{ parameter: "token", name: "prom", key: "token" }];
  const options = { rules: { goAnywhere: false, overPlainHttp: false } };
  for (
    const [kind, allowedHosts, expected] of [
      ["ClusterTriggerAuthentication", [], []],
      ["TriggerAuthentication", [], ["evil.example"]],
    ] as const
  ) {
    const authentication = authenticationOf({ kind, env, secrets, allowedHosts, allowedNamespaces: "*" });
    const held = world({ "podfit/prom": { token: "t" }, "shop/prom": { token: "t" } }, { target });
    const found = await resolveCredentials(authentication, { ...held.options, ...options });
    assert(found.kind === "resolved", JSON.stringify(found));
    assertEquals(JSON.stringify(found.audience?.hosts).includes("evil.example"), expected.length > 0, kind);
  }
});

Deno.test("resolveCredentials() tells what is missing from what could not be read, and names it (R16)", async () => {
  const secrets = [{ parameter: "token", name: "prom", key: "token" }];
  const start = 'Cannot resolve parameter "token" of TriggerAuthentication "auth": ';
  assertEquals(await world({}).resolve({ secrets }), {
    kind: "missing",
    message: `${start}there is no secret "shop/prom"`,
  });
  const other = world({ "shop/prom": { other: "CANARY" } });
  assertEquals(await other.resolve({ secrets }), {
    kind: "missing",
    message: `${start}secret "shop/prom" has no key "token"`,
  });
  const forbidden = world({}, { failure: "podfit may not get secrets there; allow it" });
  assertEquals(await forbidden.resolve({ secrets }), {
    kind: "failed",
    message: `${start}secret "shop/prom" cannot be read: podfit may not get secrets there; allow it`,
  });
});

Deno.test("resolveCredentials() refuses a secret that is not base64, without quoting it (R16)", async () => {
  const found = await resolveCredentials(authenticationOf({ secrets: [{ parameter: "p", name: "s", key: "k" }] }), {
    ...world({}).options,
    fetchSecret: () => Promise.resolve({ kind: "found", entries: { k: "CANARY!" } }),
  });
  assert(found.kind === "failed" && !found.message.includes("CANARY"), JSON.stringify(found));
});

Deno.test("resolveCredentials() reads variables of a container of the target: by value, secret, config map and envFrom (R16)", async () => {
  const target = deployment({
    env: [
      { name: "PLAIN", value: "a" },
      { name: "SECRET", valueFrom: { secretKeyRef: { name: "s", key: "k" } } },
      { name: "CONFIG", valueFrom: { configMapKeyRef: { name: "c", key: "k" } } },
      { name: "TWICE", value: "first" },
      { name: "TWICE", value: "second" },
      { name: "FROM_ALL", value: "own" },
      { name: "NOTHING" },
    ],
    envFrom: [
      { configMapRef: { name: "c" } },
      { prefix: "P_", secretRef: { name: "s" } },
      { configMapRef: { name: "later" } },
      { configMapRef: { name: "gone", optional: true } },
    ],
  });
  const world_ = world({ "shop/s": { k: "secret" } }, {
    target,
    configMaps: { "shop/c": { k: "config", FROM_ALL: "c", BOTH: "earlier" }, "shop/later": { BOTH: "later" } },
  });
  const table = {
    PLAIN: "a",
    SECRET: "secret",
    CONFIG: "config",
    TWICE: "second",
    FROM_ALL: "own",
    NOTHING: "",
    k: "config",
    P_k: "secret",
    BOTH: "later",
  };
  for (const [name, value] of Object.entries(table)) {
    assertEquals(
      await world_.resolve({ env: [{ parameter: "p", name, containerName: null }] }),
      resolved({ p: value }),
      name,
    );
  }
});

Deno.test("resolveCredentials() reads nothing that the variable does not need (R16)", async () => {
  const target = deployment({
    env: [{ name: "A", value: "a" }, { name: "B", valueFrom: { secretKeyRef: { name: "other", key: "k" } } }],
    envFrom: [{ secretRef: { name: "all" } }],
  });
  const cluster = world({}, { target });
  assertEquals(
    await cluster.resolve({ env: [{ parameter: "p", name: "A", containerName: null }] }),
    resolved({ p: "a" }),
  );
  assertEquals(cluster.asked, ["target"]);
});

Deno.test("resolveCredentials() replaces references to variables before, as KEDA does (R16)", async () => {
  const table: readonly (readonly [text: string, expanded: string])[] = [
    ["x$(A)y", "xay"],
    ["$(A)$(A)", "aa"],
    ["$(MISSING)", "$(MISSING)"],
    ["$(LATER)", "$(LATER)"],
    ["$(OWN)", "$(OWN)"],
    ["$$(A)", "$(A)"],
    ["$(A", "$(A"],
    ["100$", "100$"],
    ["$x()()", "$x()()"],
    ["$(NESTED)", "[a]"],
    ["$(FROM)", "from"],
  ];
  for (const [text, expanded] of table) {
    const env = [{ name: "A", value: "a" }, { name: "NESTED", value: "[$(A)]" }, { name: "OWN", value: text }, {
      name: "LATER",
      value: "l",
    }];
    const target = deployment({ env, envFrom: [{ configMapRef: { name: "c" } }] });
    const cluster = world({}, { target, configMaps: { "shop/c": { FROM: "from" } } });
    assertEquals(
      await cluster.resolve({ env: [{ parameter: "p", name: "OWN", containerName: null }] }),
      resolved({ p: expanded }),
      text,
    );
  }
});

Deno.test("resolveCredentials() bounds variables that multiply (R16)", async () => {
  const env = Array.from(
    { length: 40 },
    (_, index) => ({ name: `V${index}`, value: index === 0 ? "xxxxxxxxxx" : `$(V${index - 1})`.repeat(9) }),
  );
  const found = await world({}, { target: deployment({ env }) }).resolve({
    env: [{ parameter: "p", name: "V39", containerName: null }],
  });
  assert(found.kind === "failed", found.kind);
  assertStringIncludes(found.message, "a variable is longer than 65536 characters");
});

/** `V0` to `Vn`, each with what `toValue` gives it. */
function chain(length: number, toValue: (index: number) => string): readonly { name: string; value: string }[] {
  return Array.from({ length }, (_, index) => ({ name: `V${index}`, value: toValue(index) }));
}

const resolveVariable = (env: readonly object[], name: string, count = 1) => {
  const cluster = world({}, { target: deployment({ env }) });
  const parameters = Array.from(
    { length: count },
    (_, index) => ({ parameter: `p${index}`, name, containerName: null }),
  );
  return cluster.resolve({ env: parameters }).then((found) => ({ found, turns: cluster.turns.count }));
};

Deno.test("resolveCredentials() bounds a chain of references, and never overflows the stack (R16)", async () => {
  const linked = (length: number) => chain(length, (index) => index === 0 ? "xxxx" : `$(V${index - 1})   `);
  assertEquals((await resolveVariable(linked(100), "V99")).found.kind, "resolved");
  for (const length of [101, 1000]) {
    const { found } = await resolveVariable(linked(length), `V${length - 1}`);
    assert(found.kind === "failed", `${length}: ${found.kind}`);
    assertStringIncludes(found.message, 'of TriggerAuthentication "auth": its container has variables that refer to');
    assertStringIncludes(found.message, "more than 100 deep");
  }
});

Deno.test("resolveCredentials() refuses a container with more than 1000 variables (R16)", async () => {
  assertEquals((await resolveVariable(chain(1000, () => "x"), "V999")).found.kind, "resolved");
  const { found } = await resolveVariable(chain(1001, () => "x"), "V1000");
  assert(found.kind === "failed", found.kind);
  assertStringIncludes(found.message, "its container has more than 1000 variables");
});

Deno.test("resolveCredentials() reads a variable once for all parameters, and lets others work in between (R16)", async () => {
  const references = 16_000;
  const env = [...chain(900, () => ""), { name: "W", value: "$(q)".repeat(references) + "   " }];
  const one = await resolveVariable(env, "W", 1);
  const many = await resolveVariable(env, "W", 64);
  assertEquals([one.found.kind, many.found.kind], ["resolved", "resolved"]);
  assert(one.turns >= 30, `${one.turns} turns`);
  assertEquals(many.turns, one.turns);
});

Deno.test("resolveCredentials() bounds the work for absent variables, references and sources (R16)", async () => {
  const own = { valueFrom: { fieldRef: { fieldPath: "metadata.name" } } };
  const absent = Array.from({ length: 999 }, () => ({ name: "A", ...own }));
  const { found } = await resolveVariable([...absent, { name: "W", value: "$(A)".repeat(16_000) }], "W");
  assert(found.kind === "failed", found.kind);
  assertStringIncludes(found.message, "have more than 20000 references");
  const sources = Array.from({ length: 1000 }, () => ({ prefix: "P", configMapRef: { name: "c" } }));
  const value = Array.from({ length: 21 }, (_, index) => `$(n${index})`).join("");
  const cluster = world({}, { target: deployment({ env: [{ name: "W", value }], envFrom: sources }) });
  const scanned = await cluster.resolve({ env: [{ parameter: "p", name: "W", containerName: null }] });
  assert(scanned.kind === "failed", scanned.kind);
});

Deno.test("resolveCredentials() bounds all variables of a container together (R16)", async () => {
  const env = chain(20, () => "x".repeat(2 ** 16));
  const { found } = await resolveVariable([...env, { name: "W", value: "$(V1)" }], "W");
  assertEquals(found.kind, "resolved");
  const cluster = world({}, { target: deployment({ env }) });
  const all = env.map(({ name }) => ({ parameter: name, name, containerName: null }));
  const together = await cluster.resolve({ env: all });
  assert(together.kind === "failed", together.kind);
  assertStringIncludes(together.message, "its container's variables have more than 1048576 characters");
});

Deno.test("resolveCredentials() fetches at most 64 objects of at most 2 MiB together (R16)", async () => {
  const sources = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ configMapRef: { name: `c${index}` } }));
  const resolveFrom = async (count: number, entries: Entries) => {
    const configMaps = Object.fromEntries(sources(count).map((_, index) => [`shop/c${index}`, entries]));
    const cluster = world({}, { target: deployment({ envFrom: sources(count) }), configMaps });
    const found = await cluster.resolve({ env: [{ parameter: "p", name: "NONE", containerName: null }] });
    return { asked: cluster.asked.length - 1, kind: found.kind };
  };
  assertEquals(await resolveFrom(64, { K: "v" }), { asked: 64, kind: "missing" });
  assertEquals(await resolveFrom(200, { K: "v" }), { asked: 64, kind: "failed" });
  assertEquals(await resolveFrom(20, { K: "v".repeat(2 ** 19) }), { asked: 5, kind: "failed" });
});

Deno.test("resolveCredentials() takes the named container's variables, else the first one's (R16)", async () => {
  const container = (name: string) => ({ name, env: [{ name: "N", value: name }] });
  const target = { spec: { template: { spec: { containers: [container("a"), container("b")] } } } };
  const one = (containerName: string | null) =>
    world({}, { target }).resolve({ env: [{ parameter: "p", name: "N", containerName }] });
  assertEquals(await one(null), resolved({ p: "a" }));
  assertEquals(await one("b"), resolved({ p: "b" }));
  const missing = await one("c");
  assert(missing.kind === "missing");
  assertStringIncludes(missing.message, 'its target has no container "c"');
});

Deno.test("resolveCredentials() says which variable is not there, and what of it (R16)", async () => {
  const table: readonly (readonly [container: object, cause: string | null])[] = [
    [{}, 'its container has no variable "V"'],
    [
      { env: [{ name: "V", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }] },
      'its container has no variable "V"',
    ],
    [{ env: [{ name: "V", valueFrom: { secretKeyRef: { name: "s", key: "none" } } }] }, 'secret "s" has no key "none"'],
    [{ env: [{ name: "V", valueFrom: { secretKeyRef: { name: "x", key: "k" } } }] }, 'there is no secret "shop/x"'],
    [
      { env: [{ name: "V", valueFrom: { secretKeyRef: { name: "x", key: "k", optional: true } } }] },
      'its container has no variable "V"',
    ],
    [
      { env: [{ name: "V", valueFrom: { configMapKeyRef: { name: "x", key: "k" } } }] },
      'there is no config map "shop/x"',
    ],
    [{ envFrom: [{ secretRef: { name: "x" } }] }, 'there is no secret "shop/x"'],
    [{ envFrom: [{ secretRef: { name: "x", optional: true } }] }, 'its container has no variable "V"'],
    [{ env: [{ name: "V", value: "$(W)-" }, { name: "W", value: "w" }] }, null],
  ];
  for (const [container, cause] of table) {
    const cluster = world({ "shop/s": { k: "CANARY" } }, { target: deployment(container) });
    const found = await cluster.resolve({ env: [{ parameter: "p", name: "V", containerName: null }] });
    assertEquals(found.kind, cause === null ? "resolved" : "missing", JSON.stringify(found));
    if (found.kind === "missing") assertStringIncludes(found.message, cause ?? "");
  }
});

Deno.test("resolveCredentials() takes a secret rather than a variable of the same parameter (R16)", async () => {
  const target = deployment({ env: [{ name: "V", value: "variable" }] });
  const cluster = world({ "shop/s": { k: "secret" } }, { target });
  const env = [{ parameter: "p", name: "V", containerName: null }];
  assertEquals(
    await cluster.resolve({ env, secrets: [{ parameter: "p", name: "s", key: "k" }] }),
    resolved({ p: "secret" }),
  );
});

Deno.test("resolveCredentials() says when the target is not there, or cannot be read (R16)", async () => {
  const env = [{ parameter: "p", name: "V", containerName: null }];
  const gone = await world({}, { fetchTarget: { kind: "missing" } }).resolve({ env });
  assert(gone.kind === "missing");
  assertStringIncludes(gone.message, "its target is not there");
  const failed = await world({}, { fetchTarget: { kind: "failed", cause: "503" } }).resolve({ env });
  assert(failed.kind === "failed");
  assertStringIncludes(failed.message, "its target cannot be read: 503");
});

Deno.test("resolveCredentials() rejects with the signal's reason (R16)", async () => {
  const options = { ...world({}).options, fetchSecret: () => Promise.reject(new Error("shutting down")) };
  const authentication = authenticationOf({ secrets: [{ parameter: "p", name: "s", key: "k" }] });
  await assertRejects(() => resolveCredentials(authentication, options), Error, "shutting down");
});

Deno.test("resolveCredentials() takes a target of any shape (R16)", async () => {
  await fc.assert(fc.asyncProperty(fc.jsonValue(), fc.jsonValue(), async (a, b) => {
    const env = [{ parameter: "p", name: "V", containerName: null }];
    for (
      const target of [
        a,
        deployment({ env: a, envFrom: b }),
        deployment({ env: [a, { name: "V", value: b, valueFrom: a }], envFrom: [b, { secretRef: a }] }),
      ]
    ) {
      await world({}, { target }).resolve({ env });
    }
  }));
});

interface More {
  readonly target?: unknown;
  readonly fetchTarget?: TargetResult;
  readonly configMaps?: Readonly<Record<string, Entries>>;
  /** Why no object can be read. */
  readonly failure?: string;
}

/** A cluster with these secrets, in plain text, by namespace and name. */
function world(secrets: Readonly<Record<string, Entries>>, more: More = {}) {
  const asked: string[] = [];
  const turns = { count: 0 };
  const read = (kind: string, objects: Readonly<Record<string, Entries>>, encode: (text: string) => string) => {
    return ({ namespace, name }: { namespace: string; name: string }): Promise<ObjectResult> => {
      asked.push(`${kind} ${namespace}/${name}`);
      const entries = objects[`${namespace}/${name}`];
      if (more.failure !== undefined) return Promise.resolve({ kind: "failed", cause: more.failure });
      if (entries === undefined) return Promise.resolve({ kind: "missing" });
      return Promise.resolve({
        kind: "found",
        entries: Object.fromEntries(Object.entries(entries).map(([key, text]) => [key, encode(text)])),
      });
    };
  };
  const options = {
    namespace: "shop",
    clusterNamespace: "podfit",
    rules: { goAnywhere: true, overPlainHttp: true },
    fetchSecret: read("secret", secrets, (text) => new TextEncoder().encode(text).toBase64()),
    fetchConfigMap: read("config map", more.configMaps ?? {}, (text) => text),
    fetchTarget: (): Promise<TargetResult> => {
      asked.push("target");
      return Promise.resolve(more.fetchTarget ?? { kind: "found", object: more.target });
    },
    pause: () => {
      turns.count++;
      return Promise.resolve();
    },
    signal: new AbortController().signal,
  };
  return {
    asked,
    turns,
    options,
    resolve: (own: Partial<Authentication>) => resolveCredentials(authenticationOf(own), options),
  };
}

function authenticationOf(own: Partial<Authentication>): Authentication {
  const use = { allowedHosts: null, allowedNamespaces: null, allowsPlainHttp: false };
  return { kind: "TriggerAuthentication", namespace: "shop", name: "auth", secrets: [], env: [], ...use, ...own };
}

function deployment(container: object): unknown {
  return { spec: { template: { spec: { containers: [{ name: "main", ...container }] } } } };
}

/** With rules that let them go everywhere. */
function resolved(credentials: Entries, kind: Authentication["kind"] = "TriggerAuthentication"): ResolvedCredentials {
  return { kind: "resolved", credentials, audience: { kind, name: "auth", hosts: null, overPlainHttp: true } };
}
