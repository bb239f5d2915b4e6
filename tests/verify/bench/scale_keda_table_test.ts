import { assertEquals, assertStringIncludes } from "#assert";
import { type Phase, writeKedaReport } from "./scale_keda_table.ts";

const toPhase = (seconds: readonly number[], questions: number): Phase => ({
  windowSeconds: 120,
  questions,
  costs: Object.fromEntries(
    (["podfit", "KEDA's operator", "KEDA's adapter", "kube-controller-manager", "kube-apiserver"] as const).flatMap(
      (name, index) => seconds[index] === 0 ? [] : [[name, { cpuSeconds: seconds[index] ?? 0, rssMiB: 50 + index }]],
    ),
  ),
});

Deno.test("the report has each process in each phase, and ratios to KEDA with HPA", () => {
  const text = writeKedaReport(100, {
    "HPA": toPhase([0, 20, 10, 12, 40], 1600),
    "podfit, KEDA measures": toPhase([8, 12, 6, 2, 30], 1600),
    "podfit alone": toPhase([6, 2, 2, 2, 20], 0),
  });
  assertStringIncludes(text, "100 ScaledObjects with two triggers each");
  assertStringIncludes(text, "\n| podfit | 0.00 | 4.00 | 3.00 | 0 | 50 | 50 |\n");
  assertStringIncludes(text, "\n| KEDA's operator | 10.00 | 6.00 | 1.00 | 51 | 51 | 51 |\n");
  assertEquals(text.split("\n").slice(-8), [
    "HPA: KEDA's operator answered 200 questions for metrics in 15 s",
    "podfit, KEDA measures: KEDA's operator answered 200 questions for metrics in 15 s",
    "podfit alone: KEDA's operator answered 0 questions for metrics in 15 s",
    "The HPA controller's part of kube-controller-manager: 5.00 (with HPAs, minus without)",
    "podfit to the HPA controller's part: 0.80",
    "podfit to KEDA with HPA (operator, adapter, HPA controller's part): 0.20",
    "podfit and KEDA to KEDA with HPA: 0.65",
    "podfit, which measures by itself, and KEDA to KEDA with HPA: 0.25",
  ]);
});
