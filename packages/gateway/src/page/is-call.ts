import type { IncomingHttpHeaders } from "node:http";
import { isPublicPagePath, isSessionPath, keyHeader, toolPath } from "./page-paths.js";

/** Paths for those who look at the gateway: its page, its services, and what monitors read. */
const readPaths: ReadonlySet<string> = new Set(["/healthz", "/readyz", "/metrics"]);

/**
 * Whether a request is a call of the gateway in Channelz. Looking at a gateway must not change what is seen: requests of the page and
 * of monitors are none, except the tools that a person runs. Nor are streams of notifications, which end when the client leaves, so that each would be a failure.
 */
export function isCall(headers: IncomingHttpHeaders, method: string | undefined, url = ""): boolean {
  const [path = ""] = url.split("?", 1);
  const rpcMethod = headers["mcp-method"];
  const isPageList = headers[keyHeader] !== undefined && String(rpcMethod).endsWith("/list");
  if (path === toolPath) return method !== "GET" && rpcMethod !== "subscriptions/listen" && !isPageList;
  return !readPaths.has(path) && !isSessionPath(path) && !isPublicPagePath(path);
}
