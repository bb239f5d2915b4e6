/** How far a sweep is, as one line of a terminal that is written over. */
import { TERMINAL, type Text } from "../../terminal/output.ts";

/** What of a terminal is needed. */
export interface Terminal {
  readonly isTerminal: () => boolean;
  readonly write: (text: Text) => void;
}

/** Shows counts as they come; `end` leaves nothing behind. Silent where nobody looks. */
export interface Progress {
  readonly show: (done: number) => void;
  readonly end: () => void;
}

const WIDTH = 30;

export function createProgress({ isTerminal, write }: Terminal, total: number): Progress {
  if (!isTerminal() || total === 0) return { show: () => {}, end: () => {} };
  let shown = "";
  return {
    show(done) {
      const filled = Math.floor(WIDTH * Math.min(done, total) / total);
      const line = `[${"#".repeat(filled).padEnd(WIDTH, ".")}] ${done} of ${total} policies`;
      if (line !== shown) write([TERMINAL.toLineStart, line]);
      shown = line;
    },
    end: () => write([TERMINAL.toLineStart, TERMINAL.clearLineEnd]),
  };
}
