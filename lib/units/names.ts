/**
 * What Kubernetes takes for the name of an object. The length is checked first, so that a long text costs nothing.
 * https://kubernetes.io/docs/concepts/overview/working-with-objects/names/
 */
import type { TextRule } from "./fields.ts";

/** A DNS subdomain of RFC 1123: the name of most objects. */
export const NAME_RULE: TextRule = {
  max: 253,
  pattern: /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/,
  rule: `must be 1 to 253 lower case letters, digits, "-" and "."`,
};

/** A DNS label of RFC 1123: the name of a namespace or container. */
export const LABEL_RULE: TextRule = {
  max: 63,
  pattern: /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/,
  rule: `must be 1 to 63 lower case letters, digits and "-"`,
};
