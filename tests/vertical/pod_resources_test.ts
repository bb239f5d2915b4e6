/**
 * What a pod with `spec.resources` leaves its containers.
 * Clauses: L36.
 */
import { assertEquals } from "#assert";
import { findScaleUpLimit } from "../../lib/vertical/outcome.ts";
import { container, pod, policy, resources, side, SIZE } from "../support/builders.ts";
import { Story } from "../support/story.ts";

const AUX = container({ name: "aux", instance: "containerd://2" });
/** Polls until the cooldown is over. */
const COOLDOWN_POLLS = 70;
const OWN = resources({ "cpu.requests": 250, "cpu.limits": 300 });

/** Two containers that request 100m each. */
function tell(podResources = OWN): Story {
  const spec = { ...SIZE, "cpu.limits": 200 };
  return new Story({
    pod: pod({ containers: [container({ spec }), AUX], podResources }),
    contenders: [policy({ sides: [side("cpu.requests")] })],
    load: { cpu: 180 },
  });
}

Deno.test("decideSize() fits a request into what the pod's own leaves, says so, and stays limited (L36)", () => {
  const story = tell();
  assertEquals(story.pollToRequest().to["cpu.requests"], 150);
  story.poll(COOLDOWN_POLLS);
  assertEquals([story.reason(), story.requests.length], ["PodResources", 1]);
  assertEquals(story.notified().filter((name) => name === "ScaleFailed").length, 1, "told once");
  const view = story.state.views["uid-of-web"];
  assertEquals(view === undefined ? null : findScaleUpLimit(view), "PodResources");
});

Deno.test("decideSize() takes what another container of the pod gives back (L36)", () => {
  const story = tell();
  story.pollToRequest();
  story.poll(COOLDOWN_POLLS);
  const size = { ...SIZE, "cpu.requests": 60 };
  const smaller = { ...AUX, spec: size, reported: size, allocated: size };
  const outcome = story.change({ containers: story.pod.containers.map((one) => one.name === "aux" ? smaller : one) });
  assertEquals(outcome.request?.to["cpu.requests"], 190);
});

Deno.test("decideSize() lets a limit grow to that of the pod, whatever the others have (L36)", () => {
  const spec = { ...SIZE, "cpu.limits": 200 };
  const other = { ...AUX, spec: { ...SIZE, "cpu.limits": 300 } };
  const story = new Story({
    pod: pod({ containers: [container({ spec }), other], podResources: OWN }),
    contenders: [policy({ sides: [side("cpu.limits")] })],
    load: { cpu: 195 },
  });
  assertEquals(story.pollToRequest().to["cpu.limits"], 300);
});

Deno.test("decideSize() caps nothing by an amount that the pod does not have (L36)", () => {
  const request = tell(resources({ "memory.requests": 1 })).pollToRequest();
  assertEquals(request.to["cpu.requests"], 200, "its own limit");
});
