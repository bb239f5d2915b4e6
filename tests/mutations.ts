/**
 * For each clause of the contract, the slips that its tests must notice: what a change could plausibly get wrong, and
 * the test that fails then. `deno task clauses --mutate` makes each of them and looks.
 */
import type { Mutations } from "../tools/mutation.ts";
import { APPLYING } from "./mutations/applying.ts";
import { DECIDING } from "./mutations/deciding.ts";
import { PODS } from "./mutations/pods.ts";
import { REPORTING } from "./mutations/reporting.ts";
import { RESOURCE } from "./mutations/resource.ts";
import { SAMPLING } from "./mutations/sampling.ts";

export const MUTATIONS: Mutations = {
  ...RESOURCE,
  ...PODS,
  ...SAMPLING,
  ...DECIDING,
  ...APPLYING,
  ...REPORTING,
};
