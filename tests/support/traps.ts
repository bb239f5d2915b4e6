/**
 * Every field of the resource times every value that somebody might write there: rows on which the parser and the API
 * server have to agree. What is known beforehand is told beside it: `refused` values are refused in each of these
 * fields and `accepted` ones are taken; of the others only the agreement counts.
 */
import * as field from "./manifest_fields.ts";
import { type Edit, toText } from "./manifest_fields.ts";
import * as value from "./trap_values.ts";
import { texts } from "./trap_values.ts";

export interface Trap {
  readonly sentence: string;
  readonly path: string;
  /** The manifest as it is sent. */
  readonly text: string;
  /** `null`: the server knows. */
  readonly isAccepted: boolean | null;
}

export interface Sort {
  readonly paths: readonly string[];
  readonly refused: readonly string[];
  readonly accepted?: readonly string[];
  readonly others?: readonly string[];
}

export const SORTS: readonly Sort[] = [
  {
    paths: field.DURATIONS,
    refused: [...value.NO_STRINGS, ...value.NO_DURATIONS],
    accepted: value.SOME_DURATIONS,
    others: value.ZERO_DURATIONS,
  },
  {
    paths: field.WINDOWS,
    refused: [...value.NO_STRINGS, ...value.NO_DURATIONS, ...value.LONG_DURATIONS],
    accepted: ["24h", "23h59m59.999999999s", "1s", "2m30s", ".5h", "01s"].map((text) => JSON.stringify(text)),
    others: value.ZERO_DURATIONS,
  },
  {
    paths: field.HALF_LIVES,
    refused: [...value.NO_STRINGS, ...value.NO_DURATIONS, ...value.LONG_DURATIONS, ...value.SHORT_DURATIONS],
    accepted: texts(["1m", "60s", "59.9999999s", "1h30m", "24h"]),
  },
  {
    paths: field.PERCENTILES,
    refused: [...value.NO_INTEGERS, "-1", "0", "49", "101", "2147483648"],
    accepted: ["50", "95", "100", "5e1"],
  },
  {
    paths: field.QUANTITIES,
    refused: ["-1", "1.5", "-0.5", "true", "false", "[]", `["1"]`, "{}", "1e19", "1e400", ...value.NO_QUANTITIES],
    accepted: ["1", "4", ...value.SOME_QUANTITIES],
    others: ["0", "-0", "9000000000000", "9007199254740991", "9007199254740992", ...value.EDGE_QUANTITIES],
  },
  {
    paths: field.POD_COUNTS,
    refused: [
      "-1",
      "1.5",
      "true",
      "[]",
      "{}",
      "1000000",
      "1e400",
      ...texts(["", "-1", "1.5", "a", "%", "2 %", "101%"]),
    ],
    accepted: ["0", "1", "999999", ...texts(["0", "3", "0%", "1%", "25%", "100%"])],
    others: texts(["01", "05%", "+1", "100 %", "25%%", "1e2"]),
  },
  {
    paths: field.PERCENTS,
    refused: [...value.NO_INTEGERS, "-1", "101", "2147483648"],
    others: ["0", "-0", "1", "50", "99", "100"],
  },
  {
    paths: field.REQUEST_THRESHOLDS,
    refused: [...value.NO_INTEGERS, "-1", "201", "2147483648"],
    others: ["0", "-0", "1", "50", "99", "100", "101", "200"],
  },
  {
    paths: field.COUNTS,
    refused: [...value.NO_INTEGERS, "0", "-0", "-1", "2147483648"],
    accepted: ["1", "2147483647"],
  },
  {
    paths: field.PRIORITY,
    refused: [...value.NO_INTEGERS, "2147483648", "-2147483649"],
    accepted: ["0", "-0", "-1", "2147483647", "-2147483648", "1e2", "5.0"],
  },
  {
    paths: field.FLAGS,
    refused: ["0", "1", "1.5", `""`, `"true"`, `"yes"`, "[]", "{}"],
    accepted: ["true", "false"],
  },
  {
    paths: field.NAMES,
    refused: [...value.NO_STRINGS, ...value.NO_NAMES],
    accepted: texts(["a", "0", "a-b", "a1", "a--b", "a".repeat(63)]),
    others: texts(["a.b", "a.b.c-d", "a".repeat(253), "*"]),
  },
  {
    paths: field.WORDS,
    refused: [
      ...value.NO_STRINGS,
      ...texts(["", " ", "DEPLOYMENT", "deployment ", "Running", "in", "exists", "a\u0000"]),
    ],
    others: texts([
      "statefulset",
      "podReady",
      "NotIn",
      "Exists",
      "balanced",
      "latency",
      "apply",
      "recommend",
      "inherit",
      "resource",
      "ignore",
      "measure",
    ]),
  },
  {
    paths: field.CONTAINER_LISTS,
    refused: ["1", "true", `"a"`, "{}", "[1]", "[[]]", "[{}]", "[null]", ...value.NO_CONTAINER_LISTS],
    accepted: ["[]", `["a"]`, `["a","a-b"]`, `["a","a"]`],
  },
  {
    paths: field.LABEL_VALUES,
    refused: [...value.NO_STRINGS, ...value.NO_LABELS],
    accepted: texts(["", "a", "A_b.c-1"]),
  },
  {
    paths: field.LABEL_KEYS,
    refused: [...value.NO_STRINGS, ...value.NO_LABELS, ...value.NO_LABEL_KEYS],
    accepted: texts(["a", "A_b.c-1", "a.b/C", "constructor", `${"a".repeat(253)}/b`]),
  },
  {
    paths: field.LISTS,
    refused: ["1", "true", `"a"`, "{}", "[1]", "[1.5]", "[true]", "[[]]", "[{}]", "[null]", `["\\u0000"]`],
    others: ["[]", `["a"]`],
  },
  {
    paths: field.OBJECTS,
    refused: ["1", "1.5", "true", `""`, `"a"`, "[]", "[{}]", `["a"]`],
    others: ["{}"],
  },
  { paths: field.UNKNOWN, refused: ["1", "{}", `"1h"`] },
];

export function* eachTrap(): Generator<Trap> {
  for (const { paths, refused, accepted = [], others = [] } of [...SORTS, ...LONG_SORTS]) {
    for (const path of paths) {
      for (const json of refused) yield toTrap([path, json], false);
      for (const json of accepted) yield toTrap([path, json], true);
      for (const json of [...others, ...ANYWHERE]) yield toTrap([path, json], null);
    }
  }
}

/** The last one is absence. */
const ANYWHERE = ["null", "[".repeat(500) + "]".repeat(500), undefined];

const DIGITS = "1".repeat(1e6);
/** A megabyte must cost the parser and the server next to nothing. */
const LONG_SORTS: readonly Sort[] = [
  {
    paths: [
      ...field.DURATIONS,
      ...field.WINDOWS,
      ...field.HALF_LIVES,
      ...field.QUANTITIES,
      ...field.NAMES,
      ...field.WORDS,
      ...field.LABEL_VALUES,
    ],
    refused: texts([DIGITS, `${DIGITS}s`, `1e${DIGITS}`, "x".repeat(1e6)]),
  },
  { paths: [...field.DURATIONS, ...field.QUANTITIES, ...field.COUNTS, ...field.PRIORITY], refused: [DIGITS] },
];

function toTrap([path, json]: Edit, isAccepted: Trap["isAccepted"]): Trap {
  const shown = json === undefined ? "absent" : json.length > 60 ? `${json.slice(0, 20)}... (${json.length})` : json;
  return { sentence: `${path} ${shown}`, path, text: toText([[path, json]]), isAccepted };
}
