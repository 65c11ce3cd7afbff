/** What pages of allowed origins may send and read, in addition to the needs of the Connect protocols. */
export interface CorsAdditions {
  readonly methods?: readonly string[];
  readonly requestHeaders?: readonly string[];
  readonly responseHeaders?: readonly string[];
}

/** The CORS settings of the Connect protocols. Connect exports them too, but importing them would load all of Connect. */
export const connectCors = {
  allowedMethods: ["POST", "GET"],
  allowedHeaders: [
    "Content-Type",
    "Connect-Protocol-Version",
    "Connect-Timeout-Ms",
    "Connect-Content-Encoding",
    "Connect-Accept-Encoding",
    "Content-Encoding",
    "Accept-Encoding",
    "Grpc-Message-Type",
    "X-Grpc-Web",
    "X-User-Agent",
    "Grpc-Timeout",
  ],
  exposedHeaders: [
    "Grpc-Status",
    "Grpc-Message",
    "Grpc-Status-Details-Bin",
    "Content-Encoding",
    "Connect-Content-Encoding",
  ],
} as const;

/** Headers that let a page of an allowed origin read a response. */
export function corsHeaders(origin: string, more: CorsAdditions = {}): Readonly<Record<string, string>> {
  const exposed = [...connectCors.exposedHeaders, "www-authenticate", ...(more.responseHeaders ?? [])];
  return { "access-control-allow-origin": origin, "access-control-expose-headers": exposed.join(", "), vary: "Origin" };
}

/** Headers that let a page of an allowed origin send its request. */
export function preflightHeaders(origin: string, more: CorsAdditions = {}): Readonly<Record<string, string>> {
  return {
    "access-control-allow-origin": origin,
    "access-control-allow-methods": [...connectCors.allowedMethods, ...(more.methods ?? [])].join(", "),
    "access-control-allow-headers": [
      ...connectCors.allowedHeaders,
      "authorization",
      ...(more.requestHeaders ?? []),
    ].join(", "),
    "access-control-allow-private-network": "true",
    "access-control-max-age": "7200",
    vary: "Origin",
  };
}
