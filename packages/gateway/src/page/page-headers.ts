const shared: Readonly<Record<string, string>> = {
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
};

/** The page loads resources only from its own origin, runs no inline scripts, and cannot be framed. */
export const appHeaders: Readonly<Record<string, string>> = {
  ...shared,
  "content-security-policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data: blob:",
    "media-src data: blob:",
    "font-src 'self'",
    "connect-src 'self'",
    "frame-src 'self'",
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join("; "),
};

/**
 * A tool's user interface has its own origin (`sandbox`), so it can access neither the page nor its cookie. It can load only from the
 * origins in the query, which its server declares (`_meta.ui.csp` of the MCP Apps extension).
 */
export function appFrameHeaders(query: URLSearchParams): Readonly<Record<string, string>> {
  const [connect, resource, frame] = ["connect", "resource", "frame"].map((name) =>
    declaredOrigins(query.getAll(name)),
  );
  return {
    ...shared,
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-cache",
    "content-security-policy": [
      "sandbox allow-scripts",
      "default-src 'none'",
      `script-src 'unsafe-inline'${resource}`,
      `style-src 'unsafe-inline'${resource}`,
      `img-src data: blob:${resource}`,
      `media-src data: blob:${resource}`,
      `font-src data:${resource}`,
      ...(connect === "" ? [] : [`connect-src${connect}`]),
      ...(frame === "" ? [] : [`frame-src${frame}`]),
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'self'",
    ].join("; "),
  };
}

const maxOrigins = 16;

/** A public host name, or all its subdomains, with TLS. No IP addresses and no local names: an app must not scan the local network. */
const originPattern =
  /^(?:https|wss):\/\/(?:\*\.[a-z\d-]{1,63}\.|[a-z\d-]{1,63}\.)(?:[a-z\d-]{1,63}\.){0,6}[a-z][a-z\d-]{1,62}(?::\d{1,5})?$/;
const localPattern = /\.(?:localhost|local|internal|lan|home|arpa|test)(?::\d+)?$/;

/** The declared origins that a policy can contain, each after a space. All others are omitted. */
function declaredOrigins(declared: readonly string[]): string {
  const origins = declared.slice(0, maxOrigins).map((origin) => origin.toLowerCase().replace(/\/$/, ""));
  const valid = origins.filter((origin) => originPattern.test(origin) && !localPattern.test(origin));
  return [...new Set(valid)].map((origin) => ` ${origin}`).join("");
}

/** Receives a tool's document from the page that contains the frame. Later documents replace the first one. */
export const appFrameDocument = `<!doctype html>
<meta charset="utf-8"><title>Tool</title>
<script>
addEventListener("message", ({ source, data }) => {
  if (source !== parent || data?.type !== "wirescope-app-html") return;
  document.open();
  document.write(String(data.html));
  document.close();
});
parent.postMessage({ type: "wirescope-app-frame-ready" }, "*");
</script>
`;
