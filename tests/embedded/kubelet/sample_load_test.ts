/** Does the embedded kubelet know the load of `podfit sample`, so that the quick start works on the demo's cluster? */
import { assertEquals } from "#assert";
import { parseProgram } from "../../../lib/embedded/kubelet/loads.ts";
import { parseAll } from "../../../lib/runtime/yaml.ts";
import type { Json } from "../../support/api_objects.ts";

const setting = (cpuMillicores: number, memoryMiB: number) => ({
  kind: "runs" as const,
  port: 8080,
  setting: { cpuMillicores, memoryMiB },
});

Deno.test("the quick start's workload uses 40 millicores on the embedded cluster", async () => {
  const text = await Deno.readTextFile(new URL("../../../deploy/quickstart.yaml", import.meta.url));
  const { spec } = (parseAll(text) as Json[]).find(({ kind }) => kind === "Deployment");
  assertEquals(parseProgram(spec.template.spec.containers[0]), setting(40, 26));
});

Deno.test("podfit sample is known by its image and its command, and fails for what it does not understand", () => {
  const name = "main";
  const images = ["podfit", "localhost/podfit:0.1.0", "registry.example:5000/a/podfit@sha256:00"];
  for (const image of images) {
    assertEquals(parseProgram({ name, image, args: ["sample", "--memory=64Mi"] }), setting(0, 90), image);
    assertEquals(parseProgram({ name, image, args: ["run"] }), null, "the daemon");
    assertEquals(parseProgram({ name, image }), null);
  }
  assertEquals(parseProgram({ name, image: "shop/notpodfit:1", args: ["sample"] }), null);
  assertEquals(parseProgram({ name, image: "podfit", args: ["sample", "--cpu=much"] }), { kind: "fails", code: 2 });
});
