/**
 * Do podfit's parser and the API server read a manifest alike? Both accept it, and what the server would store means
 * the same to the parser as what was sent (defaults, nulls and dropped fields); or both refuse it for the same field.
 */
import { assertEquals } from "#assert";
import { parseAutoscaler, type ParsedAutoscaler } from "../../../lib/resources/pod_resource_autoscaler/parse.ts";
import type { Verdict } from "./dry_run.ts";

/** In words; `null` = they agree. */
export function findDisagreement(text: string, verdict: Verdict): string | null {
  const parsed = parseAutoscaler(JSON.parse(text));
  const said = parsed.ok
    ? "accepts"
    : `says ${shorten(parsed.problems.map(({ path, message }) => `${path}: ${message}`).join("; "))}`;
  if (verdict.isAccepted !== parsed.ok) {
    return `the server ${verdict.isAccepted ? "accepts" : `says ${shorten(verdict.message)}`}, the parser ${said}`;
  }
  if (parsed.ok) return findChange(parsed, parseAutoscaler(verdict.object));
  // Where the server could not even hold the value there is no field to name.
  if (verdict.isUnreadable) return null;
  const isSame = parsed.problems.some(({ path }) => isNamed(verdict.message, path.replace(/\\(["\\])/g, "$1")));
  return isSame ? null : `the server says ${shorten(verdict.message)}, the parser ${said}`;
}

/**
 * As a whole path: `spec.target` is not named by `spec.target.name`, nor `specs` by a word that ends so. Unknown fields,
 * which stand in quotes, name what holds them.
 */
export function isNamed(message: string, path: string): boolean {
  const literal = RegExp.escape(path);
  return new RegExp(`(^|[^\\w.])${literal}($|[^\\w.[])|"${literal}[.[]`).test(message);
}

function findChange(sent: ParsedAutoscaler, stored: ParsedAutoscaler): string | null {
  try {
    assertEquals(toMeaning(stored), toMeaning(sent));
    return null;
  } catch (error) {
    return `what the server stores means something else: ${error}`;
  }
}

function toMeaning(parsed: ParsedAutoscaler): unknown {
  if (!parsed.ok) return parsed;
  const { namespace: _, uid: _uid, key: _key, generation: _generation, ...meaning } = parsed.autoscaler;
  return meaning;
}

function shorten(text: string): string {
  return text.slice(0, 500);
}
