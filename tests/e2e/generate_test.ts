import { assertEquals } from "@std/assert";
import { fetchDocuments, fetchMinorVersion, findStale, readMinorVersion } from "../../tools/generate.ts";

const [server, committed] = [await fetchMinorVersion(), await readMinorVersion()];
const isOther = server !== committed;
const reason = isOther ? ` (skipped: the server is ${server}, the committed document of ${committed})` : "";

Deno.test({
  name: `fetchDocuments() gives the committed OpenAPI document${reason}`,
  ignore: isOther,
  async fn() {
    const texts = await fetchDocuments();
    assertEquals(texts.size, 1);
    assertEquals(await findStale(texts), []);
  },
});
