import type { Gateway } from "@wirescope/gateway/internal";
import { runGateway } from "@wirescope/gateway/internal/gateway";
import { createPageAccess } from "@wirescope/gateway/internal/page";
import { createSecretRegistry } from "@wirescope/tool-server";
import { parseConfiguration } from "@wirescope/tool-server/config";
import { expect, onTestFinished, test } from "vitest";
import { createServerCommands } from "../to-do.js";
import { createPlainPages } from "./status-page.js";

const commands = createServerCommands({
  program: "wirescope",
  foundFile: undefined,
  isDemo: false,
  fileOf: () => undefined,
});

interface World {
  readonly url: string;
  readonly newLink: () => string;
}

/** A gateway with one server, which prints this and exits. */
async function startWorld(words: string): Promise<World> {
  const entry = { command: process.execPath, args: ["-e", `console.error(${JSON.stringify(words)}); process.exit(3)`] };
  const access = createPageAccess();
  const gateway: Gateway = await runGateway({
    configurations: [
      {
        configuration: parseConfiguration(JSON.stringify({ mcpServers: { odd: entry } })),
        variables: { PATH: process.env.PATH },
        pluginRoot: process.cwd(),
        assertTrusted: async () => {},
      },
    ],
    secrets: createSecretRegistry(),
    page: { access, plainPages: createPlainPages(() => gateway, commands) },
  });
  onTestFinished(() => gateway.close({ graceMs: 0 }));
  const url = gateway.url ?? "";
  return { url, newLink: () => access.linkTo(url) };
}

/** What a browser without JavaScript loads and sends after it has opened a link. */
async function enter(link: string): Promise<{ readonly page: string; readonly cookie: string }> {
  const response = await fetch(link);
  expect(response.status).toBe(200);
  const [, path = ""] = /url=([^"]+)"/.exec(await response.text()) ?? [];
  return { page: new URL(path, link).href, cookie: response.headers.get("set-cookie")?.split(";")[0] ?? "" };
}

test("shows a failing server with its error and the fix, and executes none of its text", async () => {
  const world = await startWorld("<script>alert(1)</script>");
  const { page: address, cookie } = await enter(world.newLink());
  const look = async (): Promise<string> => (await fetch(address, { headers: { cookie } })).text();
  let page = "";
  await expect
    .poll(
      async () => {
        page = await look();
        return page;
      },
      { timeout: 60_000 },
    )
    .toContain("<code>wirescope why odd</code>");
  expect(page).toContain("0 of 1 tool server connected");
  expect(page).toContain("&#60;script&#62;alert(1)");
  expect(page).not.toContain("<script");
  const { headers } = await fetch(address, { headers: { cookie } });
  expect(headers.get("content-security-policy")).toMatch(/^default-src 'none'; style-src 'sha256-/);
  expect(headers.get("referrer-policy")).toBe("no-referrer");
});

test("shows the status only to a browser that has both the cookie and the path of its link", async () => {
  const { url, newLink } = await startWorld("");
  const link = newLink();
  const wrong = link.replace(/ticket=./, (start) => (start === "ticket=_" ? "ticket=-" : "ticket=_"));
  for (const each of [`${url}/status`, `${url}/status/wrong`, wrong, `${url}/?ticket=`]) {
    const response = await fetch(each);
    expect(response.status).toBe(403);
    expect(response.headers.get("set-cookie")).toBeNull();
    expect(await response.text()).not.toContain("odd");
  }
  for (const method of ["POST", "HEAD"]) expect((await fetch(link, { method })).status).not.toBe(200);
  expect((await fetch(link, { headers: { origin: "https://elsewhere.example" } })).status).toBe(403);
  const { page, cookie } = await enter(link);
  const other = await enter(newLink());
  const statusOf = async (address: string, headers: Record<string, string>): Promise<number> =>
    (await fetch(address, { headers })).status;
  expect(await statusOf(page, { cookie })).toBe(200);
  expect(await statusOf(page, {})).toBe(403);
  expect(await statusOf(other.page, { cookie })).toBe(403);
  expect(await statusOf(`${page}/other`, { cookie })).toBe(404);
});
