import { assertEquals, assertRejects } from "#assert";
import { countRequests } from "../../../lib/daemon/metrics/metrics.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";

const COUNTED: Record<string, string> = {
  "GET /api/v1/pods?limit=500": "get pods 200",
  "GET /api/v1/pods?watch=true": "watch pods 200",
  "GET /api/v1/namespaces/shop/pods": "get pods 200",
  "GET /api/v1/namespaces/shop": "get namespaces 200",
  "PATCH /api/v1/namespaces/shop/pods/web-1/resize": "patch pods/resize 200",
  "POST /api/v1/namespaces/shop/events": "post events 200",
  "PATCH /apis/keda.kedify.io/v1alpha1/namespaces/shop/podresourceautoscalers/web/status":
    "patch podresourceautoscalers/status 200",
  "GET /apis/apps/v1/deployments": "get deployments 200",
  "GET /apis/external.metrics.k8s.io/v1beta1/namespaces/shop/orders-waiting": "get external.metrics.k8s.io 200",
  "GET /apis/custom.metrics.k8s.io/v1beta2/namespaces/shop/pods/*/requests": "get custom.metrics.k8s.io 200",
  "GET /apis/metrics.k8s.io/v1beta1/namespaces/shop/pods": "get pods 200",
  "GET /version": "get none 200",
  "PATCH /k8s/clusters/c-1/api/v1/namespaces/shop/pods/web-1/resize": "patch pods/resize 200",
  "GET /proxy/apis/apps/v1/namespaces/shop/deployments?watch=true": "watch deployments 200",
  "GET /proxy/version": "get none 200",
};

function count(transport: (request: Request) => Promise<Response>) {
  const counted: string[] = [];
  const counting = countRequests(transport, {
    apiAnswered: ({ verb, resource, code }) => counted.push(`${verb} ${resource} ${code}`),
  });
  return { counted, counting };
}

Deno.test("countRequests() counts by verb and resource, without the names of objects and of metrics", async (t) => {
  for (const [request, expected] of Object.entries(COUNTED)) {
    await t.step(request, async () => {
      const [method = "", path = ""] = request.split(" ");
      const { counted, counting } = count(() => Promise.resolve(new Response()));
      await counting(new Request(`http://api.test${path}`, { method }));
      assertEquals(counted, [expected]);
    });
  }
});

Deno.test("countRequests() counts no answer as code 0, but not a request that we gave up", async () => {
  const { counted, counting } = count(() => Promise.reject(new TypeError("refused")));
  await assertRejects(() => counting(new Request("http://api.test/api/v1/pods")), TypeError, "refused");
  await assertRejects(() => counting(new Request("http://api.test/api/v1/pods", { signal: AbortSignal.abort() })));
  assertEquals(counted, ["get pods 0"]);
});

Deno.test("countRequests() counts a request that timed out as code 0", async () => {
  const clock = new VirtualClock();
  const { counted, counting } = count(({ signal }) =>
    new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)))
  );
  using timeout = clock.timeout(10_000);
  const asking = counting(new Request("http://api.test/api/v1/pods", { signal: timeout.signal }));
  const failed = assertRejects(() => asking, DOMException, "Timed out");
  await clock.advance(10_000);
  await failed;
  assertEquals(counted, ["get pods 0"]);
});
