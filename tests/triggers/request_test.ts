import { assert, assertEquals, assertStringIncludes } from "#assert";
import fc from "fast-check";
import { parseToken, resolveAuth, toTokenRequests, toTriggerRequest, withToken } from "../../lib/triggers/request.ts";
import type { HttpTriggerSource, TriggerParameters } from "../../lib/triggers/value.ts";
import { apiSource, prometheusSource } from "../support/triggers.ts";

const PEM = "-----BEGIN CERTIFICATE-----";
const NOW = Date.UTC(2026, 10, 22, 19, 42, 53, 999);

Deno.test("toTriggerRequest() asks prometheus as KEDA does, each parameter escaped (R14)", () => {
  const source = prometheusSource({
    serverAddress: "https://p.example/prefix",
    query: 'sum(rate(a{b=~"c|d+e f"}[2m])) & "é"*1',
    namespace: "my ns&x=1",
    queryParameters: [["dedup", "a b&c"], ["k+y", "%"]],
  });
  const { url } = build(source);
  assertEquals(url.origin + url.pathname, "https://p.example/prefix/api/v1/query");
  assertEquals([...url.searchParams], [
    ["query", source.query],
    ["time", "2026-11-22T19:42:53Z"],
    ["namespace", "my ns&x=1"],
    ["dedup", "a b&c"],
    ["k+y", "%"],
  ]);
  assertStringIncludes(url.search, "sum%28rate%28a%7Bb%3D~%22c%7Cd%2Be+f%22%7D%5B2m%5D%29%29+%26+%22%C3%A9%22%2A1");
  assertEquals([...build(prometheusSource()).url.searchParams.keys()], ["query", "time"]);
  assertEquals(build(prometheusSource({ serverAddress: "http://p:9090/" })).url.pathname, "//api/v1/query");
});

Deno.test("toTriggerRequest() sends one kind of authentication to prometheus: bearer, else basic, else custom (R14, R16)", () => {
  const credentials = {
    bearerToken: "t",
    username: "u",
    password: "pé:",
    customAuthHeader: "X-Own",
    customAuthValue: "v",
  };
  const table: readonly (readonly [PrometheusModes, TriggerParameters, Record<string, string>])[] = [
    [["bearer"], credentials, { authorization: "Bearer t" }],
    [["bearer"], { token: "old" }, { authorization: "Bearer old" }],
    [["bearer"], { token: "old", bearerToken: " new\n" }, { authorization: "Bearer new" }],
    [["basic"], credentials, { authorization: "Basic dTpww6k6" }],
    [["basic"], { username: "u" }, { authorization: "Basic dTo=" }],
    [["custom"], credentials, { "x-own": "v" }],
    [["custom", "basic"], credentials, { authorization: "Basic dTpww6k6" }],
    [["custom", "bearer"], credentials, { authorization: "Bearer t" }],
    [["apiKey"], { apiKey: "k" }, {}],
    [[], credentials, {}],
    [null, { ...credentials, authModes: "basic, custom" }, { authorization: "Basic dTpww6k6" }],
    [null, { ...credentials, authMode: "custom" }, { "x-own": "v" }],
    [null, credentials, {}],
  ];
  for (const [authModes, given, headers] of table) {
    assertEquals(listHeaders(prometheusSource({ authModes }), given), headers, JSON.stringify([authModes, given]));
  }
});

Deno.test("toTriggerRequest() sends custom headers, and an authentication in place of one of the same name (R14)", () => {
  const customHeaders = [["X-Scope-OrgID", "a"], ["Authorization", "mine"], ["User-Agent", "other"], [
    "Host",
    "h",
  ]] as const;
  assertEquals(listHeaders(prometheusSource({ customHeaders })), {
    "x-scope-orgid": "a",
    authorization: "mine",
    "user-agent": "other",
  });
  const source = prometheusSource({ customHeaders, authModes: ["bearer"] });
  assertEquals(listHeaders(source, { token: "t" })["authorization"], "Bearer t");
});

Deno.test("toTriggerRequest() sends an API key by header or query, under KEDA's names by default (R13, R16)", () => {
  const authModes = ["apiKey"] as const;
  assertEquals(listHeaders(apiSource({ authModes, apiKey: "k" })), { "x-api-key": "k" });
  assertEquals(listHeaders(apiSource({ authModes }), { apiKey: "k", keyParamName: "X-Own" }), { "x-own": "k" });
  assertEquals(
    listHeaders(apiSource({ authModes, apiKey: "mine", keyParamName: "X-Mine", method: "header" }), {
      apiKey: "k",
      keyParamName: "X-Own",
      method: "query",
    }),
    { "x-mine": "mine" },
  );
  const byQuery = build(apiSource({ authModes, url: "http://a/?x=1&api_key=old" }), { apiKey: "k &", method: "query" });
  assertEquals([...byQuery.url.searchParams], [["x", "1"], ["api_key", "k &"]]);
  assertEquals([...byQuery.headers.keys()], ["user-agent"]);
  const named = build(apiSource({ authModes, method: "query", keyParamName: "key" }), { apiKey: "k" });
  assertEquals([...named.url.searchParams], [["key", "k"]]);
});

Deno.test("toTriggerRequest() sends all of metrics-api's authentications (R13)", () => {
  const source = apiSource({ authModes: ["apiKey", "bearer"] });
  assertEquals(listHeaders(source, { apiKey: "k", token: "t" }), { "x-api-key": "k", authorization: "Bearer t" });
  assertEquals(listHeaders(source, { apiKey: "k", token: "t", keyParamName: "Authorization" }), {
    authorization: "k, Bearer t",
  });
});

Deno.test("toTriggerRequest() makes a header of the URL's user and password, unless another one has the place (R13)", () => {
  const request = build(apiSource({ url: "http://us%20er:p%3Aw@api/x?y=1" }));
  assertEquals(request.url.href, "http://api/x?y=1");
  assertEquals(request.headers.get("authorization"), `Basic ${btoa("us er:p:w")}`);
  const source = apiSource({ url: "http://u:p@api/", authModes: ["bearer"] });
  assertEquals(listHeaders(source, { token: "t" }), { authorization: "Bearer t" });
});

Deno.test("resolveAuth() names a parameter that is missing or wrong, and no value (R16)", () => {
  const api = apiSource();
  const table: readonly (readonly [HttpTriggerSource, TriggerParameters, cause: string])[] = [
    [prometheusSource({ authModes: ["bearer"] }), {}, 'mode "bearer" needs parameter "bearerToken"'],
    [prometheusSource({ authModes: ["bearer"] }), { token: "  " }, 'needs parameter "bearerToken"'],
    [prometheusSource({ authModes: ["basic"] }), { password: "CANARY" }, 'needs parameter "username"'],
    [prometheusSource({ authModes: ["custom"] }), { customAuthValue: "CANARY" }, 'needs parameter "customAuthHeader"'],
    [prometheusSource({ authModes: ["custom"] }), { customAuthHeader: "CANARY" }, 'needs parameter "customAuthValue"'],
    [{ ...api, authModes: ["apiKey"] }, {}, 'needs parameter "apiKey"'],
    [{ ...api, authModes: ["apiKey"] }, { apiKey: "CANARY", method: "CANARY" }, "method must be header or query"],
    [api, { authModes: "tls" }, "authModes must be of apiKey, basic, bearer, with commas"],
    [api, { authModes: "custom" }, "authModes must be of apiKey, basic, bearer, with commas"],
    [prometheusSource(), { authModes: "bearer,CANARY" }, "authModes must be of apiKey, basic, bearer, custom, oauth"],
    [api, { authModes: "bearer,basic" }, "only one of bearer, basic, oauth"],
    [prometheusSource(), { authModes: "oauth,basic" }, "only one of bearer, basic, oauth"],
    [prometheusSource({ authModes: ["oauth"] }), { clientID: "CANARY" }, 'needs parameter "oauthTokenURI"'],
    [prometheusSource({ authModes: ["oauth"] }), { oauthTokenURI: "https://CANARY" }, 'needs parameter "clientID"'],
    [
      prometheusSource({ authModes: ["oauth"] }),
      { oauthTokenURI: "ftp://CANARY", clientID: "CANARY" },
      "parameter oauthTokenURI is not an http or https URL",
    ],
    [
      prometheusSource({ authModes: ["oauth"] }),
      { oauthTokenURI: "https://CANARY", clientID: "c", scopes: "CANARY", endpointParams: "scope=CANARY" },
      "parameter endpointParams must not have scope",
    ],
    [api, { ca: "CANARY" }, "parameter ca is not a certificate in PEM"],
  ];
  for (const [source, credentials, cause] of table) {
    const read = resolveAuth(source, credentials);
    assert(!read.ok, cause);
    assertStringIncludes(read.cause, cause);
    assert(!read.cause.includes("CANARY"));
  }
});

const OAUTH = { oauthTokenURI: "https://idp/token", clientID: "me", clientSecret: "s3cret" };

/** As text: the address, what is sent as authorization, and the form. */
function listTokenRequests(credentials: TriggerParameters) {
  const read = resolveAuth(prometheusSource({ authModes: ["oauth"] }), credentials);
  assert(read.ok, JSON.stringify(read));
  return toTokenRequests(read.auth, "podfit/1").map(({ url, headers, body }) => [
    url.href,
    headers.get("authorization"),
    body,
    headers.get("content-type"),
    headers.get("user-agent"),
  ]);
}

Deno.test("toTokenRequests() asks for a token by client credentials, with the secret as a header and then in the form (R100)", () => {
  const form = "application/x-www-form-urlencoded";
  assertEquals(listTokenRequests(OAUTH), [
    ["https://idp/token", `Basic ${btoa("me:s3cret")}`, "grant_type=client_credentials", form, "podfit/1"],
    ["https://idp/token", null, "grant_type=client_credentials&client_id=me&client_secret=s3cret", form, "podfit/1"],
  ]);
  const { clientSecret: _, ...public_ } = OAUTH;
  assertEquals(listTokenRequests(public_).map((one) => one[2]), ["grant_type=client_credentials&client_id=me"]);
  const odd = { ...OAUTH, clientID: "a:b", clientSecret: "c d", oauthTokenURI: "https://u:p@idp/token" };
  assertEquals(listTokenRequests(odd)[0]?.slice(0, 2), ["https://idp/token", `Basic ${btoa("a%3Ab:c+d")}`]);
  const bodies = (own: TriggerParameters) => listTokenRequests({ ...public_, ...own }).map((one) => one[2]);
  assertEquals(bodies({ scopes: "a, ,b", endpointParams: "audience=x%20y&resource=1&resource=2" }), [
    "grant_type=client_credentials&scope=a+b&audience=x+y&resource=1&resource=2&client_id=me",
  ]);
  assertEquals(bodies({ scope: "a" }), ["grant_type=client_credentials&scope=a&client_id=me"]);
  assertEquals(bodies({ endpointParams: "grant_type=password&scope=b" }), ["grant_type=password&scope=b&client_id=me"]);
  const plain = resolveAuth(prometheusSource(), {});
  assert(plain.ok);
  assertEquals(toTokenRequests(plain.auth, "podfit/1"), []);
});

Deno.test("parseToken() reads JSON and forms, and the words for a kind of token (R100)", () => {
  const table: readonly (readonly [string, ReturnType<typeof parseToken>])[] = [
    ['{"access_token":"t","token_type":"bearer","expires_in":60}', { type: "Bearer", text: "t", expiresInSeconds: 60 }],
    ['{"access_token":"t","expires_in":"90"}', { type: "Bearer", text: "t", expiresInSeconds: 90 }],
    ['{"access_token":"t","token_type":"mac","expires_in":0}', { type: "MAC", text: "t", expiresInSeconds: null }],
    ['{"access_token":"t","token_type":"DPoP","expires_in":"soon"}', {
      type: "DPoP",
      text: "t",
      expiresInSeconds: null,
    }],
    ['{"access_token":"t","token_type":"","error":""}', { type: "Bearer", text: "t", expiresInSeconds: null }],
    ["access_token=t&token_type=basic&expires_in=5", { type: "Basic", text: "t", expiresInSeconds: 5 }],
    ['{"access_token":"t","error":"invalid_scope"}', null],
    ['{"access_token":""}', null],
    ['{"access_token":5}', null],
    ["[]", null],
    ["", null],
  ];
  for (const [text, token] of table) assertEquals(parseToken(text), token, text);
});

Deno.test("withToken() adds the token as a header and as a secret (R16, R100)", () => {
  const read = resolveAuth(prometheusSource({ authModes: ["oauth"] }), OAUTH);
  assert(read.ok);
  const { headers, secrets } = withToken(read.auth, { type: "Bearer", text: "t0ken", expiresInSeconds: null });
  assertEquals(headers, [{ name: "Authorization", value: "Bearer t0ken", isAdded: false }]);
  assertEquals(secrets.filter((one) => ["t0ken", "s3cret"].includes(one)).toSorted(), ["s3cret", "t0ken"]);
});

Deno.test("resolveAuth() has a ca outdo unsafeSsl for prometheus with an authentication only (R14)", () => {
  const credentials = { ca: PEM, token: "t" };
  const read = (source: HttpTriggerSource) => {
    const { ok, ...rest } = resolveAuth(source, credentials);
    assert(ok && "auth" in rest);
    return [rest.auth.ca, rest.auth.isTlsUnverified];
  };
  const unsafe = { isTlsUnverified: true };
  assertEquals(read(prometheusSource({ ...unsafe, authModes: ["bearer"] })), [PEM, false]);
  assertEquals(read(prometheusSource(unsafe)), [PEM, true]);
  assertEquals(read(apiSource({ ...unsafe, authModes: ["bearer"] })), [PEM, true]);
  assertEquals(read(apiSource()), [PEM, false]);
});

Deno.test("toTriggerRequest() refuses what HTTP cannot send, and quotes none of it (R16)", () => {
  const table: readonly (readonly [HttpTriggerSource, TriggerParameters, cause: string])[] = [
    [prometheusSource({ authModes: ["bearer"] }), { token: "CAN\nARY" }, "a header cannot be sent"],
    [
      prometheusSource({ authModes: ["custom"] }),
      { customAuthHeader: "CAN ARY", customAuthValue: "v" },
      "a header cannot be sent",
    ],
    [prometheusSource({ serverAddress: "prometheus:9090" }), {}, "not an http or https URL"],
    [prometheusSource({ serverAddress: "ftp://CANARY" }), {}, "not an http or https URL"],
    [apiSource({ url: "http://[CANARY" }), {}, "not an http or https URL"],
    [apiSource({ url: "file:///etc/passwd" }), {}, "not an http or https URL"],
  ];
  for (const [source, credentials, cause] of table) {
    const read = tryBuild(source, credentials);
    assert(!read.ok, cause);
    assertStringIncludes(read.cause, cause);
    assert(!/CAN|ARY/.test(read.cause), read.cause);
  }
});

Deno.test("toTriggerRequest() never throws, whatever the manifest and the secrets hold (R13, R14)", () => {
  const text = fc.oneof(fc.string({ unit: "binary" }), fc.constant("http://a:b@c/%?%#%"));
  const modes = fc.subarray(["apiKey", "basic", "bearer", "custom"] as const);
  fc.assert(fc.property(text, text, text, modes, (a, b, c, authModes) => {
    const credentials = {
      bearerToken: a,
      username: b,
      password: c,
      customAuthHeader: b,
      customAuthValue: c,
      apiKey: a,
      keyParamName: b,
    };
    const pairs = [[a, b], [b, c]] as const;
    tryBuild(
      prometheusSource({
        serverAddress: a,
        query: b,
        namespace: c,
        queryParameters: pairs,
        customHeaders: pairs,
        authModes,
      }),
      credentials,
    );
    tryBuild(apiSource({ url: a, method: "query", authModes }), credentials);
  }));
});

type PrometheusModes = ReturnType<typeof prometheusSource>["authModes"];

function tryBuild(source: HttpTriggerSource, credentials: TriggerParameters) {
  const read = resolveAuth(source, credentials);
  if (!read.ok) return read;
  return toTriggerRequest(source, { auth: read.auth, now: NOW, userAgent: "podfit/test" });
}

function build(source: HttpTriggerSource, credentials: TriggerParameters = {}) {
  const built = tryBuild(source, credentials);
  assert(built.ok && "request" in built, JSON.stringify(built));
  return built.request;
}

/** Without podfit's own User-Agent. */
function listHeaders(source: HttpTriggerSource, credentials: TriggerParameters = {}): Record<string, string> {
  const headers = Object.fromEntries(build(source, credentials).headers);
  if (headers["user-agent"] === "podfit/test") delete headers["user-agent"];
  return headers;
}
