import type { Gateway } from "@wirescope/gateway/internal";
import { runGateway } from "@wirescope/gateway/internal/gateway";
import { createSecretRegistry } from "@wirescope/tool-server";
import { parseConfiguration } from "@wirescope/tool-server/config";
import { expect, onTestFinished, test } from "vitest";
import { createServerCommands } from "../to-do.js";
import { createPageAccess, entrancePath, type PageAccess } from "./page-access.js";
import { createEntrance } from "./send-page.js";
import { createStatusPage } from "./status-page.js";

const commands = createServerCommands({
  program: "wirescope",
  areNamed: false,
  isDemo: false,
  fileOf: () => undefined,
});

interface World {
  readonly access: PageAccess;
  readonly page: string;
  readonly newLink: () => string;
}

/** A gateway with one server, which ends at once and says this. */
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
    pages: {
      [entrancePath]: createEntrance(access, () => false),
      [access.basePath]: createStatusPage(() => gateway, access, commands),
    },
  });
  onTestFinished(() => gateway.close({ graceMs: 0 }));
  const url = gateway.url ?? "";
  return { access, page: `${url}${access.basePath}`, newLink: () => access.linkTo(url, access.basePath) };
}

/** What a browser sends from now on, once it has opened a link. */
async function enter(link: string): Promise<{ readonly headers: { readonly cookie: string } }> {
  const response = await fetch(link);
  expect(response.status).toBe(200);
  return { headers: { cookie: response.headers.get("set-cookie")?.split(";")[0] ?? "" } };
}

test("shows a failing server with its error and the fix, and executes none of its text", async () => {
  const world = await startWorld("<script>alert(1)</script>");
  const browser = await enter(world.newLink());
  const look = async (): Promise<string> => (await fetch(world.page, browser)).text();
  let page = "";
  await expect
    .poll(
      async () => {
        page = await look();
        return page;
      },
      { timeout: 20_000 },
    )
    .toContain("<code>wirescope why odd</code>");
  expect(page).toContain("0 of 1 tool server connected");
  expect(page).toContain("&#60;script&#62;alert(1)");
  expect(page).not.toContain("<script");
  const { headers } = await fetch(world.page, browser);
  expect(headers.get("content-security-policy")).toMatch(/^default-src 'none'; style-src 'sha256-/);
  expect(headers.get("referrer-policy")).toBe("no-referrer");
});

test("requires a link and the right Host name", async () => {
  const { page, newLink } = await startWorld("");
  const link = newLink();
  const wrong = link.replace(/ticket=./, (start) => (start === "ticket=_" ? "ticket=-" : "ticket=_"));
  for (const url of [page, new URL("/", page).href, wrong, `${new URL("/", page).href}?ticket=`]) {
    const response = await fetch(url);
    expect(response.status).toBe(403);
    expect(response.headers.get("set-cookie")).toBeNull();
    expect(await response.text()).not.toContain("odd");
  }
  for (const method of ["POST", "HEAD"]) expect((await fetch(link, { method })).status).toBe(403);
  expect((await fetch(link, { headers: { origin: "https://elsewhere.example" } })).status).toBe(403);
  expect((await fetch(page, { headers: { cookie: "wirescope_page=wrong" } })).status).toBe(403);
  expect((await fetch(page, await enter(link))).status).toBe(200);
});

test("accepts a link once, and sets a cookie that scripts, other sites and other paths do not get", async () => {
  const { access, newLink } = await startWorld("");
  const link = newLink();
  const response = await fetch(link);
  expect(response.headers.get("set-cookie")).toMatch(
    new RegExp(`^wirescope_page=[\\w-]{43}; Path=${access.basePath}; HttpOnly; SameSite=Strict; Max-Age=\\d+$`),
  );
  expect(await response.text()).toContain(`url=${access.basePath}"`);
  expect((await fetch(link)).status).toBe(403);
});

test("expires a link after 10 minutes, and its cookie after 12 hours", () => {
  let now = 0;
  const access = createPageAccess(() => now);
  const ticketOf = (link: string): string => new URL(link).searchParams.get("ticket") ?? "";
  const [first, second] = [1, 2].map(() => ticketOf(access.linkTo("http://gateway", access.basePath)));
  now = 9 * 60_000;
  const cookie = access.redeem(first ?? "", true)?.cookie ?? "";
  expect(cookie).toMatch(/; Secure$/);
  now = 10 * 60_000;
  expect(access.redeem(second ?? "", true)).toBeUndefined();
  expect(access.admits(`other=1; ${cookie.split(";")[0]}`)).toBe(true);
  now += 12 * 3_600_000;
  expect(access.admits(cookie.split(";")[0])).toBe(false);
});
