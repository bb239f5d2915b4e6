/** Is the transcript in docs one of the commands that CI runs on a real cluster? */
import { assertEquals, assertMatch } from "#assert";
import { listCommands, STEPS, TRANSCRIPT } from "../e2e/support/first_ten_minutes.ts";

Deno.test("the transcript of the first ten minutes has each command of the script, in its order", async () => {
  const transcript = await Deno.readTextFile(TRANSCRIPT);
  assertEquals(listCommands(transcript), STEPS.flatMap(({ commands }) => commands));
  // It was taken of a whole run.
  assertMatch(transcript, /namespace "podfit" deleted\s*$/);
});
