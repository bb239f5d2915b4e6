/**
 * Several stories of one scenario at the same time, each about a pod of its own: real waits of minutes are spent once. All
 * are awaited to their ends, and every failure says the name of its story.
 */
import type { PodRef } from "./cluster.ts";
import { type PodRecorder, recordPod } from "./patches.ts";
import { type Podfit, startPodfit } from "./podfit.ts";

/** Where a story plays: a pod and its autoscaler have the name of the story. */
export interface Stage {
  readonly pod: PodRef;
  readonly recorder: PodRecorder;
  readonly podfit: Podfit;
}

export type Story = (stage: Stage) => Promise<void>;

export interface TogetherOptions {
  readonly namespace: string;
  readonly stack: AsyncDisposableStack;
  /** More of podfit's command line. */
  readonly args?: readonly string[];
}

/**
 * Starts podfit, plays the stories and returns podfit as they left it; the stack puts everything away. Rejects with every
 * failure.
 */
export async function playTogether(
  stories: Readonly<Record<string, Story>>,
  { namespace, stack, args = [] }: TogetherOptions,
): Promise<Podfit> {
  const cast = await Promise.all(
    Object.entries(stories).map(async ([name, story]) => {
      const pod = { namespace, name };
      return { pod, story, recorder: stack.use(await recordPod(pod)) };
    }),
  );
  const podfit = stack.use(await startPodfit({ namespaces: [namespace], args }));
  const played = await Promise.allSettled(cast.map(({ story, ...stage }) => story({ ...stage, podfit })));
  const failures = played.flatMap((result, index) => {
    return result.status === "fulfilled" ? [] : [`${cast[index]?.pod.name}: ${toText(result.reason)}`];
  });
  if (failures.length > 0) throw new Error(failures.join("\n\n"));
  return podfit;
}

/** With the stack: it alone says which of a story's assertions it was. */
function toText(reason: unknown): string {
  return reason instanceof Error ? reason.stack ?? reason.message : String(reason);
}
