/** The version of podfit, out of deno.json. */
import project from "../../deno.json" with { type: "json" };

export const VERSION: string = project.version;
