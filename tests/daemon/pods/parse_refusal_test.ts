import { assertEquals } from "#assert";
import type { Answer } from "../../../lib/model/resize_request.ts";
import { parseRefusal } from "../../../lib/daemon/pods/actuator.ts";
import { toApiError } from "../../../lib/kube/errors.ts";
import { readRefusal } from "../../support/refusals.ts";

/** Bodies of a Kubernetes 1.36 API server by file name -> what they mean; refusals as `Reason resources`. */
const RECORDED: Record<string, string> = {
  node_capacity_cpu: "NodeCapacity cpu",
  node_capacity_memory: "NodeCapacity memory",
  qos_change: "Invalid",
  request_over_limit: "Invalid cpu",
  remove_limit: "Invalid",
  unknown_container: "Invalid",
  bad_quantity: "Invalid",
  negative: "Invalid cpu",
  other_resource: "Invalid cpu memory",
  static_pod: "Invalid",
  pod_gone: "gone",
  unknown_subresource: "Unsupported",
  unsupported_media_type: "Invalid",
  apply_conflict: "conflict",
  limit_range_max: "LimitRange cpu",
  limit_range_max_both: "LimitRange cpu memory",
  limit_range_min: "LimitRange cpu",
  limit_range_ratio: "LimitRange cpu",
  quota: "Quota cpu",
  quota_two: "Quota cpu memory",
  rights: "Rights",
  pod_deleted: "gone",
  version_stale: "conflict",
  uid_mismatch: "gone",
};

Deno.test("parseRefusal() tells every recorded refusal apart (C44)", async (t) => {
  const files = [...Deno.readDirSync(new URL("../../testdata/refusals/", import.meta.url))].map(({ name }) => name);
  assertEquals(files.sort(), Object.keys(RECORDED).map((name) => `${name}.json`).sort(), "each has its row");
  for (const [name, expected] of Object.entries(RECORDED)) {
    await t.step(name, () => {
      const { code, body } = readRefusal(name);
      const answer = parseRefusal(toApiError(new Response(null, { status: code }), body));
      assertEquals(summarize(answer), expected);
      if (answer.kind === "refused") assertEquals(answer.message, body.message, "in the server's own words");
    });
  }
});

/** In the words of Kubernetes 1.36, 1.34 and 1.35. */
const UNSUPPORTED: Readonly<Record<string, string>> = {
  "a node without support for resize": "spec: Forbidden: Pod running on node without support for resize",
  "the sizes of a pod as a whole, in 1.34": "[]: Forbidden: pods with pod-level resources cannot be resized",
  "the sizes of a pod as a whole, in 1.35":
    "[]: Forbidden: resize of pods with pod-level resources is forbidden when " +
    "InPlacePodLevelResourcesVerticalScalingEnabled feature gate is disabled",
};

for (const [what, words] of Object.entries(UNSUPPORTED)) {
  Deno.test(`parseRefusal() takes ${what} for unsupported (L33)`, () => {
    const body = { kind: "Status", code: 422, reason: "Invalid", message: `Pod "web-1" is invalid: ${words}` };
    assertEquals(summarize(parseRefusal(toApiError(new Response(null, { status: 422 }), body))), "Unsupported");
  });
}

interface Row {
  readonly code: number;
  readonly message?: string;
  readonly details?: Record<string, unknown>;
  readonly retryAfter?: string;
  readonly expected: string;
}

const TOLD: Record<string, Row> = {
  "401: a credential that the server does not know": { code: 401, expected: "Rights" },
  "405: a server older than the subresource": { code: 405, expected: "Unsupported" },
  "429 with a wait": { code: 429, retryAfter: "7", expected: "RetryLater after 7000" },
  "500 without words": { code: 500, expected: "RetryLater" },
  "503": { code: 503, expected: "RetryLater" },
  "504: it may have been written all the same (C45)": {
    code: 504,
    message: "request did not complete",
    expected: "unconfirmed",
  },
  "500 of a store that timed out (C45)": {
    code: 500,
    message: "etcdserver: request timed out",
    expected: "unconfirmed",
  },
  "408": { code: 408, expected: "RetryLater" },
  "400": { code: 400, expected: "Invalid" },
  "403 of an unknown admission plugin": { code: 403, message: 'pods "a" is forbidden: no', expected: "Invalid" },
  "a wait is not for refusals by rule": { code: 403, message: "exceeded quota: q", retryAfter: "7", expected: "Quota" },
  "a quota whose name is a resource names none by it": {
    code: 403,
    message: 'pods "a" is forbidden: exceeded quota: cpu, requested: requests.memory=1Gi, used: requests.memory=0',
    expected: "Quota memory",
  },
  "a pod whose name is a resource names none by it": {
    code: 403,
    message: 'pods "cpu" is forbidden: maximum memory usage per Pod is 1Gi, but limit is 2Gi',
    expected: "LimitRange memory",
  },
  "a quota that demands a request": {
    code: 403,
    message: 'pods "a" is forbidden: failed quota: q: must specify limits.cpu for: main',
    expected: "Quota cpu",
  },
  "a server that has just started": {
    code: 403,
    message: 'pods "a" is forbidden: not yet ready to handle request',
    retryAfter: "1",
    expected: "RetryLater after 1000",
  },
  "a node that cannot resize": {
    code: 403,
    message: "forbidden",
    details: { causes: [{ reason: "UnsupportedPlatform" }] },
    expected: "Unsupported",
  },
  "a conflict over the quota's own usage is none of the pod's": {
    code: 409,
    message: 'Operation cannot be fulfilled on resourcequotas "q": the object has been modified',
    details: { name: "q", kind: "resourcequotas" },
    expected: "RetryLater",
  },
};

Deno.test("parseRefusal() tells by code, cause and words (C44)", async (t) => {
  for (const [name, { code, message, details, retryAfter, expected }] of Object.entries(TOLD)) {
    await t.step(name, () => {
      const headers: Record<string, string> = retryAfter === undefined ? {} : { "retry-after": retryAfter };
      const body = { kind: "Status", message, details, code };
      assertEquals(summarize(parseRefusal(toApiError(new Response(null, { status: code, headers }), body))), expected);
    });
  }
});

function summarize(answer: Answer): string {
  if (answer.kind !== "refused") return answer.kind;
  const wait = answer.waitMs === null ? [] : [`after ${answer.waitMs}`];
  return [answer.reason, ...answer.resources, ...wait].join(" ");
}
