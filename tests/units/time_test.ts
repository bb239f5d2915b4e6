import { assertEquals } from "@std/assert";
import { formatTime } from "../../lib/units/time.ts";

Deno.test("formatTime() gives whole seconds, cut off, as metav1.Time has them", () => {
  assertEquals(formatTime(Date.UTC(2026, 10, 20, 11) + 999), "2026-11-20T11:00:00Z");
});
