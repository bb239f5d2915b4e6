/** Of which pods usage cannot be read, beyond what whole-daemon stories show (C51). */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { UsageHealth } from "../../../lib/daemon/polling/usage_health.ts";
import { MINUTE, pod, policy, START } from "../../support/builders.ts";

Deno.test("UsageHealth.unread() names a tracked pod that is never evaluated, after a minute (C51)", () => {
  let now = START;
  const health = new UsageHealth({ readState: () => null, now: () => now });
  assertEquals(health.unread(policy(), [pod()]).count, 0);
  now += MINUTE;
  const { count, why } = health.unread(policy(), [pod()]);
  assertEquals(count, 1);
  assertStringIncludes(why, 'pod "web-1" is not evaluated');
  health.forgetPod("pod-1");
  assertEquals(health.unread(policy(), [pod()]).count, 0);
});
