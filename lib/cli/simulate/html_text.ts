/** Text of the report: nothing of it can end an element or an attribute, and numbers are short. */

/** For elements and quoted attributes. Control characters, which HTML refuses, are shown as what they are. */
export function escapeHtml(text: string): string {
  const visible = text.replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu,
    (one) => `\\u{${one.codePointAt(0)?.toString(16)}}`,
  );
  return visible.replace(/[&<>"']/g, (one) => ENTITIES[one] ?? "");
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** A coordinate: a tenth of a pixel is enough. What is no number would break the drawing, and is 0. */
export function formatCoordinate(value: number): string {
  return Number.isFinite(value) ? `${Math.round(value * 10) / 10}` : "0";
}

/** Three digits at most before a unit takes over: `0`, `0.31`, `4.2`, `87`, `1,204`. */
export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return "-";
  const size = Math.abs(value);
  const digits = size === 0 || size >= 99.5 ? 0 : size >= 9.95 ? (Number.isInteger(value) ? 0 : 1) : 2;
  const text = value.toFixed(digits).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
  return text.replace(/^-0$/, "0").replace(/\B(?=(\d{3})+(?!\d))/g, digits === 0 ? "," : "");
}

export type Unit = "cpu" | "memory" | "pods";

/** An amount of millicores, bytes or pods. */
export function formatQuantity(amount: number, unit: Unit): string {
  if (!Number.isFinite(amount)) return "-";
  if (unit === "pods" || amount === 0) return formatNumber(amount);
  const [whole, small, isLarge] = unit === "cpu" ? ["", "m", amount >= 1000] : ["Gi", "Mi", amount >= 2 ** 30];
  const text = formatNumber(amount / (unit === "cpu" ? (isLarge ? 1000 : 1) : isLarge ? 2 ** 30 : 2 ** 20));
  return text === "0" ? text : `${text}${isLarge ? whole : small}`;
}

/** Seconds in at most two parts: `45s`, `12m`, `3h 20m`, `2d 6h`. */
export function formatSpan(seconds: number): string {
  const total = Math.round(seconds);
  const [days, hours] = [Math.floor(total / 86_400), Math.floor(total / 3600) % 24];
  const parts: readonly (readonly [number, string])[] = [
    [days, "d"],
    [hours, "h"],
    [Math.floor(total / 60) % 60, "m"],
    [total % 60, "s"],
  ];
  const first = parts.findIndex(([count]) => count > 0);
  if (first < 0) return "0s";
  return parts.slice(first, first + 2).filter(([count]) => count > 0).map(([count, unit]) => `${count}${unit}`).join(
    " ",
  );
}
