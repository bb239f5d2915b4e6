/**
 * Invalid autoscalers that an API server accepts with an older definition or without one. They do not stop other
 * autoscalers, and they work after they are corrected.
 * Clauses: C8.
 */
import { assertEquals, assertStringIncludes } from "#assert";
import { autoscalerObject, type Json } from "../support/api_objects.ts";
import { Run } from "../support/daemon_run.ts";

const good = autoscalerObject().spec;

const SPECS: Record<string, unknown> = {
  "no spec": undefined,
  "a spec of null": null,
  "a spec that is a number": 7,
  "a spec that is a text": "paused: true",
  "a spec that is a list": [good],
  "an empty spec": {},
  "a policy that is a list": { ...good, policy: [] },
  "a policy of nulls": { ...good, policy: { pollInterval: null, consecutiveSamples: null, cpu: null } },
  "sides that are numbers": { ...good, policy: { ...good.policy, cpu: { requests: 1, limits: 2 } } },
  "a target that is a text": { ...good, target: "deployment/web" },
  "a selector that is a list": { ...good, target: null, selector: ["app=web"] },
  "expressions that are an object": { ...good, target: null, selector: { matchExpressions: { app: "web" } } },
  "a label that is an object": { ...good, target: null, selector: { matchLabels: { app: {} } } },
  "bounds that are a text": { ...good, bounds: "none" },
  "60,000 digits": { ...good, policy: { ...good.policy, cooldown: "1".repeat(6e4) } },
  "a field with a name that breaks lines": { ...good, "a\n\u2028\u202eb": 1 },
};

const STATUSES: Record<string, unknown> = {
  "a status of null": null,
  "a status that is a number": 7,
  "a status that is a list": [{}],
  "conditions that are a text": { conditions: "none" },
  "conditions that are an object": { conditions: { type: "Ready" } },
  "conditions of every shape": { conditions: [null, 1, "Ready", [], {}, { type: "Ready" }, { type: {}, status: 1 }] },
  "a last scale that is an object": { lastScaleTime: {}, lastScaleAction: [], lastScaleResourceChange: {} },
  "a last scale in words": { lastScaleTime: "yesterday", lastScaleAction: "left", lastScaleResourceChange: 5 },
  "a last change that is a list": {
    lastScaleTime: "2026-11-20T10:59:59Z",
    lastScaleAction: "scaleUp",
    lastScaleResourceChange: [1],
  },
  "an effective selector that is a text": { effectiveSelector: "app=web", observedGeneration: "1", scaling: "no" },
};

for (const [sentence, spec] of Object.entries(SPECS)) {
  Deno.test(`an autoscaler with ${sentence} is told and stops no other (C8)`, async () => {
    const bad: Json = { ...autoscalerObject({ name: "bad" }), spec };
    await using run = new Run({ autoscalers: [bad, autoscalerObject()] });
    run.use({ "web-1": { cpu: 150 } });
    await run.advance(30);
    assertEquals([run.cpu(), run.condition("Ready"), run.condition("Ready", "bad")], [
      "250m",
      "True Valid",
      "False InvalidSpec",
    ]);
    const { message } = run.status("bad").conditions[0];
    assertStringIncludes(message, "spec");
    assertEquals([message.length < 4096, /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(message)], [true, false]);
    run.api.edit("podresourceautoscalers", "bad", (object) => {
      object.metadata.generation = 2;
      object.spec = good;
    });
    await run.advance(10);
    assertEquals(run.condition("Ready", "bad"), "True Valid");
  });
}

for (const [sentence, status] of Object.entries(STATUSES)) {
  Deno.test(`an autoscaler with ${sentence} acts, gets a status as it should be, and stops no other (C8 C51)`, async () => {
    const odd: Json = { ...autoscalerObject(), status };
    await using run = new Run({ autoscalers: [odd, autoscalerObject({ name: "other" })] });
    run.use({ "web-1": { cpu: 150 } });
    await run.advance(30);
    assertEquals([run.cpu(), run.condition("Ready"), run.condition("Ready", "other")], [
      "250m",
      "True Valid",
      "True Valid",
    ]);
    assertEquals(await run.series("kedify_agent_pra_error_total"), []);
  });
}
