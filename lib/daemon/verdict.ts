/** An answer to "is it alive?" or "is it ready?". */
export interface Verdict {
  readonly ok: boolean;
  /** Why, one reason per line. */
  readonly message: string;
}
