/**
 * The custom resource definition and podfit's parser over every field of the resource and every value that somebody
 * might write there: thousands of manifests, each read alike by both.
 */
import { assert, assertEquals, assertStringIncludes } from "#assert";
import { toText } from "../support/manifest_fields.ts";
import { toManifest } from "../support/manifests.ts";
import { eachTrap } from "../support/traps.ts";
import { findDisagreement, isNamed } from "./support/agreement.ts";
import { eachRow, openDryRun } from "./support/dry_run.ts";
import { scenario } from "./support/needs.ts";

scenario("C7 C8 the API server and the parser agree on every trap in every field", {
  async run({ namespace }) {
    await using server = await openDryRun(namespace);
    const failures = await eachRow(eachTrap(), async ({ sentence, path, text, isAccepted }) => {
      const verdict = await server.ask(text);
      const disagreement = findDisagreement(text, verdict);
      if (disagreement !== null) return `${sentence}: ${disagreement}`;
      if (isAccepted === null) return null;
      if (isAccepted !== verdict.isAccepted) return `${sentence}: ${isAccepted ? verdict.message : "accepted"}`;
      if (isAccepted || verdict.isUnreadable || isNamed(verdict.message, path)) return null;
      return verdict.message.includes(`${path}[0]`) ? null : `${sentence}: ${verdict.message.slice(0, 500)}`;
    });
    assertEquals(failures, []);
  },
});

scenario("C7 the API server refuses a field that is written twice, of which the parser would see the last", {
  async run({ namespace }) {
    await using server = await openDryRun(namespace);
    const text = JSON.stringify(toManifest({}));
    const twice = text.replace(`"containerName":"app"`, `"containerName":"app","containerName":"web"`);
    const { isAccepted, message } = await server.ask(twice);
    assert(!isAccepted && twice !== text);
    assertStringIncludes(message, `duplicate field "spec.containerName"`);
  },
});

scenario("C2 C3 the API server takes null for absent and fills in the defaults", {
  async run({ namespace }) {
    await using server = await openDryRun(namespace);
    const defaults = {
      "spec.paused": false,
      "spec.priority": 0,
      "spec.mode": "apply",
      "spec.newPods": "template",
      "spec.policy.after": "containerReady",
      "spec.policy.delay": "15s",
      "spec.policy.veto": "all",
      "spec.policy.cpu.throttling": "measure",
    };
    for (const [path, value] of Object.entries(defaults)) {
      for (const json of ["null", undefined]) {
        const { object } = await server.ask(toText([[path, json]]));
        assertEquals(path.split(".").reduce((found, key) => Object(found)[key], object), value, `${path} ${json}`);
      }
    }
  },
});
