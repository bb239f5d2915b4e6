/** What goes wrong beside the decisions, as a caller of the daemon hears of it. */
import { assertEquals } from "#assert";
import type { FailureReport } from "../../../lib/daemon/health.ts";
import { autoscalerObject } from "../../support/api_objects.ts";
import { Run } from "../../support/daemon_run.ts";

Deno.test("createDaemon() gives trouble as data: a state when it begins, a failure as the log has it", async () => {
  const troubles: FailureReport[] = [];
  const lost = autoscalerObject({ name: "lost", target: { kind: "deployment", name: "none" } });
  await using run = new Run({ autoscalers: [autoscalerObject(), lost], onTrouble: (one) => troubles.push(one) });
  run.kubelet.failure = "no route";
  run.api.intercept = ({ path }) =>
    path.endsWith("/lost/status") ? Response.json({ code: 500 }, { status: 500 }) : null;
  await run.advance(2);
  const states = troubles.flatMap((one) => one.kind === "status" ? [`${one.autoscaler.name} ${one.notice.name}`] : []);
  assertEquals(states, ["lost TargetNotFound"]);
  const failures = troubles.flatMap((one) => one.kind === "failure" ? [one] : []);
  assertEquals(failures.map(({ level, message, autoscaler }) => [level, message, autoscaler?.name]), [
    ["warn", "no route", undefined],
    ["warn", "Cannot write status, retrying", "lost"],
  ]);
  const logged = run.log.filter(({ level, message }) => level === "WARN" && message !== "Notice");
  assertEquals(logged.map(({ message }) => message), failures.map(({ message }) => message));
});
