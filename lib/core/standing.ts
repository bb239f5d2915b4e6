/** What can be read of a pod's state while it rests (`rest.ts`): how the pod stands, without what only its next decision needs. */
import type { PodState, Sampling, Shadow, View } from "./state.ts";

/** A whole state is one as well. */
export interface Standing extends Omit<PodState, "views" | "shadow"> {
  readonly views: Readonly<Record<string, StandingView>>;
  readonly shadow: (Omit<Shadow, "state"> & { readonly state: Standing }) | null;
}

/** How one contender stands. */
export interface StandingView extends Omit<View, "sampling" | "evidence"> {
  readonly sampling: Pick<Sampling, "newAt">;
}
