/** Edge memory of notices: a thing is told when it begins and when it ends, not at each turn. */
import { NOTHING_TOLD, type View } from "../state.ts";

/** Remembers what is now true of a topic (`null` = nothing) and calls `onChange` when that is news. */
export function tell(told: View["told"], topic: string, value: string | null, onChange?: () => void): View["told"] {
  if ((told[topic] ?? null) === value) return told;
  onChange?.();
  if (value !== null) return { ...told, [topic]: value };
  const { [topic]: _, ...rest } = told;
  return Object.keys(rest).length === 0 ? NOTHING_TOLD : rest;
}
