/**
 * What a variable of a container would be, without running it (R16): by `env` and `envFrom`, secrets and config maps, and references to
 * variables before it. Only what the variable needs is read. KEDA: pkg/scaling/resolver/scale_resolvers.go, resolveEnv and resolveEnvValue.
 */
import { ABSENT, type FindEntry, type Found } from "./lookup.ts";
import type { EnvContainer, EnvRef, EnvVariable } from "./pod_template.ts";

/** Makes a look-up of variables; `absent` is one that the container has not, or that comes from the pod's own fields. */
export function createFindVariable(container: EnvContainer, findEntry: FindEntry): (name: string) => Promise<Found> {
  const values = new Map<number, Promise<Found>>();

  /** The last one counts, and `env` before `envFrom`. */
  async function find(name: string, before: number): Promise<Found> {
    for (let index = before - 1; index >= 0; index--) {
      const variable = container.variables[index];
      if (variable?.name !== name) continue;
      const value = await valueOf(variable, index);
      if (value.kind !== "absent") return value;
    }
    return await findInSources(name);
  }

  function valueOf(variable: EnvVariable, index: number): Promise<Found> {
    const known = values.get(index);
    if (known !== undefined) return known;
    const { from, value } = variable;
    const reading = from === null ? expand(value, (name) => find(name, index)) : findReferred(from);
    values.set(index, reading);
    return reading;
  }

  async function findReferred(from: EnvRef | { readonly kind: "other" }): Promise<Found> {
    if (from.kind === "other") return ABSENT;
    const found = await findEntry(from);
    if (found.kind === "failed" || found.kind === "found") return found;
    if (from.isOptional) return ABSENT;
    if (found.kind === "missing") return found;
    return { kind: "missing", cause: `${from.kind} "${from.name}" has no key "${from.key}"` };
  }

  async function findInSources(name: string): Promise<Found> {
    for (const { kind, name: object, prefix, isOptional } of container.sources.toReversed()) {
      if (!name.startsWith(prefix)) continue;
      const found = await findEntry({ kind, name: object, key: name.slice(prefix.length) });
      if (found.kind === "absent" || (found.kind === "missing" && isOptional)) continue;
      return found;
    }
    return ABSENT;
  }

  return (name) => find(name, container.variables.length);
}

/** A name that nobody gives stays as it is written; `$$` is a dollar. Short texts may name one another, so the result has a bound. */
async function expand(text: string, find: (name: string) => Promise<Found>): Promise<Found> {
  let expanded = "";
  let rest = text;
  while (true) {
    const dollar = rest.indexOf("$");
    // KEDA looks at a dollar only where three characters follow it.
    if (dollar === -1 || dollar + 3 >= rest.length) return { kind: "found", text: expanded + rest };
    expanded += rest.slice(0, dollar);
    const [whole = "", name] = /^\$\(([^)]*)\)/.exec(rest.slice(dollar)) ?? [rest.slice(dollar, dollar + 2)];
    rest = rest.slice(dollar + whole.length);
    if (name === undefined) {
      expanded += whole === "$$" ? "$" : whole;
      continue;
    }
    const found = await find(name);
    if (found.kind === "missing" || found.kind === "failed") return found;
    expanded += found.kind === "found" ? found.text : whole;
    if (expanded.length > MOST_CHARACTERS) {
      return { kind: "failed", cause: `a variable is longer than ${MOST_CHARACTERS} characters` };
    }
  }
}

const MOST_CHARACTERS = 2 ** 16;
