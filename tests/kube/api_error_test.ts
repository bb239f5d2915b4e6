import { assertEquals } from "#assert";
import { toApiError } from "../../lib/kube/errors.ts";

const FORBIDDEN = {
  kind: "Status",
  status: "Failure",
  message: 'pods "a" is forbidden: node didn\'t have enough allocatable resources: cpu, requested: 3000',
  reason: "Forbidden",
  details: { name: "a", kind: "pods", causes: [{ reason: "NodeCapacity" }] },
  code: 403,
};

Deno.test("toApiError() keeps the server's words, reason and causes", () => {
  const error = toApiError(refusal(403), FORBIDDEN);
  assertEquals(error.message, FORBIDDEN.message);
  assertEquals(fields(error), { code: 403, reason: "Forbidden", details: FORBIDDEN.details, retryAfterMs: null });
  assertEquals(error.name, "ApiError");
});

const BODIES: { readonly [sentence: string]: readonly [unknown, string] } = {
  "trims plain text": ["404 page not found\n", "404 page not found"],
  "shows JSON that is no Status": [{ error: "bad gateway" }, '{"error":"bad gateway"}'],
  "falls back to the HTTP status without a body": [undefined, "HTTP 503 Service Unavailable"],
  "falls back to the HTTP status for an empty text": ["", "HTTP 503 Service Unavailable"],
  "falls back to the HTTP status for null": [null, "HTTP 503 Service Unavailable"],
  "does not believe a message that is no text": [{ message: 5 }, '{"message":5}'],
};
for (const [sentence, [body, message]] of Object.entries(BODIES)) {
  Deno.test(`toApiError() ${sentence}`, () => {
    const error = toApiError(refusal(503), body);
    assertEquals(error.message, message);
    assertEquals(fields(error), { code: 503, reason: null, details: null, retryAfterMs: null });
  });
}

Deno.test("toApiError() bounds message, causes and their texts", () => {
  const causes = Array.from({ length: 100 }, () => ({ message: "y".repeat(5000) }));
  const error = toApiError(refusal(422), { message: "x".repeat(5000), details: { causes } });
  assertEquals(error.message, "x".repeat(1000) + "…");
  assertEquals(error.details?.causes?.length, 32);
  assertEquals(error.details?.causes?.[31]?.message, "y".repeat(1000) + "…");
  assertEquals(toApiError(refusal(500), "z".repeat(5000)).message.length, 1001);
});

Deno.test("toApiError() drops details that are not what a Status may hold", () => {
  const details = { name: 7, kind: "pods", causes: [null, "x", { field: 1, message: "m" }], retryAfterSeconds: "9" };
  const error = toApiError(refusal(422), { reason: ["a"], details });
  assertEquals(fields(error), {
    code: 422,
    reason: null,
    details: { kind: "pods", causes: [{}, {}, { message: "m" }] },
    retryAfterMs: null,
  });
});

Deno.test("toApiError() takes the code of a Status that a 200 stream carried", () => {
  const expired = { message: "too old resource version: 1 (1585)", reason: "Expired", code: 410 };
  assertEquals(toApiError(new Response(null), expired).code, 410);
  assertEquals(toApiError(refusal(403), expired).code, 403);
});

const WAITS: { readonly [sentence: string]: readonly [string | null, unknown, number | null] } = {
  "is the header's seconds": ["2", undefined, 2000],
  "is the header's before the details'": ["2", 9, 2000],
  "is the details' seconds without a header": [null, 1, 1000],
  "is the details' seconds when the header is a date": ["Wed, 21 Oct 2026 07:28:00 GMT", 1, 1000],
  "is zero when the server says so": ["0", undefined, 0],
  "is absent when negative": ["-1", -5, null],
  "is absent when nobody says": [null, undefined, null],
  "is an hour at most": ["99999999999", undefined, 3_600_000],
};
for (const [sentence, [header, retryAfterSeconds, expected]] of Object.entries(WAITS)) {
  Deno.test(`toApiError() retryAfterMs ${sentence}`, () => {
    const response = refusal(429, header === null ? {} : { "retry-after": header });
    assertEquals(toApiError(response, { details: { retryAfterSeconds } }).retryAfterMs, expected);
  });
}

function refusal(status: number, headers: Record<string, string> = {}): Response {
  const statusText = status === 503 ? "Service Unavailable" : "";
  return new Response(null, { status, statusText, headers });
}

function fields({ code, reason, details, retryAfterMs }: ReturnType<typeof toApiError>) {
  return { code, reason, details, retryAfterMs };
}
