/** What became of the accepted PATCH: it is in force, or never will be (C45). */
import { SIDE_KEYS } from "../../units/resources.ts";
import type { Enacted, Input } from "../decision.ts";
import { type ContainerFacts, findContainer } from "../pod/pod_facts.ts";
import { isEnacted } from "../pod/resize_status.ts";
import type { Command, PodState } from "../state.ts";

/** A command that was replaced, reverted, or whose autoscaler is gone ends without being enacted. */
export function settleCommand(
  state: PodState,
  { pod, contenders, now }: Input,
): { readonly state: PodState; readonly enacted: Enacted | null } {
  const { command } = state;
  if (command === null || (pod.generation !== null && pod.generation < command.generation)) {
    return { state, enacted: null };
  }
  const container = findContainer(pod, command.container);
  if (container === null || !isCommanded(command, container)) {
    return { state: { ...state, command: null }, enacted: null };
  }
  if (!isEnacted(pod, container, command.generation)) return { state, enacted: null };
  const { autoscaler, action, at } = command;
  const isContender = contenders.some(({ uid }) => uid === autoscaler);
  return {
    state: { ...state, command: null },
    enacted: isContender ? { autoscaler, action, tookMs: now - at } : null,
  };
}

function isCommanded({ to }: Command, { spec }: ContainerFacts): boolean {
  return SIDE_KEYS.every((key) => spec[key] === to[key]);
}
