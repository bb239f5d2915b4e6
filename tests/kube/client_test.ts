import { assert, assertEquals, assertRejects } from "#assert";
import type { Pod, PodPatch } from "../../lib/api/kubernetes.ts";
import { toApiError } from "../../lib/kube/errors.ts";
import { createClient, MERGE, STRATEGIC_MERGE } from "../../lib/kube/client.ts";
import type { Transport } from "../../lib/kube/transport.ts";

const ORIGIN = "http://cluster.test:6443";
const RESIZE = "/api/v1/namespaces/{namespace}/pods/{name}/resize";
const POD: Pod = { metadata: { name: "a", generation: 2 }, spec: { containers: [{ name: "main" }] } };
const BODY: PodPatch = { spec: { containers: [{ name: "main", resources: { requests: { cpu: "150m" } } }] } };

Deno.test("createClient() answers a list with its typed objects", async () => {
  const { client, seen } = serve(() => Response.json({ items: [POD], metadata: { resourceVersion: "7" } }));
  const query = { limit: 500, labelSelector: "app=a,tier!=b", watch: false };
  const { data, error } = await client.core.GET("/api/v1/pods", { params: { query } });
  assert(error === undefined);
  const pods: Pod[] = data.items;
  assertEquals(pods, [POD]);
  assertEquals(data.metadata?.resourceVersion, "7");
  assertEquals(seen, [{
    line: `GET ${ORIGIN}/api/v1/pods?limit=500&labelSelector=app%3Da%2Ctier!%3Db&watch=false`,
    type: null,
    body: "",
  }]);
});

Deno.test("createClient() sends a resize as a strategic merge patch of JSON", async () => {
  const { client, seen } = serve(() => Response.json(POD));
  const { data } = await client.core.PATCH(RESIZE, {
    params: {
      path: { namespace: "n", name: "a" },
      query: { dryRun: "All", fieldManager: "podfit.main" },
      header: STRATEGIC_MERGE,
    },
    body: BODY,
  });
  assertEquals(data?.metadata?.generation, 2);
  assertEquals(seen, [{
    line: `PATCH ${ORIGIN}/api/v1/namespaces/n/pods/a/resize?dryRun=All&fieldManager=podfit.main`,
    type: "application/strategic-merge-patch+json",
    body: JSON.stringify(BODY),
  }]);
});

Deno.test("createClient() sends a status as a merge patch, with null to remove a field", async () => {
  const { client, seen } = serve(() => Response.json({ spec: {} }));
  await client.autoscalers.PATCH(
    "/apis/keda.kedify.io/v1alpha1/namespaces/{namespace}/podresourceautoscalers/{name}/status",
    {
      params: { path: { namespace: "n", name: "a" }, header: MERGE },
      body: { status: { scaling: true, effectiveSelector: null } },
    },
  );
  assertEquals(seen, [{
    line: `PATCH ${ORIGIN}/apis/keda.kedify.io/v1alpha1/namespaces/n/podresourceautoscalers/a/status`,
    type: "application/merge-patch+json",
    body: '{"status":{"scaling":true,"effectiveSelector":null}}',
  }]);
});

Deno.test("createClient() posts an event as JSON", async () => {
  const { client, seen } = serve((request) => new Response(request.body, { status: 201 }));
  const body = { metadata: { name: "a.1" }, involvedObject: { name: "a" }, reason: "ScaleUp" };
  const { data } = await client.core.POST("/api/v1/namespaces/{namespace}/events", {
    params: { path: { namespace: "n" } },
    body,
  });
  assertEquals(data?.reason, "ScaleUp");
  assertEquals(seen[0]?.type, "application/json");
});

Deno.test("createClient() keeps the slashes of a proxied path and encodes the rest", async () => {
  const { client, seen } = serve(() => new Response('{"node":{}}'));
  const { data } = await client.core.GET("/api/v1/nodes/{name}/proxy/{path}", {
    params: { path: { name: "a/b", path: "stats/sum mary" } },
    parseAs: "text",
  });
  assertEquals(data, '{"node":{}}');
  assertEquals(seen[0]?.line, `GET ${ORIGIN}/api/v1/nodes/a%2Fb/proxy/stats/sum%20mary`);
});

Deno.test("createClient() hands out the body of a watch unread, and its end by the signal", async () => {
  const { client } = serve((request) => new Response(untilAborted(request.signal, '{"type":"ADDED"}\n')));
  const controller = new AbortController();
  const { data } = await client.core.GET("/api/v1/pods", {
    params: { query: { watch: true } },
    parseAs: "stream",
    signal: controller.signal,
  });
  assert(data);
  const reader = data.pipeThrough(new TextDecoderStream()).getReader();
  assertEquals((await reader.read()).value, '{"type":"ADDED"}\n');
  controller.abort(new Error("enough"));
  await assertRejects(() => reader.read(), Error, "enough");
});

const NOT_FOUND = {
  kind: "Status",
  reason: "NotFound",
  message: 'pods "a" not found',
  code: 404,
  details: { name: "a" },
};
const REFUSALS: { readonly [sentence: string]: readonly [Response, number, string] } = {
  "a Status": [Response.json(NOT_FOUND, { status: 404 }), 404, 'pods "a" not found'],
  "plain text": [new Response("404 page not found\n", { status: 404 }), 404, "404 page not found"],
  "JSON that is no Status": [new Response("[1]", { status: 502 }), 502, "[1]"],
  "no body": [new Response(null, { status: 503 }), 503, "HTTP 503"],
  "a body of declared length 0": [
    new Response("", { status: 503, statusText: "Busy", headers: { "content-length": "0" } }),
    503,
    "HTTP 503 Busy",
  ],
  "a flood": [new Response("x".repeat(200_000), { status: 500 }), 500, "HTTP 500"],
};
for (const [sentence, [response, code, message]] of Object.entries(REFUSALS)) {
  Deno.test(`createClient() gives a Status as error when a refusal holds ${sentence}`, async () => {
    const { client } = serve(() => response);
    const result = await client.core.GET("/api/v1/pods");
    assert(result.error !== undefined);
    assertEquals([result.error.kind, result.error.code, result.error.message], ["Status", code, message]);
    assertEquals(toApiError(result.response, result.error).message, message);
  });
}

Deno.test("createClient() keeps Retry-After of a 429 in plain text", async () => {
  const { client } = serve(() => new Response("Too many requests", { status: 429, headers: { "retry-after": "1" } }));
  const { response, error } = await client.core.GET("/api/v1/pods");
  const { code, retryAfterMs, message } = toApiError(response, error);
  assertEquals({ code, retryAfterMs, message }, { code: 429, retryAfterMs: 1000, message: "Too many requests" });
});

Deno.test("createClient() rejects with the transport's own error", async () => {
  const { client } = serve(() => {
    throw new TypeError("connection refused");
  });
  await assertRejects(() => client.core.GET("/api/v1/pods"), TypeError, "connection refused");
});

Deno.test("createClient() types refuse what the API server would", () => {
  const { client } = serve(() => Response.json({}));
  const path = { namespace: "n", name: "a" };
  // Never called: the compiler is what is tested.
  const wrong = [
    // @ts-expect-error a patch without its content type is a 415
    () => client.core.PATCH(RESIZE, { params: { path }, body: BODY }),
    () => {
      const params = { path, header: STRATEGIC_MERGE };
      // @ts-expect-error custom resources have no strategic merge
      return client.autoscalers.PATCH(AUTOSCALER_STATUS, { params, body: { status: {} } });
    },
    // @ts-expect-error not among the paths that are kept
    () => client.core.GET("/api/v1/secrets"),
    () => {
      const params = { path, header: MERGE };
      // @ts-expect-error quantities are strings
      return client.core.PATCH(RESIZE, { params, body: { spec: { resources: { limits: { cpu: 1 } } } } });
    },
  ];
  // @ts-expect-error a misspelt field, seen because the body has a type of its own
  const body: PodPatch = { spec: { containerz: [] } };
  assertEquals([wrong.length, Object.keys(body)], [4, ["spec"]]);
});

const AUTOSCALER_STATUS =
  "/apis/keda.kedify.io/v1alpha1/namespaces/{namespace}/podresourceautoscalers/{name}/status" as const;

interface Seen {
  readonly line: string;
  readonly type: string | null;
  readonly body: string;
}

function serve(answer: (request: Request) => Response) {
  const seen: Seen[] = [];
  const transport: Transport = async (request) => {
    const type = request.headers.get("content-type");
    seen.push({ line: `${request.method} ${request.url}`, type, body: await request.clone().text() });
    return answer(request);
  };
  return { client: createClient({ origin: ORIGIN, transport }), seen };
}

function untilAborted(signal: AbortSignal, text: string): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(text));
      signal.addEventListener("abort", () => controller.error(signal.reason));
    },
  });
}
