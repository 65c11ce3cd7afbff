import { cors } from "@connectrpc/connect";

/** What pages of allowed origins may send and read, besides what the protocols of Connect need. */
export interface CorsAdditions {
  readonly methods?: readonly string[];
  readonly requestHeaders?: readonly string[];
  readonly responseHeaders?: readonly string[];
}

/** What lets a page of an allowed origin read an answer. */
export function corsHeaders(origin: string, more: CorsAdditions = {}): Readonly<Record<string, string>> {
  const exposed = [...cors.exposedHeaders, "www-authenticate", ...(more.responseHeaders ?? [])];
  return { "access-control-allow-origin": origin, "access-control-expose-headers": exposed.join(", "), vary: "Origin" };
}

/** What lets a page of an allowed origin send its request. */
export function preflightHeaders(origin: string, more: CorsAdditions = {}): Readonly<Record<string, string>> {
  return {
    "access-control-allow-origin": origin,
    "access-control-allow-methods": [...cors.allowedMethods, ...(more.methods ?? [])].join(", "),
    "access-control-allow-headers": [...cors.allowedHeaders, "authorization", ...(more.requestHeaders ?? [])].join(
      ", ",
    ),
    "access-control-allow-private-network": "true",
    "access-control-max-age": "7200",
    vary: "Origin",
  };
}
