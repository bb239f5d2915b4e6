/** How does a message of the API server show a value? As Go prints it: texts quoted, numbers short, the rest as JSON. */
import type { Json } from "../json.ts";

/** `"a\x00"`, `1.5e+19`, `{"type":"Ready"}` */
export function showValue(value: Json): string {
  if (typeof value === "string") return quote(value);
  if (typeof value === "number") return formatNumber(value);
  return JSON.stringify(value);
}

/** Quotes a text as `%q` does: what cannot be printed is escaped with two, four or eight hexadecimal digits. */
function quote(text: string): string {
  const escaped = text.replaceAll(/["\\]|[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, (one) => {
    const short = SHORT[one];
    if (short !== undefined) return short;
    const code = one.codePointAt(0) ?? 0;
    const digits = code.toString(16);
    if (code < 0x80) return `\\x${digits.padStart(2, "0")}`;
    return code < 0x10000 ? `\\u${digits.padStart(4, "0")}` : `\\U${digits.padStart(8, "0")}`;
  });
  return `"${escaped}"`;
}

const SHORT: Readonly<Record<string, string>> = {
  '"': '\\"',
  "\\": "\\\\",
  "\u0007": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
};

/** Writes a number as `%v` does: an integer that Go holds as one in full, any other as short as it reads back. */
function formatNumber(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 2 ** 63) return BigInt(value).toString();
  const [digits = "", exponent = "0"] = value.toExponential().split("e");
  const power = Number(exponent);
  if (power >= -4 && power < 6) return String(value);
  return `${digits}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
}
