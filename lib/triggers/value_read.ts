/** What reading an answer's text gave. */

/** `cause` ends a sentence that names the trigger; it quotes nothing of the answer, which may repeat a secret. */
export type ValueRead =
  | { readonly ok: true; readonly value: number }
  | { readonly ok: false; readonly cause: string };
