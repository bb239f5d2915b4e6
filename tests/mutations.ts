/**
 * For each clause of the contract, the slips that its tests must notice: what a change could plausibly get wrong, and
 * the test that fails then. `deno task clauses --mutate` makes each of them and looks.
 */
import type { Mutations } from "../tools/mutation.ts";
import { APPLYING } from "./mutations/applying.ts";
import { DECIDING } from "./mutations/deciding.ts";
import { EVIDENCE } from "./mutations/evidence.ts";
import { LEADING } from "./mutations/leading.ts";
import { NEW_PODS, RECOMMENDING } from "./mutations/new_pods.ts";
import { OOM } from "./mutations/oom.ts";
import { PODS } from "./mutations/pods.ts";
import { PROFILES } from "./mutations/profiles.ts";
import { REPORTING } from "./mutations/reporting.ts";
import { RESOURCE } from "./mutations/resource.ts";
import { ROOM } from "./mutations/room.ts";
import { SAMPLING } from "./mutations/sampling.ts";
import { SATURATION } from "./mutations/saturation.ts";
import { SEEING } from "./mutations/seeing.ts";

export const MUTATIONS: Mutations = {
  ...RESOURCE,
  ...PODS,
  ...SAMPLING,
  ...DECIDING,
  ...APPLYING,
  ...REPORTING,
  ...LEADING,
  ...EVIDENCE,
  ...OOM,
  ...SATURATION,
  ...ROOM,
  ...NEW_PODS,
  ...PROFILES,
  ...RECOMMENDING,
  ...SEEING,
};
