import { assertEquals } from "#assert";
import { formatTime, parseTime } from "../../lib/units/time.ts";

Deno.test("formatTime() gives whole seconds, cut off, as metav1.Time has them", () => {
  assertEquals(formatTime(Date.UTC(2026, 10, 20, 11) + 999), "2026-11-20T11:00:00Z");
});

Deno.test("parseTime() reads RFC 3339 and nothing else", () => {
  const at = Date.UTC(2026, 10, 20, 11);
  assertEquals(parseTime("2026-11-20T11:00:00Z"), at);
  assertEquals(parseTime("2026-11-20T12:00:00.250+01:00"), at + 250);
  for (const value of ["", "1", "May 5", "2026-11-20", "2026-11-20 11:00:00Z", "2026-13-20T11:00:00Z", at, null, {}]) {
    assertEquals(parseTime(value), null, String(value));
  }
});
