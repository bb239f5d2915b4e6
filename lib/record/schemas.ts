/** Schemas that several records share: numbers, resources, requests, selectors. They are written with valibot. */
import * as v from "valibot";
import { BLOCK_REASONS, REFUSAL_REASONS, RESIZE_REASONS } from "../model/reasons.ts";
import type { Program } from "../model/scaled_object.ts";
import type { CronSchedule } from "../units/cron.ts";
import { RESOURCE_FIELDS } from "../units/resources.ts";
import { isRecord } from "../units/untrusted.ts";

export const text = v.string();

export const textOrNull = v.nullable(text);

export const flag = v.boolean();

/**
 * An object with any keys. Unlike v.record() it keeps a key that every object has as a property, such as a container
 * `constructor`.
 */
export function dictionary<T>(schema: v.GenericSchema<unknown, T>): v.GenericSchema<unknown, Record<string, T>> {
  return v.pipe(
    v.custom<Readonly<Record<string, unknown>>>(isRecord, "Invalid type: Expected Object"),
    v.transform((object) => Object.entries(object)),
    v.array(v.tuple([text, schema])),
    v.transform((entries) => Object.fromEntries(entries) as Record<string, T>),
  );
}

/** `T` with every optional field required, at every depth. */
type Complete<T> = T extends string | number | bigint | boolean | null | undefined | CronSchedule | Program ? T
  : T extends ReadonlyMap<infer K, infer V> ? ReadonlyMap<Complete<K>, Complete<V>>
  : { readonly [K in keyof T]-?: Complete<T[K]> };

/** `S` where the schema's output is `T`, optional fields included, else `never`. */
type Exact<T, S extends v.GenericSchema> = [Complete<T>, Complete<v.InferOutput<S>>] extends
  [Complete<v.InferOutput<S>>, Complete<T>] ? S : never;

/** Returns a function that takes only a schema whose output is exactly `T`: the compiler checks the schema there. */
export function schemaOf<T>() {
  return <S extends v.GenericSchema<unknown, T>>(schema: S & Exact<T, S>): v.GenericSchema<unknown, T> => schema;
}

/** JSON has finite numbers only. */
export const number = v.pipe(v.number(), v.finite());

export const numberOrNull = v.nullable(number);

/** A bigint, which is a string of digits in JSON. */
export const integer = v.pipe(
  v.string(),
  v.regex(/^-?\d{1,40}$/, "Invalid type: Expected an integer as a string"),
  v.transform((digits) => BigInt(digits)),
);

/** Any double: the ones that JSON lacks are their names. */
export const double = v.union([
  v.number(),
  v.pipe(v.picklist(["NaN", "Infinity", "-Infinity"]), v.transform(Number)),
]);

export const side = v.picklist(RESOURCE_FIELDS);

/** An object with at most one value for each resource field. */
export function byField<const S extends v.GenericSchema>(schema: S) {
  return v.strictObject(v.entriesFromList(RESOURCE_FIELDS, v.exactOptional(schema)));
}

export const resource = v.picklist(["cpu", "memory"]);

export const direction = v.picklist(["up", "down"]);

export const action = v.picklist(["scaleUp", "scaleDown"]);

export const requestAction = v.picklist([
  "scaleUp",
  "scaleDown",
  "revert",
]);

export const blockReason = v.picklist(BLOCK_REASONS);

export const resizeReason = v.picklist(RESIZE_REASONS);

export const refusalReason = v.picklist(REFUSAL_REASONS);

export const stuckReason = v.picklist([
  "ResizeDeferred",
  "ResizeInfeasible",
  "ResizeError",
]);

export const containerKind = v.picklist(["container", "sidecar", "init"]);

export const resources = v.strictObject(v.entriesFromList(RESOURCE_FIELDS, numberOrNull));

export const pressure = v.strictObject({
  fullNs: numberOrNull,
  fullHint: v.exactOptional(v.strictObject({ unit: v.picklist(["us", "ns"]), percent: number })),
  throttledNs: numberOrNull,
  largestCpuNs: numberOrNull,
});

export const readyCondition = v.strictObject({
  status: v.picklist(["True", "False", "Unknown"]),
  at: number,
});

export const reflex = v.strictObject({ kill: text, instance: v.nullable(text), resends: number });

const requestEntries = {
  autoscaler: text,
  autoscalerGeneration: number,
  container: text,
  kind: containerKind,
  action: requestAction,
  uid: text,
  resourceVersion: text,
  generation: numberOrNull,
  from: resources,
  to: resources,
  changes: v.array(side),
  stuck: v.nullable(stuckReason),
  reason: v.nullable(resizeReason),
  givesUp: v.nullable(resources),
  why: text,
  reflex: v.nullable(reflex),
};

export const request = v.strictObject(requestEntries);

export const unconfirmedRequest = v.strictObject({ ...requestEntries, at: number });

const operator = v.picklist(["In", "NotIn", "Exists", "DoesNotExist"]);

const expression = v.strictObject({
  key: text,
  operator,
  values: v.exactOptional(v.array(text)),
});

export const selector = v.strictObject({
  requirements: v.array(v.strictObject({ key: text, operator, values: v.array(text) })),
  source: v.strictObject({
    matchLabels: v.exactOptional(dictionary(text)),
    matchExpressions: v.exactOptional(v.array(expression)),
  }),
});
