/** Which clauses does a run of tools/clauses.ts look at, and does it break the code? Read from its arguments. Pure. */

export interface ClauseOptions {
  readonly isMutating: boolean;
  /** In the order of the contract. */
  readonly asked: readonly string[];
}

const USAGE = "[--mutate] [--only C33,C34] [--family C] [--part 1/4]";

/** Several together ask for what all of them take; of that, `--part 2/4` takes each fourth. Throws what is wrong. */
export function readClauseOptions(args: readonly string[], clauses: readonly string[]): ClauseOptions {
  let [isMutating, only, family, part] = [false, null as readonly string[] | null, null as string | null, "1/1"];
  const rest = args.values();
  for (const arg of rest) {
    if (arg === "--mutate") isMutating = true;
    else if (arg === "--only") only = readValue(rest).split(",");
    else if (arg === "--family") family = readValue(rest);
    else if (arg === "--part") part = readValue(rest);
    else throw new Error(`Cannot read argument "${arg}": ${USAGE}`);
  }
  const strays = (only ?? []).filter((id) => !clauses.includes(id));
  if (strays.length > 0) throw new Error(`Cannot find ${strays.join(", ")} in the contract`);
  const [, number = NaN, of = NaN] = /^([1-9]\d?)\/([1-9]\d?)$/.exec(part)?.map(Number) ?? [];
  if (!(number <= of)) throw new Error(`Cannot read --part "${part}": ${USAGE}`);
  const asked = clauses.filter((id) =>
    (only === null || only.includes(id)) && (family === null || id.replace(/\d+$/, "") === family)
  ).filter((_, index) => index % of === number - 1);
  if (asked.length === 0) throw new Error(`Cannot find any clause of ${args.join(" ")} in the contract`);
  return { isMutating, asked };
}

function readValue(rest: Iterator<string>): string {
  const next = rest.next();
  if (next.done === true || next.value.startsWith("--")) throw new Error(`Cannot read the arguments: ${USAGE}`);
  return next.value;
}
