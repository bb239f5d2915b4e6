/** Many renderings of the chart, each as a process of its own. */
import { Semaphore } from "../../lib/runtime/limits.ts";
import { renderText, type Values } from "../../tools/helm.ts";
import { merge } from "./chart_flips.ts";

/** The definition is the largest part of what is rendered, and concerns few values. */
const BRIEF: Values = { crds: { install: false } };

/** Renders each values once, four at a time, without the definition unless it is asked for. */
export function renderFew(namespace = "podfit"): (values: Values) => Promise<string> {
  const slots = new Semaphore(4);
  const rendered = new Map<string, Promise<string>>();
  const render = async (values: Values) => {
    using _slot = await slots.acquire();
    return await renderText({ namespace, values });
  };
  return (given) => {
    const values = merge(BRIEF, given);
    const key = JSON.stringify(values);
    const text = rendered.get(key) ?? render(values);
    rendered.set(key, text);
    return text;
  };
}
