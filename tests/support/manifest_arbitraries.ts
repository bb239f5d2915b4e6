/**
 * Random manifests as JSON text: a valid one with a few fields changed, each to a value that nearly fits it or, at
 * times, to any at all, so that many of them are still good.
 */
import * as fc from "fast-check";
import {
  CONTAINER_LISTS,
  COUNTS,
  DURATIONS,
  type Edit,
  HALF_LIVES,
  LISTS,
  OBJECTS,
  PERCENTILES,
  PERCENTS,
  QUANTITIES,
  REQUEST_THRESHOLDS,
  toText,
  UNKNOWN,
  WINDOWS,
} from "./manifest_fields.ts";
import { type Sort, SORTS } from "./traps.ts";

export function anyManifest(): fc.Arbitrary<string> {
  return fc.uniqueArray(anyEdit(), { minLength: 1, maxLength: 4, selector: ([path]) => path })
    .map((edits) => toText(edits.filter((edit) => edits.every((other) => isBeside(edit, other)))));
}

function anyEdit(): fc.Arbitrary<Edit> {
  const rare: readonly (readonly string[])[] = [LISTS, CONTAINER_LISTS, OBJECTS, UNKNOWN];
  const isRare = ({ paths }: Sort) => rare.includes(paths);
  const sorts = SORTS.map((sort) => ({ weight: isRare(sort) ? 1 : 8, arbitrary: fc.constant(sort) }));
  return fc.oneof(...sorts).chain(({ paths, refused, accepted = [], others = [] }) => {
    const values = fc.oneof(
      { weight: 1, arbitrary: fc.constantFrom(...refused) },
      { weight: 10, arbitrary: fc.constantFrom(...accepted, ...others, undefined) },
      { weight: 20, arbitrary: nearly(paths) },
      { weight: 1, arbitrary: fc.constant("null") },
      { weight: 1, arbitrary: fc.jsonValue().map((value) => JSON.stringify(value)) },
    );
    return fc.tuple(fc.constantFrom(...paths), values);
  });
}

/** Of the right shape; what it is worth is for the parsers to find out. */
function nearly(paths: readonly string[]): fc.Arbitrary<string | undefined> {
  switch (paths) {
    case DURATIONS:
    case WINDOWS:
    case HALF_LIVES:
      return fc.stringMatching(DURATION).map((text) => JSON.stringify(text));
    case QUANTITIES:
      return fc.oneof(fc.stringMatching(QUANTITY).map((text) => JSON.stringify(text)), integer(-1, 20));
    case PERCENTS:
      return integer(0, 101);
    case PERCENTILES:
      return integer(49, 101);
    case REQUEST_THRESHOLDS:
      return integer(0, 201);
    case COUNTS:
      return integer(0, 2 ** 31);
    default:
      return fc.constant(undefined);
  }
}

const DURATION = /^\+?(?:[0-9]{1,4}(?:\.[0-9]{0,10})?(?:ns|us|\u00b5s|ms|s|m|h)){1,3}$/;
const QUANTITY = /^\+?[0-9]{1,4}\.?[0-9]{0,12}(?:[eE][+-]?[0-9]{1,2}|n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi)?$/;

function integer(min: number, max: number): fc.Arbitrary<string> {
  return fc.integer({ min, max }).map(String);
}

/**
 * Two edits fit together unless one is within the other; and a threshold without the other one, where a profile fills
 * that in, is for podfit alone to judge.
 */
function isBeside([path, json]: Edit, [other]: Edit): boolean {
  const isThreshold = /Threshold$|[.](cpu|memory)([.](requests|limits))?$|[.]policy$/.test(path);
  if (isThreshold && other === "spec.profile" && (json === undefined || json === "null" || json === "{}")) return false;
  return !isAbove(other, path);
}

function isAbove(path: string, other: string): boolean {
  return other.startsWith(`${path}.`) || other.startsWith(`${path}[`);
}
