/** What do failed reads of a node mean? The daemon tells people of it, and `auto` goes to another source, by the same rules (C51, C54). */
import type { FailureReason } from "../api/usage.ts";

/** So many failed reads of a node in a row make a condition and an error, and have another source tried. */
export const FAILED_READS = 3;

/** What does not heal by itself: somebody has to give an option or a right. */
export const FOR_A_PERSON: ReadonlySet<FailureReason> = new Set(["tls", "unauthorized", "forbidden"]);
