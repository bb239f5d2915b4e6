/** How many pods are ready (R39). */
import { assertEquals } from "#assert";
import { countReadyPods } from "../../lib/horizontal/replica_calculator.ts";
import { pod } from "../support/builders.ts";

const ready = pod({ phase: "Running", ready: { status: "True", at: 1 } });

Deno.test("countReadyPods() counts pods that run and are Ready, deleting ones too (R39)", () => {
  const others = [
    pod({ phase: "Running", ready: { status: "False", at: 1 } }),
    pod({ phase: "Running", ready: { status: "Unknown", at: 1 } }),
    pod({ phase: "Running", ready: null }),
    pod({ phase: "Succeeded", ready: { status: "True", at: 1 } }),
    pod({ phase: "Pending", ready: { status: "True", at: 1 } }),
  ];
  assertEquals(countReadyPods([ready, { ...ready, deleting: true }, ...others]), 2);
  assertEquals(countReadyPods(others), 0);
});

Deno.test("countReadyPods() tells no pods at all from none that is ready (R39)", () => {
  assertEquals(countReadyPods([]), null);
});
