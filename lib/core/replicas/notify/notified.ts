/** What people have been notified of: a matter is news when it begins or changes, not at each pass (R92, C50). */

/** By topic (`trigger s0-prometheus`, `write`), what stands; nothing where nothing does. */
export type Notified = Readonly<Record<string, string>>;

/** `value` is what is now so of the topic, `null` = nothing. The same object when that is no news. */
export function setTopic(notified: Notified, topic: string, value: string | null): Notified {
  if (readTopic(notified, topic) === value) return notified;
  const rest = Object.entries(notified).filter(([one]) => one !== topic);
  return Object.fromEntries(value === null ? rest : [...rest, [topic, value]]);
}

/** What stands of a topic; `null` = nothing. */
export function readTopic(notified: Notified, topic: string): string | null {
  return Object.hasOwn(notified, topic) ? notified[topic] ?? null : null;
}
