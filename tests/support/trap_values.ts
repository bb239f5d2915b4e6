/**
 * What somebody might write into a field of the resource, by what the field should hold. NO_... are refused by the API
 * server and the parser alike, SOME_... are taken, and the others depend on the field. All are JSON texts.
 */

export const NO_STRINGS = ["7", "1.5", "true", "false", "[]", `["1s"]`, "{}", `{"a":1}`];
export const NO_INTEGERS = [
  "1.5",
  "-0.5",
  "9223372036854775808",
  "1e19",
  "1e400",
  "true",
  `""`,
  `"1"`,
  `"50%"`,
  "[]",
  "[50]",
  "{}",
];

export const NO_DURATIONS = [
  ...words("30 1 00 . s .s -1s -1d 1.5d -0 -0s --1s +-1s -+1s ++1s 1h1 1hs 1S 1sec 1w 1y 1e3s 0x1s 1_0s 1,5s 1.5.5s"),
  ...words("1s-1s 1s+1s P1D PT5M NaN Infinity null true 9999999h 2562047h47m16.854775808s 9223372036854775808ns"),
  ...texts(["", " ", "5 m", "1 s", "1m 30s", "\n1s", "1s\n", "1s\u0000", "\ufeff1s", "1s\u200b", "\u221e"]),
  ...texts(["\u0663s", "\uff11s", "1\uff53", `${"0".repeat(32)}s`]),
];
export const SOME_DURATIONS = [
  ...words("1s 2m30s 1.5h 500ms 1us 1\u00b5s 1\u03bcs 1ns +30s .5s 5.s 1s1h1s 01s"),
  ...words("2562047h47m16.854775807s 9223372036854775807ns"),
  ...texts([`${"1\u00b5s".repeat(10)}1s`, `0.${"0".repeat(25)}1m1s`]),
];
/** Durations all the same. */
export const LONG_DURATIONS = words("24h0.001s 24h1ns 25h 1440m1s 2562047h47m16.854775807s");
export const SHORT_DURATIONS = words("0 0s 1ns 1s 59s 59.999s .5m");
/** No time at all, which a poll interval cannot be. */
export const ZERO_DURATIONS = words("0 +0 0s +0s 0h0m0.0s 0.1ns .0ms");

export const NO_QUANTITIES = [
  ...words("-100m -1 -1n -1e-99 100mm 1.5.5 0x10 1e 1e+ 1E+ e3 1e1.5 1ee3 1,5 1_000 Mi m + - . +. --1 +-1 50%"),
  ...words("1K 1KiB 1kB 1mi 1gi 1Mim 1Q 1Zi NaN Infinity null 1e99 1e100 1e99999 1e-99999 1e4294967296 8Ei 10P"),
  ...texts(["", " ", "1 ", " 1", "1 Mi", "1\n", "\n1", "1\u0000", "1\u200b", "\u0663", "\uff11", "\u221e"]),
  ...texts(["1".repeat(65), `1e${"9".repeat(60)}`, `0.${"0".repeat(62)}1`]),
];
export const SOME_QUANTITIES = [
  ...words("1 100m 0.5 .5 5. +1 +.5k 007 0.0000000001 1e3 1E3 1e+3 1e-3 1E-3 1.5e3 1e003 1e-99"),
  ...words("1n 1u 1k 1M 1G 1Ki 1Mi 1Gi 1.5Gi 5.Ki"),
  ...texts([`${"0".repeat(62)}1k`]),
];
/** Zero, and what only one of the resources has room for. */
export const EDGE_QUANTITIES = [
  ...words("0 0m -0 -0.0 +0 0e99 1T 8T 9T 9001G 8999999999999 9007199254740 1P 7Pi 8Pi 0.001E 1E 1Ei"),
  ...words("9007199254740991 9007199254740992"),
];

export const NO_NAMES = [
  ...words("-a a- .a a. a..b a.-b A aB a_b a/b a:b ** *a"),
  ...texts(["", " ", "a b", "a\n", "\na", "a\t", "a\u0000", "a\u200b", "a\u202e", "a".repeat(254)]),
  ...texts(["\u0430", "\uff41", "\u00e9", "\u0661", "\u{1f600}"]),
];

export const NO_CONTAINER_LISTS = [
  ...words("* A -a a.b a_b").map((text) => `[${text}]`),
  `["","a"]`,
  JSON.stringify(["a".repeat(64)]),
  JSON.stringify(Array.from({ length: 101 }, (_, index) => `c${index}`)),
];

export const NO_LABELS = [
  ...words("-a a- .a a. a/b/ * a!"),
  ...texts(["a b", "a\n", "a\u0000", "a\u202e", "\u00e9", "\u0661", "a".repeat(64)]),
];
export const NO_LABEL_KEYS = texts(["", "/a", "a/", "a/b/c", "A/b", "-a/b", `${"a".repeat(254)}/b`]);

export function texts(values: readonly string[]): readonly string[] {
  return values.map((value) => JSON.stringify(value));
}

function words(line: string): readonly string[] {
  return texts(line.split(" "));
}
