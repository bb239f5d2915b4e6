/** What several objects together get wrong: every check, whatever is known. */
import type { Relation } from "../finding.ts";
import { checkAuthentications, type Secrets } from "./authentications.ts";
import { checkCoupling } from "./coupling.ts";
import { checkGuaranteed } from "./guaranteed.ts";
import type { Look } from "./look.ts";
import { checkOwners } from "./owners.ts";
import { checkRanges } from "./ranges.ts";
import { checkRivals } from "./rivals.ts";
import { checkSpan } from "./span.ts";
import { checkTargets } from "./targets.ts";

const CHECKS: readonly ((look: Look) => readonly Relation[])[] = [
  checkTargets,
  checkOwners,
  checkGuaranteed,
  checkRivals,
  checkCoupling,
  checkSpan,
  checkRanges,
];

/** Gives what is found about those that somebody asks about. */
export function checkTogether(look: Look, secrets: Secrets = new Map()): readonly Relation[] {
  const found = [...CHECKS.flatMap((check) => check(look)), ...checkAuthentications(look.known, secrets)];
  return found.filter(({ of }) => look.isSubject(of));
}
