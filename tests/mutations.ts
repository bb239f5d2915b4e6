/**
 * For each clause of the contract, the slips that its tests must notice: what a change could plausibly get wrong, and
 * the test that fails then. `deno task clauses --mutate` makes each of them and looks.
 */
import type { Mutation, Mutations } from "../tools/mutation.ts";
import { APPLYING } from "./mutations/applying.ts";
import { DECIDING } from "./mutations/deciding.ts";
import { EVIDENCE } from "./mutations/evidence.ts";
import { LEADING } from "./mutations/leading.ts";
import { NEW_PODS, RECOMMENDING } from "./mutations/new_pods.ts";
import { NEXT_TO_KEDA } from "./mutations/next_to_keda.ts";
import { OOM } from "./mutations/oom.ts";
import { PODS } from "./mutations/pods.ts";
import { PROFILES } from "./mutations/profiles.ts";
import { REPLICAS_JOINT } from "./mutations/replicas_joint.ts";
import { REPLICAS_LANGUAGES } from "./mutations/replicas_languages.ts";
import { REPLICAS_POLL } from "./mutations/replicas_poll.ts";
import { REPLICAS_REPORT } from "./mutations/replicas_report.ts";
import { REPLICAS_RESOURCE } from "./mutations/replicas_resource.ts";
import { REPLICAS_SHELL } from "./mutations/replicas_shell.ts";
import { REPLICAS_TICK } from "./mutations/replicas_tick.ts";
import { REPLICAS_TRIGGERS } from "./mutations/replicas_triggers.ts";
import { REPLICAS_WAY_IN } from "./mutations/replicas_way_in.ts";
import { REPORTING } from "./mutations/reporting.ts";
import { RESOURCE } from "./mutations/resource.ts";
import { ROOM } from "./mutations/room.ts";
import { RESTARTS } from "./mutations/restarts.ts";
import { SAMPLING } from "./mutations/sampling.ts";
import { SATURATION } from "./mutations/saturation.ts";
import { SEEING } from "./mutations/seeing.ts";

export const MUTATIONS: Mutations = join([
  RESOURCE,
  PODS,
  SAMPLING,
  DECIDING,
  APPLYING,
  REPORTING,
  LEADING,
  EVIDENCE,
  OOM,
  SATURATION,
  ROOM,
  NEW_PODS,
  RECOMMENDING,
  NEXT_TO_KEDA,
  PROFILES,
  SEEING,
  RESTARTS,
  REPLICAS_JOINT,
  REPLICAS_LANGUAGES,
  REPLICAS_POLL,
  REPLICAS_REPORT,
  REPLICAS_RESOURCE,
  REPLICAS_SHELL,
  REPLICAS_TICK,
  REPLICAS_TRIGGERS,
  REPLICAS_WAY_IN,
]);

/** Several files may have slips of one clause. */
function join(all: readonly Mutations[]): Mutations {
  const joined = new Map<string, Mutation[]>();
  for (const [clause, slips] of all.flatMap((one) => Object.entries(one))) {
    joined.set(clause, [...joined.get(clause) ?? [], ...slips]);
  }
  return Object.fromEntries(joined);
}
