import { assertEquals, assertThrows } from "#assert";
import { pickScenarios } from "../../tools/e2e_autoscaling.ts";

const ALL = ["CPU up", "CPU down", "Memory up"].map((name) => ({ name }));

Deno.test("pickScenarios() takes all, or those with a part of a name, and refuses a part that no name has", () => {
  const pick = (only: string) => pickScenarios(ALL, only).map(({ name }) => name);
  assertEquals(pick(""), ["CPU up", "CPU down", "Memory up"]);
  assertEquals(pick("down,Memory"), ["CPU down", "Memory up"]);
  assertThrows(() => pick("Typo"), Error, 'Cannot find a scenario with "Typo" in its name');
  assertThrows(() => pick("CPU,Typo"), Error, '"Typo"');
  assertThrows(() => pickScenarios([], ""), Error, "Cannot find a scenario");
});
