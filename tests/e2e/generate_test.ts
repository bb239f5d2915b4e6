/** Is the committed OpenAPI document still what a server of its version gives? */
import { assertEquals } from "#assert";
import { fetchDocuments, findStale, readMinorVersion } from "../../tools/generate.ts";
import { scenario } from "./support/needs.ts";

scenario("fetchDocuments() gives the committed OpenAPI document", {
  needs: { minorVersion: await readMinorVersion() },
  realOnly: "the document is the real API server's",
  async run() {
    const texts = await fetchDocuments();
    assertEquals(texts.size, 1);
    assertEquals(await findStale(texts), []);
  },
});
