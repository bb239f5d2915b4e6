/** Every scenario, in the order in which a run plays them. */
import type { Scenario } from "../stage.ts";
import { API_LOST, DNS_FAILURE, DROPPED } from "./api.ts";
import { KILLED, MADE_AGAIN, TWO_PODFITS } from "./doubles.ts";
import { BURST, CHURN } from "./load.ts";
import { BLIND_AND_PAUSED, OVERLOADED } from "./refusals.ts";

export const SCENARIOS: readonly Scenario[] = [
  API_LOST,
  BLIND_AND_PAUSED,
  OVERLOADED,
  BURST,
  CHURN,
  TWO_PODFITS,
  MADE_AGAIN,
  DNS_FAILURE,
  DROPPED,
  KILLED,
];
