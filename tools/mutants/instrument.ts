/**
 * Adds to a file's text what a run needs: a count of entries for each block, a step for each round of a loop, and
 * mutants that a number switches on. Without that number the code does what it did before. Pure.
 */
import type { CodeBlock, Syntax, SyntaxMutant } from "./syntax.ts";

export interface Numbered {
  readonly id: number;
  readonly mutant: SyntaxMutant;
}

interface Insertion {
  readonly at: number;
  readonly text: string;
  /** Among those of one place: closings first, the inner before the outer; then openings, the outer before the inner. */
  readonly order: number;
}

const ENTER = "globalThis.podfitEnter?.";
const ROUND = "globalThis.podfitRound?.();";
const IS_ON = "globalThis.podfitMutant === ";

/** `firstBlock`: the number of the file's first block, or `null` = blocks are not counted. */
export function instrument(
  text: string,
  { blocks, loops }: Pick<Syntax, "blocks" | "loops">,
  { firstBlock, mutants }: { readonly firstBlock: number | null; readonly mutants: readonly Numbered[] },
): string {
  const insertions = [
    ...loops.map((at): Insertion => ({ at, text: ROUND, order: -Infinity })),
    ...blocks.flatMap((block, i) => enterBlock(block, firstBlock === null ? null : firstBlock + i)),
    // What leaves out a whole element must be outside of what changes the expression in it.
    ...mutants.toSorted((a, b) => Number(a.mutant.kind === "expression") - Number(b.mutant.kind === "expression"))
      .flatMap((one, i) => switchMutant(one, i / (mutants.length + 1))),
  ].sort((a, b) => a.at - b.at || a.order - b.order);
  let [result, at] = ["", 0];
  for (const insertion of insertions) {
    result += text.slice(at, insertion.at) + insertion.text;
    at = insertion.at;
  }
  return result + text.slice(at);
}

/** Openings are ordered by how far they reach, the farthest first: about a billion less their length. */
const OPENING = 1e9;

/** Where entries are not counted, rounds are all the same. */
function enterBlock({ entry, start, end, isLoop }: CodeBlock, number: number | null): readonly Insertion[] {
  const length = end - start;
  const enter = number === null ? "" : `${ENTER}(${number})`;
  const round = isLoop ? ROUND : "";
  if (enter + round === "") return [];
  if (entry === "statement") return [{ at: start, text: `${enter};`, order: OPENING - length - 0.9 }];
  const [open, close] = entry === "lone" ? [`{${round}${enter};`, "}"] : [`(${enter}, `, ")"];
  return [
    { at: start, text: open, order: OPENING - length - 0.5 },
    { at: end, text: close, order: length + 0.5 },
  ];
}

/** `nested`, from 0 to below 1: which of several mutants of one place is inside of the others. */
function switchMutant({ id, mutant }: Numbered, nested: number): readonly Insertion[] {
  const { start, end, kind, code } = mutant;
  const [open, close] = switchOn(kind, id, code);
  const length = end - start;
  return [
    { at: start, text: open, order: OPENING - length + nested / 4 },
    { at: end, text: close, order: length - nested / 4 },
  ];
}

/** A spread is one element, and one member, as others are. */
function switchOn(kind: SyntaxMutant["kind"], id: number, code: string): readonly [open: string, close: string] {
  const isOn = `${IS_ON}${id}`;
  switch (kind) {
    case "expression":
      return [`(${isOn} ? (${code}) : (`, "))"];
    case "statement":
      return [`if (!(${isOn})) {`, "}"];
    case "array":
      return [`...(${isOn} ? [] : [`, "])"];
    case "object":
      return [`...(${isOn} ? {} : {`, "})"];
  }
}
