/**
 * The syntax of label keys and values. The length is checked first, so that a long text costs nothing.
 * https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set
 */

/** Says what is wrong with a label key such as `app.kubernetes.io/name`; `null` when nothing is. */
export function findKeyFault(key: string): string | null {
  if (key.length > MAX_PREFIX + 1 + MAX_NAME) return `longer than ${MAX_PREFIX + 1 + MAX_NAME} characters`;
  const slash = key.indexOf("/");
  const prefix = slash === -1 ? null : key.slice(0, slash);
  const name = key.slice(slash + 1);
  if (prefix === "") return `nothing before the "/"`;
  if (prefix !== null && (prefix.length > MAX_PREFIX || !prefix.split(".").every((part) => DNS_PART.test(part)))) {
    return `the part before the "/" is no DNS name in lower case`;
  }
  if (name === "") return "empty name";
  if (name.length > MAX_NAME) return `name longer than ${MAX_NAME} characters`;
  return NAME.test(name) ? null : `a name ${NAME_RULE}`;
}

/** Says what is wrong with a label value; `null` when nothing is. An empty value is valid. */
export function findValueFault(value: string): string | null {
  if (value.length > MAX_NAME) return `longer than ${MAX_NAME} characters`;
  return value === "" || NAME.test(value) ? null : `a value ${NAME_RULE}`;
}

const MAX_PREFIX = 253;
const MAX_NAME = 63;
const NAME = /^[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?$/;
const NAME_RULE = `consists of letters, digits, "-", "_" and ".", and begins and ends with a letter or digit`;
const DNS_PART = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/;
