/** Every scenario, in the order in which a run plays them. */
import type { Scenario } from "../stage.ts";
import { API_LOST, DNS_FAILURE, DROPPED } from "./api.ts";
import { KILLED, MADE_AGAIN, TWO_PODFITS } from "./doubles.ts";
import { BAD_KUBELETS, DROPPED_TLS, HUGE_BODIES } from "./kubelets.ts";
import { LEADER } from "./leader.ts";
import { BURST, CHURN } from "./load.ts";
import { BAD_STARTS, HALF_OPEN, ROTATED, SIGTERMS } from "./process.ts";
import { BLIND_AND_PAUSED, OVERLOADED } from "./refusals.ts";

export const SCENARIOS: readonly Scenario[] = [
  BAD_KUBELETS,
  HUGE_BODIES,
  HALF_OPEN,
  DROPPED_TLS,
  API_LOST,
  BLIND_AND_PAUSED,
  OVERLOADED,
  BAD_STARTS,
  SIGTERMS,
  BURST,
  CHURN,
  TWO_PODFITS,
  LEADER,
  MADE_AGAIN,
  DNS_FAILURE,
  ROTATED,
  DROPPED,
  KILLED,
];
