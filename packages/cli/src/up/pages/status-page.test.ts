import { type Gateway, startGateway } from "@wirescope/gateway";
import { createSecretRegistry, parseConfiguration } from "@wirescope/tool-server";
import { expect, onTestFinished, test } from "vitest";
import { createServerCommands } from "../server-commands.js";
import { createStatusPage, statusPath } from "./status-page.js";
import { createTicket } from "./ticket.js";

const commands = createServerCommands({
  program: "wirescope",
  areNamed: false,
  isDemo: false,
  fileOf: () => undefined,
});

/** A gateway with one server, which ends at once and says this. */
async function startWorld(words: string): Promise<{ gateway: Gateway; link: string }> {
  const entry = { command: process.execPath, args: ["-e", `console.error(${JSON.stringify(words)}); process.exit(3)`] };
  const ticket = createTicket();
  const gateway: Gateway = await startGateway({
    plugins: [
      {
        configuration: parseConfiguration(JSON.stringify({ mcpServers: { odd: entry } })),
        variables: { PATH: process.env.PATH },
        pluginRoot: process.cwd(),
        assertTrusted: async () => {},
      },
    ],
    secrets: createSecretRegistry(),
    pages: { [statusPath]: createStatusPage(() => gateway, ticket, commands) },
  });
  onTestFinished(() => gateway.close({ graceMs: 0 }));
  return { gateway, link: ticket.linkTo(gateway.url ?? "", statusPath) };
}

test("the page shows a server that fails, what it said, and what to do, and runs nothing of it", async () => {
  const { link } = await startWorld("<script>alert(1)</script>");
  const look = async (): Promise<string> => (await fetch(link)).text();
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
  const { headers } = await fetch(link);
  expect(headers.get("content-security-policy")).toMatch(/^default-src 'none'; style-src 'sha256-/);
  expect(headers.get("referrer-policy")).toBe("no-referrer");
});

test("nobody sees the page without the link, or under another name of this machine", async () => {
  const { gateway, link } = await startWorld("");
  for (const url of [
    gateway.url ?? "",
    link.replace(/ticket=./, (start) => (start === "ticket=_" ? "ticket=-" : "ticket=_")),
    `${gateway.url}/?ticket=`,
  ]) {
    const answer = await fetch(url);
    expect(answer.status).toBe(403);
    expect(await answer.text()).not.toContain("odd");
  }
  expect((await fetch(link, { method: "POST" })).status).toBe(403);
  expect((await fetch(link, { headers: { origin: "https://elsewhere.example" } })).status).toBe(403);
});
