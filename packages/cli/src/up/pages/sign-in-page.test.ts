import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Gateway } from "@wirescope/gateway/internal";
import { runGateway } from "@wirescope/gateway/internal/gateway";
import { createPageAccess } from "@wirescope/gateway/internal/page";
import { createSecretRegistry } from "@wirescope/tool-server";
import { createMemoryVault } from "@wirescope/tool-server/auth";
import { parseConfiguration } from "@wirescope/tool-server/config";
import { expect, onTestFinished, test } from "vitest";
import { createServerCommands } from "../to-do.js";
import { signInPathOf } from "./sign-in-page.js";
import { createPlainPages } from "./status-page.js";

const commands = createServerCommands({
  program: "wirescope",
  foundFile: undefined,
  isDemo: false,
  fileOf: () => undefined,
});

/** A tool server that is its own authorization server, with the sign-in page at another name of this machine. */
async function startToolServer(): Promise<{ issuer: string; foreign: string }> {
  const server = createServer((request, response) => {
    const responses: Readonly<Record<string, object>> = {
      "/.well-known/oauth-protected-resource/mcp": { resource: `${issuer}/mcp`, authorization_servers: [issuer] },
      "/.well-known/oauth-authorization-server": {
        issuer,
        authorization_endpoint: `${foreign}/authorize`,
        token_endpoint: `${issuer}/token`,
        registration_endpoint: `${issuer}/register`,
        code_challenge_methods_supported: ["S256"],
      },
      "/register": { client_id: "us", token_endpoint_auth_method: "none" },
    };
    const body = responses[request.url ?? ""];
    response.writeHead(body === undefined ? 401 : request.method === "POST" ? 201 : 200).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const issuer = `http://127.0.0.1:${port}`;
  const foreign = `http://localhost:${port}`;
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { issuer, foreign };
}

test("shows a sign-in page at another origin, and opens it only by the link that confirms it", async () => {
  const { issuer, foreign } = await startToolServer();
  const access = createPageAccess();
  const secrets = createSecretRegistry();
  const text = JSON.stringify({ mcpServers: { notes: { type: "http", url: `${issuer}/mcp` } } });
  const gateway: Gateway = await runGateway({
    configurations: [
      {
        configuration: parseConfiguration(text, { secrets }),
        variables: {},
        pluginRoot: process.cwd(),
        assertTrusted: async () => {},
        oauth: { vault: createMemoryVault(), allowInsecureLoopback: true },
      },
    ],
    secrets,
    page: { access, plainPages: createPlainPages(() => gateway, commands) },
  });
  onTestFinished(() => gateway.close({ graceMs: 0 }));
  const { searchParams } = new URL(access.linkTo("http://gateway"));
  const entrance = access.redeem(searchParams.get("ticket") ?? "", undefined, false);
  const cookie = entrance?.cookie.split(";")[0] ?? "";
  const link = `${gateway.url}${signInPathOf(entrance?.key ?? "", "notes")}`;
  const follow = (url: string): Promise<Response> => fetch(url, { redirect: "manual", headers: { cookie } });
  const page = await (await follow(link)).text();
  expect(page).toContain(`<code>${issuer}</code>`);
  expect(page).toContain(`<code>${foreign}</code>`);
  // Confirming another origin does not confirm this one.
  expect(await (await follow(`${link}&origin=https%3A%2F%2Flogin.example.com`)).text()).toBe(page);
  const next = /<a href="([^"]+)"/.exec(page)?.[1]?.replaceAll("&#38;", "&") ?? "";
  const confirmed = await follow(new URL(next, link).href);
  expect(confirmed.status).toBe(303);
  expect(confirmed.headers.get("location")).toContain(`${foreign}/authorize?response_type=code`);

  // A sign-in in progress is joined, however it began: by this link, by a command or for a call.
  const urls: string[] = [];
  const waiting = gateway.signIn("notes", {
    async show({ way }) {
      urls.push(way.url);
      return undefined;
    },
  });
  waiting.catch(() => {});
  await expect.poll(() => urls).toEqual([confirmed.headers.get("location")]);
  expect((await follow(link)).headers.get("location")).toBe(urls[0]);
});
