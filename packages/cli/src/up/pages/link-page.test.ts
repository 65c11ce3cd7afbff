import type { Gateway } from "@wirescope/gateway/internal";
import { runGateway } from "@wirescope/gateway/internal/gateway";
import { createSecretRegistry } from "@wirescope/tool-server";
import { parseConfiguration } from "@wirescope/tool-server/config";
import { expect, onTestFinished, test } from "vitest";
import { UsageError } from "../../usage-error.js";
import { createServerCommands } from "../to-do.js";
import { createLinkPage, printedLinks } from "./link-page.js";
import { createPageAccess } from "./page-access.js";
import { linkPath, requestLink } from "./request-link.js";

const commands = createServerCommands({
  program: "wirescope",
  areNamed: false,
  isDemo: false,
  fileOf: () => undefined,
});

test("returns a fresh link only for the administrator's token", async () => {
  const access = createPageAccess();
  const entry = { command: process.execPath, args: ["-e", "process.exit(3)"] };
  const gateway: Gateway = await runGateway({
    configurations: [
      {
        configuration: parseConfiguration(JSON.stringify({ mcpServers: { notes: entry } })),
        variables: { PATH: process.env.PATH },
        pluginRoot: process.cwd(),
        assertTrusted: async () => {},
      },
    ],
    secrets: createSecretRegistry(),
    pages: { [linkPath]: createLinkPage(() => gateway, access) },
  });
  onTestFinished(() => gateway.close({ graceMs: 0 }));
  const { endpoint = "", address: channelz = "", adminToken, token = "" } = gateway;
  const running = { pid: process.pid, endpoint, channelz, adminToken };
  const ticketOf = (link: string): string => new URL(link).searchParams.get("ticket") ?? "";

  const links = [await requestLink(running, undefined, undefined), await requestLink(running, "notes", undefined)];
  const paths = links.map((link) => access.redeem(ticketOf(link), false)?.path);
  expect(paths).toEqual([access.basePath, `${access.basePath}/sign-in?server=notes`]);
  await expect(requestLink(running, "note", undefined)).rejects.toThrow('no server "note". Servers: notes.');
  // The token of clients is not enough.
  for (const wrong of [undefined, token]) {
    await expect(requestLink({ ...running, adminToken: wrong }, undefined, undefined)).rejects.toThrow(UsageError);
  }
});

test("prints links only to a terminal, and the equivalent commands to a log", () => {
  const access = createPageAccess();
  const write = (): boolean => true;
  const terminal = printedLinks({ stdout: { write, isTTY: true } }, access, "http://127.0.0.1:1", commands);
  for (const link of [terminal.page, terminal.signInOf("notes")]) {
    expect(link).toMatch(/^http:\/\/127\.0\.0\.1:1\/\?ticket=[\w-]{43}$/);
  }
  const log = printedLinks({ stdout: { write } }, access, "http://127.0.0.1:1", commands);
  expect([log.page, log.signInOf("notes")]).toEqual(["wirescope page", "wirescope login notes"]);
});
