/** One resource of one container of a run, as a plot shows it: areas, steps and marks. */
import type { Course } from "../../simulate/engine/series.ts";
import type { ContainerRun } from "../../simulate/engine/simulate.ts";
import type { Resource, Resources, Side } from "../../units/resources.ts";
import type { Mark, Steps } from "./html_plot.ts";
import { formatQuantity, formatSpan } from "./html_text.ts";

/** The steps of a side: the size that it began with, and each that came into force. */
export function listSteps(container: ContainerRun, resource: Resource, side: Side): Steps {
  const [first] = container.resizes;
  const course = container.series?.[resource];
  const began = first === undefined ? readFirst(course, side) : first.from[`${resource}.${side}`];
  return [
    [0, began],
    ...container.resizes.map(({ second, to }) => [second, to[`${resource}.${side}`]] as const),
  ];
}

function readFirst(course: Course | undefined, side: Side): number | null {
  const amount = (side === "requests" ? course?.request : course?.limit)?.[0] ?? 0;
  return amount > 0 && Number.isFinite(amount) ? amount : null;
}

/** When the resource was resized, and from what to what. */
export function listMarks({ resizes }: ContainerRun, resource: Resource): readonly Mark[] {
  return resizes.flatMap(({ second, action, from, to }): readonly Mark[] => {
    const sides = (["requests", "limits"] as const).filter((side) =>
      from[`${resource}.${side}`] !== to[`${resource}.${side}`]
    );
    if (sides.length === 0) return [];
    const show = (size: Resources, side: Side) => {
      const amount = size[`${resource}.${side}`];
      return amount === null ? "none" : formatQuantity(amount, resource);
    };
    const texts = sides.map((side) => `${side} ${show(from, side)} to ${show(to, side)}`);
    return [{ second, isUp: action === "scaleUp", text: `${formatSpan(second)}: ${texts.join(", ")}` }];
  });
}

/** Limits that are more than so many times what else is shown would press it flat. */
const MOST_OF_LIMIT = 2.5;

/** The highest that is shown: the same in every run, so that heights compare. */
export function findTop(containers: readonly ContainerRun[], resource: Resource): number {
  const most = (side: Side) =>
    maxOf(containers.flatMap((one) => listSteps(one, resource, side).map(([, amount]) => amount ?? 0)));
  const wanted = maxOf(containers.map((one) => maxOf([...one.series?.[resource].peak ?? []])));
  const shown = Math.max(wanted, most("requests"));
  return Math.min(Math.max(most("limits"), shown), shown * MOST_OF_LIMIT);
}

/** Of lists that are too long for arguments, too. */
export function maxOf(values: readonly number[]): number {
  return values.reduce((most, value) => Math.max(most, value), 0);
}
