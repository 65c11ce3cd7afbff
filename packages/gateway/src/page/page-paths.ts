/** The header with the proof that a request comes from the scripts of the page. */
export const keyHeader = "x-wirescope-csrf";

/** The header by which the scripts of the page ask the gateway to prove itself. */
export const nonceHeader = "x-wirescope-nonce";

export const sessionPath = "/session";
/** Stores the key of a session for the scripts of the page. */
export const entranceScriptPath = "/enter.js";
/** An empty document without rights, for the user interface of a tool. */
export const appFramePath = "/app-frame";
const statusPrefix = "/status/";

/** The path of the page that needs no script, for a session with this key. */
export function statusPathOf(key: string): string {
  return `${statusPrefix}${key}`;
}

/** The key in a path of the pages that need no script, and the rest of the path; undefined for other paths. */
export function parseStatusPath(path: string): { readonly key: string; readonly rest: string } | undefined {
  const [, key, rest = ""] = /^\/status\/([\w-]+)(\/[\w/-]*)?$/.exec(path) ?? [];
  return key === undefined ? undefined : { key, rest };
}

/** The views of the page: the first segment of their path. They are listed so that no other path becomes public by accident. */
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
  entranceScriptPath,
  appFramePath,
  "/status",
  "/favicon.ico",
  "/favicon.svg",
]);

/** Whether a path is the page itself, in one of its views. */
export function isViewPath(path: string): boolean {
  return path === "/" || views.has(path.split("/", 2)[1] ?? "");
}

/** Whether requests for a path need no token: the files of the page contain no secrets, and the others check the session themselves. */
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
]);

/** Calls of tools. */
export const toolPath = "/mcp";

/** Whether a session authenticates requests for a path. */
export function isSessionPath(path: string): boolean {
  return path === toolPath || sessionServices.has(path.split("/", 2)[1] ?? "");
}
