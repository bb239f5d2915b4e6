/** What people have been notified of: a matter is news when it begins and when it ends, not at each evaluation. */
import type { SideKey } from "../../units/resources.ts";

/** What a person may be notified of, each apart from the others. */
export type Topic =
  | "metrics"
  | "stuck"
  | "block"
  | "restart"
  | "shrink"
  | "kill"
  | `baseline ${SideKey}`
  | `held ${SideKey}`;

/** By topic, what was last published and still stands; nothing where nothing does. */
export type Notified = Readonly<Partial<Record<Topic, string>>>;

/** Shared, so that a view of which nobody was notified costs no memory for it. */
export const NOTHING_NOTIFIED: Notified = Object.freeze({});

/** `value` is what is now so of the topic, `null` = nothing. The same object when that is no news. */
export function nextNotified(notified: Notified, topic: Topic, value: string | null): Notified {
  if ((notified[topic] ?? null) === value) return notified;
  if (value !== null) return { ...notified, [topic]: value };
  const { [topic]: _, ...rest } = notified;
  return Object.keys(rest).length === 0 ? NOTHING_NOTIFIED : rest;
}
