/** The table of the poll half, as a whole: every combination of its inputs against KEDA's switch, written down once more. */
import { assert, assertEquals } from "@std/assert";
import { choosePollStep, type PollCase, type PollStep } from "../../../../lib/core/replicas/poll/step.ts";

const BOOLEANS = [false, true];

function listCases(): readonly PollCase[] {
  return BOOLEANS.flatMap((isActive) =>
    BOOLEANS.flatMap((isError) =>
      BOOLEANS.flatMap((hasFallback) =>
        [null, 0, 1, 2].flatMap((idleReplicas) =>
          [0, 1, 3].flatMap((minReplicas) =>
            [0, 1, 2, 3, 5].map((replicas) => (
              { isActive, isError, hasFallback, idleReplicas, minReplicas, replicas }
            ))
          )
        )
      )
    )
  );
}

/** RequestScale of KEDA 2.20.2 line by line, but for an error, which here never reaches the lines below it. */
function asKeda(
  { isActive, isError, hasFallback, idleReplicas: idle, minReplicas: min, replicas }: PollCase,
): PollStep {
  if (isActive) {
    switch (true) {
      case (idle !== null && replicas < min) || replicas === 0:
        return "activate";
      case isError:
        return "doubt";
      default:
        return "stay";
    }
  }
  switch (true) {
    case isError && hasFallback:
      return "awaitFallback";
    case isError && !hasFallback:
      return "fail";
    case (idle !== null && replicas > idle) || (replicas > 0 && min === 0):
      return "deactivate";
    case idle === null && replicas < min:
      return "raise";
    default:
      return "rest";
  }
}

Deno.test("choosePollStep() does as KEDA in every case of an active object (R52)", () => {
  const cases = listCases().filter(({ isActive }) => isActive);
  assertEquals(cases.length, 240);
  for (const one of cases) assertEquals(choosePollStep(one), asKeda(one), JSON.stringify(one));
});

Deno.test("choosePollStep() does as KEDA in every case of an inactive object, but that no error scales to zero (R53)", () => {
  const cases = listCases().filter(({ isActive }) => !isActive);
  assertEquals(cases.length, 240);
  for (const one of cases) assertEquals(choosePollStep(one), asKeda(one), JSON.stringify(one));
});

Deno.test("choosePollStep() writes nothing for an error, whatever else is so (R53)", () => {
  const cases = listCases().filter(({ isActive, isError }) => !isActive && isError);
  assert(cases.length > 0);
  for (const one of cases) assert(["awaitFallback", "fail"].includes(choosePollStep(one)), JSON.stringify(one));
});
