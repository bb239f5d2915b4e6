/** podfit's version: the one in deno.json. */
import project from "../../deno.json" with { type: "json" };

export const VERSION: string = project.version;
