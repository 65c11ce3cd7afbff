const shared: Readonly<Record<string, string>> = {
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
};

/** The page loads from its own origin alone, runs no inline script, and is shown in no frame. */
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
 * The user interface of a tool has an origin of its own (`sandbox`), so it reaches neither the page nor its cookie, and loads nothing
 * from the network.
 */
export const appFrameHeaders: Readonly<Record<string, string>> = {
  ...shared,
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-cache",
  "content-security-policy": [
    "sandbox allow-scripts",
    "default-src 'none'",
    "script-src 'unsafe-inline'",
    "style-src 'unsafe-inline'",
    "img-src data: blob:",
    "media-src data: blob:",
    "font-src data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'self'",
  ].join("; "),
};

/** Takes the document of a tool from the page that contains the frame. Later documents replace the first one. */
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
