import { cors } from "@connectrpc/connect";

const exposed = [...cors.exposedHeaders, "www-authenticate"].join(", ");
const allowed = [...cors.allowedHeaders, "authorization"].join(", ");

/** What lets a page of an allowed origin read an answer. */
export function corsHeaders(origin: string): Readonly<Record<string, string>> {
  return { "access-control-allow-origin": origin, "access-control-expose-headers": exposed, vary: "Origin" };
}

/** What lets a page of an allowed origin send its request. */
export function preflightHeaders(origin: string): Readonly<Record<string, string>> {
  return {
    "access-control-allow-origin": origin,
    "access-control-allow-methods": cors.allowedMethods.join(", "),
    "access-control-allow-headers": allowed,
    "access-control-allow-private-network": "true",
    "access-control-max-age": "7200",
    vary: "Origin",
  };
}
