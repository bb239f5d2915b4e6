/**
 * The seconds that short means hide: a load of five-minute means changes as slowly as they do, a real one does not. As
 * tests/quality makes them (sim/curve.go): CPU times 1 + noise of 10 %, correlated over 30 s, drawn each 10 s.
 */
import type { Load } from "../engine/load.ts";

const KNOT_SECONDS = 10;
const SIGMA = 0.1;
const CORRELATED_SECONDS = 30;

/** The same seed gives the same load, on every machine. */
export function addNoise(load: Load, seed: string): Load {
  const knots = listKnots(load, seed);
  return {
    seconds: load.seconds,
    at: (second) => {
      const place = Math.min(Math.max(0, second), load.seconds) / KNOT_SECONDS;
      const index = Math.min(Math.floor(place), knots.length - 1);
      const from = knots[index] ?? 0;
      const to = knots[index + 1] ?? from;
      return { ...load.at(second), cpuMillicores: from + (to - from) * (place - index) };
    },
  };
}

function listKnots({ seconds, at }: Load, seed: string): Float64Array {
  const draw = createNormal(seed);
  const kept = Math.exp(-KNOT_SECONDS / CORRELATED_SECONDS);
  const knots = new Float64Array(Math.floor(seconds / KNOT_SECONDS) + 1);
  let noise = draw();
  for (let index = 0; index < knots.length; index++) {
    noise = kept * noise + Math.sqrt(1 - kept * kept) * draw();
    const level = at(index * KNOT_SECONDS).cpuMillicores;
    knots[index] = Math.round(Math.max(0, level * (1 + SIGMA * noise)) * 10) / 10;
  }
  return knots;
}

/** Numbers of the normal distribution: Box and Muller, of splitmix64, https://prng.di.unimi.it/splitmix64.c */
function createNormal(seed: string): () => number {
  let state = hash(seed);
  const next = () => {
    state = BigInt.asUintN(64, state + 0x9e3779b97f4a7c15n);
    let mixed = BigInt.asUintN(64, (state ^ (state >> 30n)) * 0xbf58476d1ce4e5b9n);
    mixed = BigInt.asUintN(64, (mixed ^ (mixed >> 27n)) * 0x94d049bb133111ebn);
    return (Number((mixed ^ (mixed >> 31n)) >> 11n) + 0.5) / 2 ** 53;
  };
  return () => Math.sqrt(-2 * Math.log(next())) * Math.cos(2 * Math.PI * next());
}

/** FNV-1a of 64 bits. */
function hash(text: string): bigint {
  let value = 14_695_981_039_346_656_037n;
  for (const byte of new TextEncoder().encode(text)) {
    value = BigInt.asUintN(64, (value ^ BigInt(byte)) * 1_099_511_628_211n);
  }
  return value;
}
