/** Which clauses does a run of tools/clauses.ts look at, and does it break the code? Read from its arguments. Pure. */

export interface ClauseOptions {
  readonly isMutating: boolean;
  /** In the order of the contract. */
  readonly asked: readonly string[];
}

const USAGE = "[--mutate] [--only C33,C34] [--family C]";

/** `--only` and `--family` together ask for what both take. Throws what is wrong with the arguments. */
export function readClauseOptions(args: readonly string[], clauses: readonly string[]): ClauseOptions {
  let [isMutating, only, family]: [boolean, readonly string[] | null, string | null] = [false, null, null];
  const rest = args.values();
  for (const arg of rest) {
    if (arg === "--mutate") isMutating = true;
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
  return { isMutating, asked };
}

function readValue(rest: Iterator<string>): string {
  const next = rest.next();
  if (next.done === true || next.value.startsWith("--")) throw new Error(`Cannot read the arguments: ${USAGE}`);
  return next.value;
}
