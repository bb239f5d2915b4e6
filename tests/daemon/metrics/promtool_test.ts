/**
 * What Prometheus' own linter says of a full page. It is no part of Deno: `promtool` of Debian's package prometheus; the
 * CI puts it there, elsewhere its test may be left out.
 */
import { assertEquals } from "#assert";
import { createMetrics } from "../../../lib/daemon/metrics/metrics.ts";
import { recordAutoscaler, recordNamespaces, recordProcess } from "../../support/every_series.ts";

/** Of inherited names: dashboards and alerts read them as they are (C52). */
const ACCEPTED = [
  'kedify_agent_pra_total non-counter metrics should not have "_total" suffix',
  'kedify_agent_pra_reconcile_count counter metrics should have "_total" suffix',
  'kedify_agent_pra_reconcile_count non-histogram and non-summary metrics should not have "_count" suffix',
  'kedify_agent_pra_resource_updates counter metrics should have "_total" suffix',
];

const isThere = await hasPromtool();

Deno.test({
  name: `promtool complains of inherited names alone (C52)${isThere ? "" : ": left out, there is no promtool"}`,
  ignore: !isThere,
  async fn() {
    const metrics = createMetrics({ version: "1", agentId: "agent-7", takeLoopBlockMs: () => 1 });
    for (const name of ["cart", "basket"]) recordAutoscaler(metrics, { namespace: "shop", name });
    recordNamespaces(metrics, ["shop", "stage"]);
    recordProcess(metrics);
    const complaints = await check([...metrics.render()].join(""));
    assertEquals(complaints.toSorted(), ACCEPTED.toSorted());
  },
});

Deno.test({
  name: `promtool complains of a page that is none${isThere ? "" : ": left out, there is no promtool"}`,
  ignore: !isThere,
  async fn() {
    const [complaint = ""] = await check('a{b="c} 1\n');
    assertEquals(complaint.includes("error while linting"), true, complaint);
  },
});

async function hasPromtool(): Promise<boolean> {
  try {
    return (await new Deno.Command("promtool", { args: ["--version"] }).output()).success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

async function check(page: string): Promise<readonly string[]> {
  const child = new Deno.Command("promtool", {
    args: ["check", "metrics"],
    stdin: "piped",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  await ReadableStream.from([new TextEncoder().encode(page)]).pipeTo(child.stdin);
  const { stderr } = await child.output();
  return new TextDecoder().decode(stderr).split("\n").filter((line) => line !== "");
}
