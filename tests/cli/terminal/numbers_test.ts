import { assertEquals } from "#assert";
import { formatSize } from "../../../lib/cli/terminal/numbers.ts";

Deno.test("formatSize() gives a negative amount the unit of the positive one", () => {
  const amounts = [2 ** 31, 150.4 * 2 ** 20, 95.4 * 2 ** 20, 1024, 17];
  assertEquals(amounts.map((amount) => formatSize(amount, "memory")), ["2Gi", "150Mi", "95.4Mi", "1Ki", "17"]);
  assertEquals(amounts.map((amount) => formatSize(-amount, "memory")), ["-2Gi", "-150Mi", "-95.4Mi", "-1Ki", "-17"]);
  assertEquals([-250, 0, null].map((amount) => formatSize(amount, "cpu")), ["-250m", "0", "none"]);
});
