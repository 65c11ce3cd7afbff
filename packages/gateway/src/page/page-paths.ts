/** The header that proves that a request comes from the page's scripts. */
export const keyHeader = "x-wirescope-csrf";

/** The header by which the page's scripts ask the gateway to prove its identity. */
export const nonceHeader = "x-wirescope-nonce";

export const sessionPath = "/session";
/** A script that stores the session's key for the page's scripts. */
export const ticketScriptPath = "/enter.js";
/** An empty, sandboxed document for a tool's user interface. */
export const appFramePath = "/app-frame";
const statusPrefix = "/status/";

/** The path of the page without JavaScript, for a session with this key. */
export function statusPathOf(key: string): string {
  return `${statusPrefix}${key}`;
}

/** The key and the rest of a path of the pages without JavaScript; undefined for other paths. */
export function parseStatusPath(path: string): { readonly key: string; readonly rest: string } | undefined {
  const [, key, rest = ""] = /^\/status\/([\w-]+)(\/[\w/-]*)?$/.exec(path) ?? [];
  return key === undefined ? undefined : { key, rest };
}

/** The first path segments of the page's views. They are listed so that no other path becomes public by accident. */
const views: ReadonlySet<string> = new Set([
  "overview",
  "servers",
  "connections",
  "object",
  "calls",
  "tools",
  "resources",
  "prompts",
  "explain",
  "history",
  "recording",
]);

const files: ReadonlySet<string> = new Set([
  sessionPath,
  ticketScriptPath,
  appFramePath,
  "/status",
  "/favicon.ico",
  "/favicon.svg",
]);

/** Whether a path is the page itself, in one of its views. */
export function isViewPath(path: string): boolean {
  return path === "/" || views.has(path.split("/", 2)[1] ?? "");
}

/** Whether requests for a path need no token: the page's files contain no secrets, and the other paths check the session themselves. */
export function isPublicPagePath(path: string): boolean {
  return files.has(path) || path.startsWith("/assets/") || path.startsWith(statusPrefix) || isViewPath(path);
}

/** The services that a session may call. */
const sessionServices: ReadonlySet<string> = new Set([
  "rpc.channelz.v1.Channelz",
  "grpc.channelz.v1.Channelz",
  "grpc.health.v1.Health",
  "wirescope.v1.AdminService",
  "wirescope.v1.TimelineService",
  "wirescope.v1.CallService",
  "wirescope.v1.PageService",
]);

/** The path of tool calls. */
export const toolPath = "/mcp";

/** Whether a session authenticates requests for a path. */
export function isSessionPath(path: string): boolean {
  return path === toolPath || sessionServices.has(path.split("/", 2)[1] ?? "");
}
