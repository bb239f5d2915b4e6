/** Numbers that look random and are the same for the same seed. */

export interface Random {
  /** At least 0, below 1. */
  next(): number;
  chance(probability: number): boolean;
  /** Of a list that is not empty. */
  pick<T>(list: readonly T[]): T;
  between(low: number, high: number): number;
  /** Both ends are among them. */
  whole(low: number, high: number): number;
}

/** Mulberry32: of its 2^32 states each seed starts at another one. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const whole = (low: number, high: number) => low + Math.floor(next() * (high - low + 1));
  return {
    next,
    whole,
    chance: (probability) => next() < probability,
    between: (low, high) => low + next() * (high - low),
    pick: <T>(list: readonly T[]): T => list[whole(0, list.length - 1)] as T,
  };
}

/** Spreads consecutive numbers over all seeds. */
export function mixSeed(seed: number, index: number): number {
  return (Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) + Math.imul(index + 1, 0xc2b2ae35)) >>> 0;
}
