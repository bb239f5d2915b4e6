/** What is wrong with the text of a body: fields written twice, numbers that no double holds, halves of characters. */
import { assertEquals, assertRejects } from "#assert";
import { readBody } from "../../../../lib/embedded/server/http/request.ts";
import { Refusal } from "../../../../lib/embedded/server/refusal.ts";
import { SimServer } from "../../../support/sim_server.ts";

function read(body: string, contentType = "application/json") {
  return readBody(new Request("http://sim.test", { method: "POST", body, headers: { "content-type": contentType } }));
}

Deno.test("readBody() finds every field that is written twice, by its path", async () => {
  const cases: Readonly<Record<string, readonly string[]>> = {
    '{"a":1,"b":{"a":2}}': [],
    '{"a":1,"a":2,"a":3}': ["a", "a"],
    '{"a":{"b":[1,{"c":1,"c":2}],"b":0}}': ["a.b[1].c", "a.b"],
    '[{"a":1},{"a":1,"\\u0061":2}]': ["[1].a"],
    '{"a":"\\"a\\":1,","b":"{a:1,a:2}"}': [],
    '{"a":[[1,2],{"x":1,"x":2}]}': ["a[1].x"],
  };
  for (const [text, paths] of Object.entries(cases)) {
    assertEquals((await read(text)).findRepeated(), paths, text);
  }
});

Deno.test("readBody() names a number that no double holds, and not the same digits in a text", async () => {
  assertEquals((await read('{"b":"1e400","a":[-1e400]}')).tooLarge, "-1e400");
  assertEquals((await read('{"b":"1e400","a":[1e300]}')).tooLarge, null);
});

Deno.test("readBody() replaces halves of characters, as Go does", async () => {
  assertEquals((await read('{"a\\ud800":"\\udc00b\\ud83d\\ude00"}')).value, { "a\ufffd": "\ufffdb\u{1f600}" });
});

Deno.test("readBody() refuses what is nested too deeply, and takes what a manifest may hold", async () => {
  const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
  assertEquals((await read(nested(900))).tooLarge, null);
  await assertRejects(() => read(nested(2000)), Refusal, "exceeded max depth");
});

Deno.test("a strict request is refused for a field written twice and for one that is unknown, in this order", async () => {
  const sim = new SimServer();
  const path = "/api/v1/namespaces?fieldValidation=Strict";
  const { code, body } = await sim.call("POST", path, '{"metadata":{"name":"a","name":"b"}}');
  assertEquals([code, body.message], [
    400,
    'Namespace in version "v1" cannot be handled as a Namespace: strict decoding error: duplicate field "metadata.name"',
  ]);
  await sim.createDefinition();
  await sim.createNamespace("rec");
  const autoscalers = "/apis/keda.kedify.io/v1alpha1/namespaces/rec/podresourceautoscalers";
  const strict = await sim.call("POST", `${autoscalers}?fieldValidation=Strict`, '{"spec":{"x":1,"x":1,"a":1}}');
  assertEquals(
    strict.body.message,
    'PodResourceAutoscaler in version "v1alpha1" cannot be handled as a PodResourceAutoscaler: strict decoding error: ' +
      'duplicate field "spec.x", unknown field "spec.a", unknown field "spec.x"',
  );
  const huge = await sim.call("POST", autoscalers, '{"spec":{"priority":1e400}}');
  assertEquals(
    huge.body.message,
    'PodResourceAutoscaler in version "v1alpha1" cannot be handled as a PodResourceAutoscaler: json: cannot unmarshal ' +
      "number 1e400 into Go value of type float64",
  );
});
