import { fileURLToPath } from "node:url";
import type { HttpHandler } from "@wirescope/gateway";
import { runGateway } from "@wirescope/gateway/internal/gateway";
import { createSecretRegistry } from "@wirescope/tool-server";
import { parseConfiguration } from "@wirescope/tool-server/config";
import { build } from "esbuild";
import { expect, onTestFinished, test } from "vitest";
import { isChromiumInstalled, openPage } from "./chromium.test.helper.js";

/** The client as a page gets it: one file for browsers. Rejects if it imports a module of Node. */
async function bundleClient(): Promise<string> {
  const entry = fileURLToPath(new URL("../../packages/gateway/src/admin/client/index.ts", import.meta.url));
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    format: "esm",
    platform: "browser",
    conditions: ["@wirescope/source"],
    write: false,
  });
  return outputFiles[0]?.text ?? expect.unreachable();
}

const serveText =
  (type: string, text: string): HttpHandler =>
  (_, response) =>
    void response.writeHead(200, { "content-type": type }).end(text);

test.skipIf(!isChromiumInstalled)(
  "[TS-D-ADMIN-5] lists and watches the servers of the gateway on a page in a real browser",
  async () => {
    const code = await bundleClient();
    const secrets = createSecretRegistry();
    const text = JSON.stringify({ away: { type: "http", url: "http://127.0.0.1:1/mcp" } });
    const configured = {
      configuration: parseConfiguration(text, { secrets }),
      variables: {},
      pluginRoot: process.cwd(),
      assertTrusted: async () => {},
    };
    const gateway = await runGateway({
      configurations: [configured],
      secrets,
      pages: {
        "/page": serveText("text/html", "<!doctype html><title>Page</title>"),
        "/admin.js": serveText("text/javascript", code),
      },
    });
    onTestFinished(() => gateway.close({ graceMs: 0 }));
    const { page, problems } = await openPage();
    await page.goto(`${gateway.url}/page`);
    // Run in the page, where the types of this file are not known.
    const look = `async (token, adminToken) => {
      const { createAdminClient, readAdminError } = await import("/admin.js");
      const admin = createAdminClient({ url: location.origin, token, adminToken });
      const { servers } = await admin.listServers({});
      const seen = [];
      for await (const { servers } of admin.watchServers({})) {
        seen.push(...servers.map(({ name }) => name));
        if (servers.some(({ failure }) => failure?.code === "SERVER_UNREACHABLE")) break;
      }
      const error = await admin.reconnect({ server: "none" }).catch(readAdminError);
      return { listed: servers.map(({ name }) => name), seen, error: [error.status, error.failure.code] };
    }`;
    const seen = await page.evaluate(
      `(${look})(${JSON.stringify(gateway.token)}, ${JSON.stringify(gateway.adminToken)})`,
    );
    expect(seen).toMatchObject({ listed: ["away"], error: ["NotFound", "SERVER_UNKNOWN"] });
    expect((seen as { seen: string[] }).seen).toContain("away");
    expect(problems.filter((problem) => problem.startsWith("error:"))).toEqual([]);
  },
);
