/** Which clauses does a run of tools/clauses.ts look at, and does it break the code? Read from its arguments. Pure. */

export interface ClauseOptions {
  /** Which changes of the code tests must notice: none, those in tests/mutations.ts, or generated ones too. */
  readonly mutants: "none" | "written" | "all";
  /** In the order of the contract. */
  readonly asked: readonly string[];
  /** The tests have just passed without any change of the code, and need not run like that once more. */
  readonly testsPassed: boolean;
  /** Which of the written mutants: those whose tests need a real cluster, or the others. */
  readonly place: "any" | "unit" | "cluster";
}

const USAGE = "[--mutate | --mutate-written] [--unit | --cluster] [--tests-passed] [--only C33,C34] [--family C]";

/** Several filters together ask for what all of them take. Throws what is wrong. */
export function readClauseOptions(args: readonly string[], clauses: readonly string[]): ClauseOptions {
  let mutants: ClauseOptions["mutants"] = "none";
  let testsPassed = false;
  let place: ClauseOptions["place"] = "any";
  let [only, family] = [null as readonly string[] | null, null as string | null];
  const rest = args.values();
  for (const arg of rest) {
    if (arg === "--mutate") mutants = "all";
    else if (arg === "--mutate-written") mutants = "written";
    else if (arg === "--tests-passed") testsPassed = true;
    else if (arg === "--unit") place = "unit";
    else if (arg === "--cluster") place = "cluster";
    else if (arg === "--only") only = readValue(rest).split(",");
    else if (arg === "--family") family = readValue(rest);
    else throw new Error(`Cannot read argument "${arg}": ${USAGE}`);
  }
  const strays = (only ?? []).filter((id) => !clauses.includes(id));
  if (strays.length > 0) throw new Error(`Cannot find ${strays.join(", ")} in the contract`);
  const asked = clauses.filter((id) =>
    (only === null || only.includes(id)) && (family === null || id.replace(/\d+$/, "") === family)
  );
  if (asked.length === 0) throw new Error(`Cannot find any clause of ${args.join(" ")} in the contract`);
  return { mutants, asked, testsPassed, place };
}

function readValue(rest: Iterator<string>): string {
  const next = rest.next();
  if (next.done === true || next.value.startsWith("--")) throw new Error(`Cannot read the arguments: ${USAGE}`);
  return next.value;
}
