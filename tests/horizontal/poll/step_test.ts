/** The table of the poll half, as a whole: every combination of its inputs against KEDA's switch, written down once more. */
import { assert, assertEquals } from "#assert";
import { type ActivationCase, type ActivationStep, chooseActivationStep } from "../../../lib/horizontal/activation.ts";

const BOOLEANS = [false, true];

function listCases(): readonly ActivationCase[] {
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

/** RequestScale of KEDA 2.21.0 line by line, but for an error, which here never reaches the lines below it. */
function asKeda(
  { isActive, isError, hasFallback, idleReplicas: idle, minReplicas: min, replicas }: ActivationCase,
): ActivationStep {
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

Deno.test("chooseActivationStep() does as KEDA in every case of an active object (R52)", () => {
  const cases = listCases().filter(({ isActive }) => isActive);
  assertEquals(cases.length, 240);
  for (const one of cases) assertEquals(chooseActivationStep(one), asKeda(one), JSON.stringify(one));
});

Deno.test("chooseActivationStep() does as KEDA in every case of an inactive object, but that no error scales to zero (R53)", () => {
  const cases = listCases().filter(({ isActive }) => !isActive);
  assertEquals(cases.length, 240);
  for (const one of cases) assertEquals(chooseActivationStep(one), asKeda(one), JSON.stringify(one));
});

Deno.test("chooseActivationStep() writes nothing for an error, whatever else is so (R53)", () => {
  const cases = listCases().filter(({ isActive, isError }) => !isActive && isError);
  assert(cases.length > 0);
  for (const one of cases) assert(["awaitFallback", "fail"].includes(chooseActivationStep(one)), JSON.stringify(one));
});
