import { expect, test } from "vitest";
import { enter, script, send, startPage } from "./page.test.helper.js";

const indexTitle = "<title>Wirescope</title><script";

test("[TS-D-PAGE-2] serves the page at the path of every view, without a token and with a strict policy", async () => {
  const { url } = await startPage();
  for (const path of ["/", "/connections", "/object/channel/12", "/calls/a%20b?x=1", "/tools"]) {
    const { status, headers, body } = await send(url, path);
    expect({ path, status }).toEqual({ path, status: 200 });
    expect(body).toContain(indexTitle);
    expect(headers["cache-control"]).toBe("no-cache");
    expect(headers["content-security-policy"]).toMatch(
      /^default-src 'none'; script-src 'self'; style-src 'self'; .*frame-ancestors 'none'$/,
    );
    expect(headers["content-security-policy"]).not.toContain("unsafe");
    expect(headers["x-content-type-options"]).toBe("nosniff");
    expect(headers["referrer-policy"]).toBe("no-referrer");
    expect(headers["cross-origin-opener-policy"]).toBe("same-origin");
  }
});

test("[TS-D-PAGE-2] sends files with hashed names compressed, and lets browsers cache them forever", async () => {
  const { url } = await startPage();
  const path = "/assets/index-Ab12.js";
  for (const [accepted, encoding] of [
    ["gzip, deflate, br", "br"],
    ["gzip;q=1, br;q=0", "gzip"],
    ["identity", undefined],
  ]) {
    const { status, headers, body } = await send(url, path, { "accept-encoding": accepted ?? "" });
    expect(status).toBe(200);
    expect(headers["content-encoding"]).toBe(encoding);
    expect(headers["content-type"]).toBe("text/javascript; charset=utf-8");
    expect(headers["cache-control"]).toBe("public, max-age=31536000, immutable");
    expect(headers.vary).toBe("accept-encoding");
    if (encoding === undefined) expect(body).toBe(script);
  }
  const { headers, body } = await send(url, path, {}, "HEAD");
  expect([headers["content-length"], body]).toEqual([String(script.length), ""]);
});

test.each([
  "/assets/../secret.pem",
  "/assets/..%2fsecret.pem",
  "/assets/%2e%2e/secret.pem",
  "/assets/..\\secret.pem",
  "/assets//index-Ab12.js",
  "/assets/index-Ab12.js%00.png",
  "/assets/index-Ab12.js/",
  "/assets/index-Ab12.js.br",
  "/assets/%69ndex-Ab12.js",
  "/assets/",
  "/assets/__proto__",
  "/assets/../../../../../../etc/passwd",
])("[TS-D-PAGE-2] serves nothing at %s", async (path) => {
  const { url } = await startPage();
  const { status, body } = await send(url, path);
  expect(status).toBe(404);
  expect(body).not.toContain("not a file of the page");
});

test("[TS-D-PAGE-2] makes no other path public", async () => {
  const { url } = await startPage();
  for (const path of ["/metrics", "/mcp", "/secret.pem", "/index.html", "/tools.json", "/unknown", "//", "//etc"]) {
    const { status } = await send(url, path, { accept: "text/html" });
    expect({ path, status }).toEqual({ path, status: 401 });
  }
});

test("[TS-D-PAGE-1] stores the key for the page's scripts, and redirects a browser without JavaScript to the status page", async () => {
  const { url, access } = await startPage();
  const { headers, body } = await send(url, new URL(access.linkTo(url)).href.slice(url.length));
  const [, key] = /data-key="([\w-]{43})"/.exec(body) ?? [];
  expect(body).toContain(`<noscript><meta http-equiv="refresh" content="0; url=/status/${key}"></noscript>`);
  expect(headers["content-security-policy"]).toContain("script-src 'self';");
  const entered = await send(url, "/enter.js");
  expect(entered.headers["content-type"]).toBe("text/javascript; charset=utf-8");
  expect(entered.body).toContain('localStorage.setItem("wirescope.key", key)');
});

test("[TS-D-PAGE-3] describes the session to a browser that has its cookie and its key, until the session ends", async () => {
  const world = await startPage();
  const { url } = world;
  const { cookie, key } = await enter(world);
  const csrf = { "x-wirescope-csrf": key };
  expect((await send(url, "/session")).status).toBe(401);
  expect((await send(url, "/session", csrf)).status).toBe(401);
  expect(await send(url, "/session", { cookie })).toMatchObject({ status: 403, body: /no-key/ });
  expect((await send(url, "/session", { cookie, "x-wirescope-csrf": "wrong" })).status).toBe(403);
  const { status, headers, body } = await send(url, "/session", { cookie, ...csrf });
  expect([status, headers["cache-control"]]).toEqual([200, "no-store"]);
  expect(JSON.parse(body)).toMatchObject({
    kind: "gateway",
    rights: "administrator",
    targets: [new URL(url).host],
    features: { servers: true, tools: true },
  });
  expect((await send(url, "/session", { cookie, ...csrf }, "DELETE")).status).toBe(204);
  expect((await send(url, "/session", { cookie, ...csrf })).status).toBe(401);
});

test("opens the page without JavaScript if the page is not built, and says so", async () => {
  const world = await startPage("/does/not/exist");
  const { url, access } = world;
  expect(await send(url, "/")).toMatchObject({ status: 404, body: /does not contain the page/ });
  const { body } = await send(url, access.linkTo(url).slice(url.length));
  expect(body).toMatch(/<meta http-equiv="refresh" content="0; url=\/status\/[\w-]{43}">/);
  expect(body).not.toContain("<script");
});

test("[TS-D-PAGE-5] gives a tool's user interface a frame with its own origin and without network access", async () => {
  const { url } = await startPage();
  const { headers } = await send(url, "/app-frame");
  const policy = String(headers["content-security-policy"]);
  expect(policy).toMatch(/^sandbox allow-scripts; default-src 'none'; /);
  expect(policy).not.toMatch(/allow-same-origin|connect-src|https?:|\*/);
});

test("[TS-D-PAGE-5] lets a tool's user interface load from the origins that its server declares, and from no others", async () => {
  const { url } = await startPage();
  const policyOf = async (name: string, origins: readonly string[]): Promise<string> => {
    const query = new URLSearchParams(origins.map((origin) => [name, origin]));
    return String((await send(url, `/app-frame?${query}`)).headers["content-security-policy"]);
  };
  const resources = await policyOf("resource", ["https://cdn.example.com", "https://*.example.org:8443/"]);
  for (const kind of ["script", "style", "img", "media", "font"]) {
    expect(resources).toMatch(
      new RegExp(`; ${kind}-src [^;]*https://cdn\\.example\\.com https://\\*\\.example\\.org:8443[;]`),
    );
  }
  expect(resources).not.toContain("connect-src");
  expect(await policyOf("connect", ["wss://live.example.com"])).toContain("; connect-src wss://live.example.com; ");
  expect(await policyOf("frame", ["https://maps.example.com"])).toContain("; frame-src https://maps.example.com; ");
  const none = await policyOf("resource", []);
  for (const hostile of [
    "*",
    "https:",
    "https://*",
    "https://*.com",
    "http://cdn.example.com",
    "data:",
    "'unsafe-eval'",
    "'self'",
    "https://a.example.com; script-src *",
    "https://a.example.com https://b.example.com",
    "https://a.example.com,https://b.example.com",
    "https://a.example.com/path",
    "https://user@a.example.com",
    "https://localhost",
    "https://127.0.0.1",
    "https://[::1]",
    "https://printer.local",
    "https://a.localhost:4690",
    `https://${"a".repeat(64)}.example.com`,
    "https://a.example.com\r\nx-injected: 1",
  ]) {
    expect({ hostile, policy: await policyOf("resource", [hostile]) }).toEqual({ hostile, policy: none });
  }
  const many = await policyOf(
    "resource",
    Array.from({ length: 100 }, (_, index) => `https://a${index}.example.com`),
  );
  expect(many.match(/https:/g)).toHaveLength(5 * 16);
});
